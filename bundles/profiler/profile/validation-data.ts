import * as v from 'valibot'
import type { ValueTree } from '../../../lib/redact/value-tree.ts'
import { treeSchema } from './console-data.ts'
import { formatCount } from './format.ts'
import { amount, check, list, maybe, number, oneOf, type Schema, texts } from './schema.ts'

/** The validations of the input of a request. */
export interface ValidationsData {
  /** In the order in which they began. */
  readonly validations: readonly ValidationData[]
  /** How many were only counted because there were too many. */
  readonly omitted: number
}

/** The parts of a request that schemas validate. */
export const inputSources = ['json', 'form', 'query', 'route'] as const

/** The validation of an input by a schema. Times are in milliseconds since the request began. All texts are masked. */
export interface ValidationData {
  readonly source: (typeof inputSources)[number]
  /** The library of the schema: `zod`. */
  readonly vendor: string
  /** The title of the schema, if it has one. */
  readonly schema?: string | undefined
  readonly start: number
  /** Absent if it was not over. */
  readonly end?: number | undefined
  /** Empty if the schema has accepted the input. */
  readonly issues: readonly ValidationIssue[]
  /** How many issues are not listed. */
  readonly omittedIssues: number
  /** The error that the schema has thrown. */
  readonly error?: string | undefined
  /** The input as it was received. */
  readonly input: ValueTree
}

/** A mistake in an input. */
export interface ValidationIssue {
  /** The keys on the way to the value; empty for the whole input. */
  readonly path: readonly string[]
  readonly message: string
}

const validation: Schema<ValidationData> = v.object({
  source: oneOf(inputSources),
  vendor: check.text,
  schema: maybe(check.text),
  start: number,
  end: maybe(check.number),
  issues: list(v.object({ path: texts, message: check.text })),
  omittedIssues: amount,
  error: maybe(check.text),
  input: treeSchema,
})

export const validationsSchema: Schema<ValidationsData> = v.object({ validations: list(validation), omitted: amount })

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
