import * as v from 'valibot'
import type { Caller } from '../../../lib/stack/callers.ts'
import type { CodePlace } from '../../../lib/stack/stack-frames.ts'
import { check, list, maybe, oneOf, type Schema, text } from './schema.ts'

const placeEntries = {
  function: maybe(check.text),
  file: maybe(check.text),
  line: maybe(check.count),
  column: maybe(check.count),
  /** Whether its function awaited the one below it. */
  isAwaiting: maybe(v.literal(true)),
  /** Whether it is known to call a helper, a function that several lines call. */
  callsHelper: maybe(v.literal(true)),
}

/** The schema of a place in the code. */
export const codePlace: Schema<CodePlace> = v.object(placeEntries)

/** The schema of a caller. */
export const caller: Schema<Caller> = v.object({
  ...placeEntries,
  /** The frames of the application above it, the nearest first, at most two. */
  callers: maybe(list(codePlace)),
  /** Whether the stack named no place: this is the controller or the listener that ran. */
  isIn: maybe(v.literal(true)),
})

/** One call of a stack. */
export type RecordedFrame = v.InferOutput<typeof frame>

const frame = v.object({
  call: text,
  /** As seen from the application; files of the package begin with `sinfonietta/`. Absent for native code. */
  file: maybe(check.text),
  line: maybe(check.count),
  column: maybe(check.count),
  /** `kernel`: the package sinfonietta. `vendor`: another npm package. */
  origin: oneOf(['runtime', 'application', 'kernel', 'vendor']),
  /** The npm package of the code, for `vendor`. */
  package: maybe(check.text),
})

const exceptionEntries = {
  name: text,
  message: text,
  code: maybe(v.union([v.string(), v.number()])),
  status: maybe(check.number),
  /** Further properties, such as `detail` of an error of PostgreSQL, or the `issues` of a validator. */
  properties: maybe(check.object),
  /** The innermost call first, at most 30. */
  frames: list(frame),
  /** How many of its outermost frames are left out because they are the same as those of the exception above it. */
  common: maybe(check.count),
  /** How many frames are left out because there were too many. */
  omitted: maybe(check.count),
  /** Says what else was left out. */
  note: maybe(check.text),
}

/** One exception of a chain. */
export interface RecordedException extends Readonly<v.InferOutput<v.ObjectSchema<typeof exceptionEntries, undefined>>> {
  readonly cause?: RecordedException | undefined
  /** The errors of an AggregateError. */
  readonly errors?: readonly RecordedException[] | undefined
}

/** One exception with its causes. */
export const recordedException: Schema<RecordedException> = v.object({
  ...exceptionEntries,
  cause: maybe(v.lazy(() => recordedException)),
  /** The errors of an AggregateError. */
  errors: maybe(list(v.lazy(() => recordedException))),
})
