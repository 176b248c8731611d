import * as v from 'valibot'
import type { RecordedFrame } from '../../profile/code.ts'
import { isNumber } from '../../profile/json.ts'
import { check, count, excerpts, flag, indexedList, maybe, oneOf, text } from '../../profile/schema.ts'

/** Whose code it is: beside those of a stack, the garbage collector. */
export type CpuOrigin = RecordedFrame['origin'] | 'gc'

/** The CPU profile of a request. Times are in microseconds. */
export type CpuData = v.InferOutput<typeof cpuSchema>

/** A row of the call tree: the index of the function, that of the caller's row or -1, own time, time with its calls. */
type CpuRow = readonly [called: number, caller: number, self: number, total: number]

/** A function that was sampled. */
export type SampledFunction = v.InferOutput<typeof sampledFunction>

const sampledFunction = v.object({
  name: text,
  /** As seen from the application; absent for functions of the engine. */
  file: maybe(check.text),
  line: maybe(check.count),
  column: maybe(check.count),
  /** The line that was sampled most. */
  hot: maybe(check.count),
  origin: oneOf(['runtime', 'application', 'kernel', 'vendor', 'gc']),
  /** The npm package of the code, for `vendor`. */
  package: maybe(check.text),
  self: count,
  /** The time with the inner calls. A recursive call is counted once. */
  total: count,
})

const unknownFunction: SampledFunction = { name: '(unknown)', origin: 'runtime', self: 0, total: 0 }

function isCpuRow(row: unknown): boolean {
  return Array.isArray(row) && row.length === 4 && row.every(value => Number.isInteger(value) && isNumber(value))
}

export const cpuSchema = v.object({
  samples: count,
  /** Time in which the process worked, for any request. */
  busy: count,
  /** Time in which it only waited. */
  idle: count,
  /** The time that V8 took to begin; it is not in the duration of the request. */
  startup: count,
  /** Other requests that were in flight, and are in the same samples. */
  others: count,
  /** Whether sampling ended before the request did. */
  isCut: flag,
  /** The functions that rows name by their index, those with the most time of their own first. */
  functions: indexedList(sampledFunction, unknownFunction),
  /** The tree of calls, callers before what they call. */
  calls: indexedList<CpuRow>(v.custom<CpuRow>(isCpuRow), [-1, -1, 0, 0]),
  /** How many calls are left out because they took too little time. */
  omitted: count,
  /** The sources of the hottest lines. */
  excerpts,
})
