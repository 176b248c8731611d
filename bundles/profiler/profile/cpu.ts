import type { SourceExcerpt } from '../../../lib/stack/source-excerpts.ts'
import type { Profile } from './profile.ts'
import { asList, asNumber, asObject, asObjects, asOptionalNumber, asText, asTexts } from './read-soft.ts'

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

/** A function that was seen at work. Times are in microseconds. */
export interface StoredFunction {
  readonly name: string
  readonly file: string
  readonly line: number | undefined
  /** The line that was seen most. */
  readonly hot: number | undefined
  readonly origin: CpuOrigin
  readonly self: number
  readonly total: number
}

/** A call of the tree. */
export interface StoredSample {
  /** Its place among all that were recorded. */
  readonly index: number
  readonly called: StoredFunction
  readonly caller: StoredSample | undefined
  readonly self: number
  readonly total: number
  /** Those that took longest first. */
  readonly children: StoredSample[]
}

/** What the CPU did while a request was handled. */
export interface StoredCpu {
  readonly samples: number
  readonly busy: number
  readonly idle: number
  readonly startup: number
  readonly others: number
  readonly isCut: boolean
  /** Those with the most time of their own first. */
  readonly functions: readonly StoredFunction[]
  readonly calls: readonly StoredSample[]
  /** The calls that nobody has made. */
  readonly roots: readonly StoredSample[]
  readonly omitted: number
  readonly excerpts: readonly CpuExcerpt[]
}

/** No record has more; who does has been meddled with. */
const limit = 2000

/** Reads what the CPU did; `undefined` where nobody has asked for it. */
export function readCpu({ data }: Profile): StoredCpu | undefined {
  if (data.cpu === undefined) return undefined
  const cpu = asObject(data.cpu)
  const functions = asObjects(cpu.functions).slice(0, limit).map(readFunction)
  const calls: StoredSample[] = []
  const roots: StoredSample[] = []
  for (const row of asList(cpu.calls).slice(0, limit)) {
    const [called, place, self, total] = asList(row)
    // Only those before it are looked at: nothing goes in circles.
    const caller = calls[asNumber(place, -1)]
    const call: StoredSample = {
      index: calls.length,
      called: functions[asNumber(called, -1)] ?? unknown,
      caller,
      self: readTime(self),
      total: readTime(total),
      children: [],
    }
    const siblings = caller?.children ?? roots
    siblings.push(call)
    calls.push(call)
  }
  return {
    samples: readTime(cpu.samples),
    busy: readTime(cpu.busy),
    idle: readTime(cpu.idle),
    startup: readTime(cpu.startup),
    others: readTime(cpu.others),
    isCut: cpu.isCut === true,
    functions: functions.sort((a, b) => b.self - a.self),
    calls,
    roots,
    omitted: readTime(cpu.omitted),
    excerpts: asObjects(cpu.excerpts).slice(0, limit).map(readExcerpt),
  }
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

const origins: readonly CpuOrigin[] = ['application', 'kernel', 'vendor', 'runtime', 'gc']

function readFunction({
  file,
  hot,
  line,
  name,
  origin,
  self,
  total,
}: Readonly<Record<string, unknown>>): StoredFunction {
  return {
    name: asText(name),
    file: asText(file),
    line: asOptionalNumber(line),
    hot: asOptionalNumber(hot),
    origin: origins.find(known => known === origin) ?? 'runtime',
    self: readTime(self),
    total: readTime(total),
  }
}

const unknown = readFunction({ name: '(unknown)' })

function readExcerpt({ file, line, lines, start }: Readonly<Record<string, unknown>>): CpuExcerpt {
  return { file: asText(file), line: asNumber(line), start: asNumber(start), lines: asTexts(lines) }
}

function readTime(value: unknown): number {
  return Math.max(0, Math.round(asNumber(value)))
}
