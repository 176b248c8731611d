import type { ValueTree } from '../../../../lib/redact/value-tree.ts'
import { formatCount } from '../../profile/format.ts'
import type { Profile } from '../../profile/profile.ts'
import type { ValidationData } from './data.ts'

/** The number of issues of a validation, with those that are not listed. */
export function countIssues({ issues, omittedIssues }: ValidationData): number {
  return issues.length + omittedIssues
}

/** A field that was refused, and why. */
export interface RefusedField {
  /** The keys on the way to it, with points; empty for the whole input. */
  readonly field: string
  readonly message: string
}

/** An input that a schema has refused. */
export interface RefusedInput extends Pick<ValidationData, 'source'> {
  readonly issues: readonly RefusedField[]
  /** How many issues are not listed. */
  readonly omitted: number
}

/** The inputs that schemas have refused, in their order. */
export function readRefused({ collectors }: Pick<Profile, 'collectors'>): RefusedInput[] {
  const { validations = [] } = collectors.validation ?? {}
  return validations
    .filter(each => countIssues(each) > 0)
    .map(({ issues, omittedIssues, source }) => {
      const fields = issues.map(({ message, path }) => ({ field: path.join('.'), message }))
      return { source, issues: fields, omitted: omittedIssues }
    })
}

/** How an input is called on screens. */
export const inputNames: Readonly<Record<ValidationData['source'], string>> = {
  json: 'JSON body',
  form: 'Form',
  query: 'Query',
  route: 'Route parameters',
}

/** The result of a validation as a text. */
export function describeValidation(validation: ValidationData): string {
  const { end, error } = validation
  const count = countIssues(validation)
  if (error !== undefined) return 'failed'
  if (count > 0) return `refused, ${formatCount(count, 'issue')}`
  return end === undefined ? 'not over' : 'accepted'
}

/** The library of a schema, and its title. */
export function describeSchema({ schema, vendor }: ValidationData): string {
  return schema === undefined ? vendor : `${schema} (${vendor})`
}

/** The value that was received at a path, on one line; empty where there was none. */
export function receivedAt({ input }: ValidationData, path: readonly string[]): string {
  let found: ValueTree | undefined = input
  for (const key of path) found = found?.entries?.find(({ name }) => name === key)?.value
  if (found === undefined) return ''
  return found.kind === 'text' ? JSON.stringify(found.text) : found.text
}
