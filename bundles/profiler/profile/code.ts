import * as v from 'valibot'
import type { Caller, CodePlace } from '../../../lib/stack/callers.ts'
import type { CallerPlace } from '../../../lib/stack/choose-places.ts'
import { formatPlace } from './format.ts'
import { check, type JsonObject, list, maybe, oneOf, type Schema, text } from './schema.ts'

const placeEntries = {
  function: maybe(check.text),
  file: maybe(check.text),
  line: maybe(check.number),
  column: maybe(check.number),
  isAwaiting: maybe(v.literal(true)),
}

/** The schema of a place in the code. */
export const codePlace: Schema<CodePlace> = v.object(placeEntries)

/** The schema of a caller. */
export const caller: Schema<Caller> = v.object({
  ...placeEntries,
  callers: maybe(list(codePlace)),
  isIn: maybe(v.literal(true)),
})

/** Writes the place of a caller in words: `shop/list.ts:12`, `list:223 via q:219`, or `in list:12`; empty if it is not known. */
export function formatCaller(caller: CallerPlace): string {
  const { isIn, via = [] } = caller
  if (isIn) return `in ${nameFrame(caller)}`
  return via.length === 0 ? formatPlace(caller) : `${nameFrame(caller)} via ${via.map(nameFrame).join(', ')}`
}

/** Names a frame by its function and line: `list:223`; without a function by its file. */
export function nameFrame({ file = '', function: name, line }: CodePlace): string {
  // An inline controller has a name of two words.
  const short = name?.replace(/ \[as .*\]$/, '').replace(/^controller /, '')
  return formatPlace({ file: short || file.replace(/^.*[\\/]/, ''), line })
}

/** One call of a stack. */
export type RecordedFrame = v.InferOutput<typeof frame>

const frame = v.object({
  call: text,
  /** As seen from the application; files of the package begin with `sinfonietta/`. Absent for native code. */
  file: maybe(check.text),
  line: maybe(check.number),
  column: maybe(check.number),
  origin: oneOf(['runtime', 'application', 'kernel', 'vendor']),
  /** The npm package of the code, for `vendor`. */
  package: maybe(check.text),
})

/** One exception of a chain. */
export interface RecordedException {
  readonly name: string
  readonly message: string
  readonly code?: string | number | undefined
  readonly status?: number | undefined
  /** Further properties, such as `detail` of an error of PostgreSQL, or the `issues` of a validator. */
  readonly properties?: JsonObject | undefined
  /** The innermost call first, at most 30. */
  readonly frames: readonly RecordedFrame[]
  /** How many of its outermost frames are left out because they are the same as those of the exception above it. */
  readonly common?: number | undefined
  /** How many frames are left out because there were too many. */
  readonly omitted?: number | undefined
  /** Says what else was left out. */
  readonly note?: string | undefined
  readonly cause?: RecordedException | undefined
  /** The errors of an AggregateError. */
  readonly errors?: readonly RecordedException[] | undefined
}

/** One exception with its causes. */
export const recordedException: Schema<RecordedException> = v.object({
  name: text,
  message: text,
  code: maybe(v.union([v.string(), v.number()])),
  status: maybe(check.number),
  properties: maybe(check.object),
  frames: list(frame),
  common: maybe(check.amount),
  omitted: maybe(check.amount),
  note: maybe(check.text),
  cause: maybe(v.lazy(() => recordedException)),
  errors: maybe(list(v.lazy(() => recordedException))),
})

/** The name of the template in which a frame lies; `undefined` for a frame of code. */
export function templateOf(call: string): string | undefined {
  return /^template (.+)/s.exec(call)?.[1]
}
