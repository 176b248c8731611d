import * as v from 'valibot'
import type { ValueTree } from '../../../../lib/redact/value-tree.ts'
import { formatCount } from '../../profile/format.ts'
import { check, count, list, maybe, number, oneOf, texts, treeSchema } from '../../profile/schema.ts'

/** The validations of the input of a request. */
export type ValidationsData = v.InferOutput<typeof validationsSchema>

/** The parts of a request that schemas validate. */
const inputSources = ['json', 'form', 'query', 'route'] as const

/** The validation of an input by a schema. Times are in milliseconds since the request began. All texts are masked. */
export type ValidationData = v.InferOutput<typeof validation>

const validation = v.object({
  source: oneOf(inputSources),
  /** The library of the schema: `zod`. */
  vendor: check.text,
  /** The title of the schema, if it has one. */
  schema: maybe(check.text),
  /** Milliseconds since the start of the request. */
  start: number,
  /** Absent if it was not over. */
  end: maybe(check.number),
  /** Empty if the schema has accepted the input. */
  issues: list(
    v.object({
      /** The keys on the way to the value; empty for the whole input. */
      path: texts,
      message: check.text,
    }),
  ),
  /** How many issues are not listed. */
  omittedIssues: count,
  /** The error that the schema has thrown. */
  error: maybe(check.text),
  /** The input as it was received. */
  input: treeSchema,
})

export const validationsSchema = v.object({
  /** In the order in which they began. */
  validations: list(validation),
  /** How many were only counted because there were too many. */
  omitted: count,
})

/** The number of issues of a validation, with those that are not listed. */
export function countIssues({ issues, omittedIssues }: ValidationData): number {
  return issues.length + omittedIssues
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
