import type { Profile } from '../../profile/profile.ts'
import type { CpuData, SampledFunction } from './data.ts'

/** A function that was sampled. Times are in microseconds. */
export interface StoredFunction extends SampledFunction {
  /** As seen from the application; empty for functions of the engine. */
  readonly file: string
}

/** A call of the tree. */
export interface StoredSample {
  /** Its place among all that were recorded. */
  readonly index: number
  readonly called: StoredFunction
  readonly caller: StoredSample | undefined
  readonly self: number
  readonly total: number
  /** The longest first. */
  readonly children: StoredSample[]
}

/** The CPU profile of a request. Times are in microseconds. */
export interface StoredCpu extends Omit<CpuData, 'functions' | 'calls'> {
  /** The function with the most time of its own first. */
  readonly functions: readonly StoredFunction[]
  readonly calls: readonly StoredSample[]
  /** The calls without a caller. */
  readonly roots: readonly StoredSample[]
}

/** No profile has more. */
const limit = 2000

const unknown: StoredFunction = { name: '(unknown)', file: '', origin: 'runtime', self: 0, total: 0 }

/** Reads the CPU profile; `undefined` where the request was not sampled. */
export function readCpu({ collectors }: Profile): StoredCpu | undefined {
  const { cpu } = collectors
  if (cpu === undefined) return undefined
  const functions = cpu.functions.slice(0, limit).map(({ file = '', ...sampled }) => ({ ...sampled, file }))
  const calls: StoredSample[] = []
  const roots: StoredSample[] = []
  for (const [called, place, self, total] of cpu.calls.slice(0, limit)) {
    // Only calls before it are its callers: there is no cycle.
    const caller = calls[place]
    const call: StoredSample = {
      index: calls.length,
      called: functions[called] ?? unknown,
      caller,
      self: Math.max(0, self),
      total: Math.max(0, total),
      children: [],
    }
    const siblings = caller?.children ?? roots
    siblings.push(call)
    calls.push(call)
  }
  return { ...cpu, functions: functions.sort((a, b) => b.self - a.self), calls, roots }
}

/** Microseconds between two samples; more than was wished for where the machine was busy. */
export function intervalOf({ busy, idle, samples }: StoredCpu): number {
  return samples < 1 ? 0 : (busy + idle) / samples
}

/** Names the place of a function: its hottest line, or where it begins. */
export function placeOf({ file, hot, line }: StoredFunction): string {
  const shown = hot ?? line
  return shown === undefined || file.startsWith('node:') ? file : `${file}:${shown}`
}
