import type { SourceExcerpt } from '../../../lib/stack/source-excerpts.ts'

/** Whose code it is: beside those of a stack, the garbage collector. */
export type CpuOrigin = 'application' | 'kernel' | 'vendor' | 'runtime' | 'gc'

/** What a record tells of the CPU. Times are in microseconds, but for those that say otherwise. */
export interface CpuData {
  readonly samples: number
  /** Time in which the process has worked, on behalf of whichever request. */
  readonly busy: number
  /** Time in which it has only waited. */
  readonly idle: number
  /** What V8 took to begin; it is not in the duration of the request. */
  readonly startup: number
  /** Other requests that were in flight, and are in the same samples. */
  readonly others: number
  /** Whether sampling ended before the request did. */
  readonly isCut: boolean
  /** The functions that rows name by their index, those with the most time of their own first. */
  readonly functions: readonly SampledFunction[]
  /** The tree of calls, callers before what they call: function, index of the caller's row or -1, own time, time with what it called. */
  readonly calls: readonly (readonly [called: number, caller: number, self: number, total: number])[]
  /** How many calls are left out because they took too little. */
  readonly omitted: number
  /** The sources of the hottest lines. */
  readonly excerpts: readonly CpuExcerpt[]
}

/** A function that was seen at work. */
export interface SampledFunction {
  readonly name: string
  /** Relative to the project; absent for what is built into the engine. */
  readonly file?: string
  readonly line?: number
  readonly column?: number
  /** The line that was seen most. */
  readonly hot?: number
  readonly origin: CpuOrigin
  readonly self: number
  /** With what it called; calls within its own calls are counted once. */
  readonly total: number
}

/** Lines around a hot one. */
export interface CpuExcerpt extends SourceExcerpt {
  readonly file: string
  readonly line: number
}
