import * as v from 'valibot'
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
