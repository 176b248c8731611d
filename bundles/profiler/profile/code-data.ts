import * as v from 'valibot'
import {
  check,
  count,
  type Excerpt,
  excerpts,
  flag,
  indexedList,
  isNumber,
  type JsonObject,
  list,
  maybe,
  oneOf,
  type Schema,
  text,
} from './schema.ts'

/** The exceptions of a request. */
export interface ExceptionData {
  /** In the order in which they were thrown, each with its causes; mostly one. */
  readonly exceptions: readonly RecordedException[]
  /** Excerpts of the sources that frames name by file and line. */
  readonly excerpts: readonly Excerpt[]
}

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

/** One call of a stack. */
export interface RecordedFrame {
  readonly call: string
  /** As seen from the application; files of the package begin with `sinfonietta/`. Absent for native code. */
  readonly file?: string | undefined
  readonly line?: number | undefined
  readonly column?: number | undefined
  readonly origin: 'application' | 'kernel' | 'vendor' | 'runtime'
  /** The npm package of the code, for `vendor`. */
  readonly package?: string | undefined
}

/** Whose code it is: beside those of a stack, the garbage collector. */
export type CpuOrigin = RecordedFrame['origin'] | 'gc'

/** The CPU profile of a request. Times are in microseconds. */
export interface CpuData {
  readonly samples: number
  /** Time in which the process worked, for any request. */
  readonly busy: number
  /** Time in which it only waited. */
  readonly idle: number
  /** The time that V8 took to begin; it is not in the duration of the request. */
  readonly startup: number
  /** Other requests that were in flight, and are in the same samples. */
  readonly others: number
  /** Whether sampling ended before the request did. */
  readonly isCut: boolean
  /** The functions that rows name by their index, those with the most time of their own first. */
  readonly functions: readonly SampledFunction[]
  /** The tree of calls, callers before what they call. */
  readonly calls: readonly CpuRow[]
  /** How many calls are left out because they took too little time. */
  readonly omitted: number
  /** The sources of the hottest lines. */
  readonly excerpts: readonly Excerpt[]
}

/** A row of the call tree: the index of the function, that of the caller's row or -1, own time, time with its calls. */
export type CpuRow = readonly [called: number, caller: number, self: number, total: number]

/** A function that was sampled. */
export interface SampledFunction {
  readonly name: string
  /** As seen from the application; absent for functions of the engine. */
  readonly file?: string | undefined
  readonly line?: number | undefined
  readonly column?: number | undefined
  /** The line that was sampled most. */
  readonly hot?: number | undefined
  readonly origin: CpuOrigin
  /** The npm package of the code, for `vendor`. */
  readonly package?: string | undefined
  readonly self: number
  /** The time with the inner calls. A recursive call is counted once. */
  readonly total: number
}

const frame: Schema<RecordedFrame> = v.object({
  call: text,
  file: maybe(check.text),
  line: maybe(check.number),
  column: maybe(check.number),
  origin: oneOf(['runtime', 'application', 'kernel', 'vendor']),
  package: maybe(check.text),
})

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

export const exceptionSchema: Schema<ExceptionData> = v.object({ exceptions: list(recordedException), excerpts })

const sampledFunction: Schema<SampledFunction> = v.object({
  name: text,
  file: maybe(check.text),
  line: maybe(check.number),
  column: maybe(check.number),
  hot: maybe(check.number),
  origin: oneOf(['runtime', 'application', 'kernel', 'vendor', 'gc']),
  package: maybe(check.text),
  self: count,
  total: count,
})

const unknownFunction: SampledFunction = { name: '(unknown)', origin: 'runtime', self: 0, total: 0 }

function isCpuRow(row: unknown): boolean {
  return Array.isArray(row) && row.length === 4 && row.every(value => Number.isInteger(value) && isNumber(value))
}

export const cpuSchema: Schema<CpuData> = v.object({
  samples: count,
  busy: count,
  idle: count,
  startup: count,
  others: count,
  isCut: flag,
  functions: indexedList(sampledFunction, unknownFunction),
  calls: indexedList<CpuRow>(v.custom<CpuRow>(isCpuRow), [-1, -1, 0, 0]),
  omitted: count,
  excerpts,
})
