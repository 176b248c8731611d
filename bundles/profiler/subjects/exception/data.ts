import * as v from 'valibot'
import { recordedException } from '../../profile/code.ts'
import { check, excerpts, list, maybe } from '../../profile/schema.ts'

/** The exceptions of a request. */
export type ExceptionData = v.InferOutput<typeof exceptionSchema>

export const exceptionSchema = v.object({
  /** In the order in which they were thrown, each with its causes; mostly one. */
  exceptions: list(recordedException),
  /** Milliseconds until the first of them reached the kernel, the framework or the end of the work. */
  at: maybe(check.amount),
  /** How many of them, the last ones, were thrown after the end of the request. */
  late: maybe(check.count),
  /** Excerpts of the sources that frames name by file and line. */
  excerpts,
})
