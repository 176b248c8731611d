import { version } from '../../../lib/package.ts'
import type { LogMark, TimelineSpan } from '../insight/timeline/request-spans.ts'
import { toTarget } from '../profile/format.ts'
import type { Profile } from '../profile/profile.ts'
import { nameOfUnit } from '../profile/units.ts'
import { endOf, type Period } from '../profile/work.ts'
import { readCpu, type StoredSample } from '../subjects/cpu/read.ts'
import { readPauses } from '../subjects/memory/read.ts'

/** A file in the Trace Event Format (JSON object form), which Perfetto and `chrome://tracing` open. */
interface TraceFile {
  readonly traceEvents: readonly TraceEvent[]
  readonly displayTimeUnit: 'ms'
  readonly otherData: Readonly<Record<string, string>>
}

/**
 * An event of the trace. `ts` is in microseconds since 1970, `dur` in microseconds. An event
 * without arguments has no `args`: speedscope would show `{}`.
 */
type TraceEvent = {
  readonly name: string
  readonly pid: number
  readonly tid: number
  readonly args?: Readonly<Record<string, string | number>>
} & (
  | { readonly ph: 'M' }
  | { readonly ph: 'X'; readonly cat: string; readonly ts: number; readonly dur: number }
  | { readonly ph: 'i'; readonly cat: 'log'; readonly ts: number; readonly s: 't' }
)

/** The timeline of a request, with its sub-requests. */
interface TimelineContent {
  readonly root: TimelineSpan
  readonly logs: readonly LogMark[]
}

/**
 * One process. Its first thread shows the request, further threads what ran at the same time, and
 * the last one the garbage collector.
 */
const pid = 1

/** The most spans of a file. */
const spanLimit = 20_000

/**
 * Creates the trace file of a profile: its timeline with the spans of sub-requests, the log messages
 * of level warning and above, and the runs of the garbage collector. Masked values stay masked.
 */
export function toTraceEvents(profile: Profile, { logs, root }: TimelineContent): TraceFile {
  const { summary } = profile
  const runs = readPauses(profile)
  // DevTools ignores the bounds of an event at 0.
  const begin = Math.round(summary.time * 1000)
  const { events, threads } = layOut(root, begin)
  const garbage = threads + 1
  const names = [
    ...Array.from({ length: threads }, (_, index) => (index === 0 ? 'Request' : `Concurrent ${index}`)),
    ...(runs.length === 0 ? [] : ['Garbage collection']),
  ]
  return {
    traceEvents: [
      describe('process_name', 0, { name: nameOfUnit({ ...summary, url: toTarget(summary.url) }) }),
      ...names.flatMap((name, index) => [
        describe('thread_name', index + 1, { name }),
        describe('thread_sort_index', index + 1, { sort_index: index + 1 }),
      ]),
      ...events,
      ...runs.map(({ duration, kind, start }): TraceEvent => {
        const ts = begin + Math.round(start)
        return { name: kind, cat: 'gc', ph: 'X', ts, dur: Math.round(duration), pid, tid: garbage }
      }),
      ...logs.map(
        ({ at, level, message }): TraceEvent => ({
          name: level,
          cat: 'log',
          ph: 'i',
          ts: begin + Math.round(at),
          s: 't',
          pid,
          tid: 1,
          args: { message },
        }),
      ),
    ],
    displayTimeUnit: 'ms',
    otherData: {
      creator: `Sinfonietta ${version}`,
      profile: summary.token,
      start: new Date(summary.time).toISOString(),
    },
  }
}

function describe(name: string, tid: number, args: Readonly<Record<string, string | number>>): TraceEvent {
  return { name, ph: 'M', pid, tid, args }
}

/** A span in the tree. */
interface Place {
  readonly span: TimelineSpan
  readonly parent: Place | undefined
}

/** A span, once for each of its periods. */
interface Occurrence {
  readonly place: Place
  readonly period: Period
}

/**
 * Puts spans into threads. Events of one thread must lie within each other or apart, and an event appears
 * to be a part of the event around it. So a span is in the thread of its parent only if it lies within it.
 */
function layOut(
  root: TimelineSpan,
  begin: number,
): { readonly events: readonly TraceEvent[]; readonly threads: number } {
  const threads: Occurrence[][] = []
  const events = listOccurrences(root).map((occurrence): TraceEvent => {
    const { period, place } = occurrence
    const { category, name, note, problem, text } = place.span
    const found = threads.findIndex(open => hasRoom(open, occurrence))
    const thread = found === -1 ? threads.push([]) - 1 : found
    threads[thread]?.push(occurrence)
    const args = { ...(text !== '' && { text }), ...(note !== '' && { note }), ...(problem !== '' && { problem }) }
    const hasArgs = Object.keys(args).length > 0
    const ts = begin + period.start
    return { name, cat: category, ph: 'X', ts, dur: period.duration, pid, tid: thread + 1, ...(hasArgs && { args }) }
  })
  return { events, threads: threads.length }
}

/** Whether a thread has room for a span, after those that have ended are removed from its open spans. */
function hasRoom(open: Occurrence[], { period, place }: Occurrence): boolean {
  let around = open.at(-1)
  while (around !== undefined && endOf(around.period) <= period.start) {
    open.pop()
    around = open.at(-1)
  }
  return around === undefined || (endOf(around.period) >= endOf(period) && isInside(place, around.place.span))
}

function isInside({ parent }: Place, span: TimelineSpan): boolean {
  for (let above = parent; above !== undefined; above = above.parent) if (above.span === span) return true
  return false
}

/**
 * Lists the periods of all spans in the order in which they began, a parent before its children. Times become whole.
 */
function listOccurrences(root: TimelineSpan): Occurrence[] {
  const found: Occurrence[] = []
  const waiting: Place[] = [{ span: root, parent: undefined }]
  // Not recursive: trees from the disk may be of any depth.
  for (const place of waiting) {
    for (const { duration, start } of place.span.periods) {
      const begin = Math.round(start)
      const period = { start: begin, duration: Math.max(0, Math.round(start + duration) - begin) }
      found.push({ place, period })
    }
    for (const span of place.span.children) waiting.push({ span, parent: place })
    if (found.length >= spanLimit) break
  }
  const kept = found.slice(0, spanLimit)
  return kept.sort((a, b) => a.period.start - b.period.start || b.period.duration - a.period.duration)
}

/**
 * A CPU profile in the format of V8 (`Profiler.Profile` of the Chrome DevTools Protocol), which developer tools and
 * speedscope open. Times are in microseconds, since 1970 or each other.
 */
interface CpuProfileFile {
  readonly nodes: readonly CpuNode[]
  readonly startTime: number
  readonly endTime: number
  /** The ids of the nodes that ran. */
  readonly samples: readonly number[]
  /** The time before each sample; the first is relative to `startTime`. */
  readonly timeDeltas: readonly number[]
}

interface CpuNode {
  readonly id: number
  readonly callFrame: {
    readonly functionName: string
    readonly scriptId: string
    readonly url: string
    /** From 0; -1 if it is not known. */
    readonly lineNumber: number
    readonly columnNumber: number
  }
  readonly hitCount: number
  readonly children: readonly number[]
}

const rootId = 1
const programId = 2
const idleId = 3
/** The ids before are those of V8's own nodes. */
const firstId = 4

/**
 * Creates the file of a CPU profile; `undefined` for a request that was not sampled. The stored profile has
 * the calls and their times, not the single samples: calls of one function by another are one call, each
 * caller before its calls. The time of calls that were too short to be stored belongs to their callers.
 */
export function toCpuProfileFile(profile: Profile): CpuProfileFile | undefined {
  const cpu = readCpu(profile)
  if (cpu === undefined) return undefined
  const { busy, calls, idle, roots } = cpu
  const scripts = new Map<string, string>()
  const nodes = calls.map((call): CpuNode => {
    const { column = 0, file, line = 0, name } = call.called
    const scriptId = scripts.get(file) ?? String(scripts.size + 1)
    scripts.set(file, scriptId)
    return {
      id: firstId + call.index,
      callFrame: {
        functionName: name === '(anonymous)' ? '' : name,
        scriptId: file === '' ? '0' : scriptId,
        url: file,
        lineNumber: line - 1,
        columnNumber: column - 1,
      },
      hitCount: ownTime(call) > 0 ? 1 : 0,
      children: idsOf(call.children),
    }
  })
  const program = Math.max(0, busy - sum(roots))
  const parts = [
    ...listInOrder(roots).map(call => ({ id: firstId + call.index, time: ownTime(call) })),
    { id: programId, time: program },
    { id: idleId, time: idle },
  ].filter(({ time }) => time > 0)
  // DevTools ignores the bounds of a profile that starts at 0.
  const startTime = Math.round(profile.summary.time * 1000)
  return {
    nodes: [
      { ...toSpecial(rootId, '(root)', 0), children: [...idsOf(roots), programId, idleId] },
      toSpecial(programId, '(program)', program),
      toSpecial(idleId, '(idle)', idle),
      ...nodes,
    ],
    startTime,
    endTime: parts.reduce((end, { time }) => end + time, startTime),
    samples: parts.map(({ id }) => id),
    // A sample lasts until the next one.
    timeDeltas: parts.map((_, index) => parts[index - 1]?.time ?? 0),
  }
}

function toSpecial(id: number, functionName: string, time: number): CpuNode {
  const callFrame = { functionName, scriptId: '0', url: '', lineNumber: -1, columnNumber: -1 }
  return { id, callFrame, hitCount: time > 0 ? 1 : 0, children: [] }
}

/** The time outside of the stored calls within it. */
function ownTime({ children, total }: StoredSample): number {
  return Math.max(0, total - sum(children))
}

function sum(calls: readonly StoredSample[]): number {
  return calls.reduce((total, call) => total + call.total, 0)
}

function idsOf(calls: readonly StoredSample[]): number[] {
  return calls.map(({ index }) => firstId + index)
}

/** Lists each call before the calls that it made. */
function listInOrder(roots: readonly StoredSample[]): StoredSample[] {
  const listed: StoredSample[] = []
  const waiting = roots.toReversed()
  for (let call = waiting.pop(); call !== undefined; call = waiting.pop()) {
    listed.push(call)
    waiting.push(...call.children.toReversed())
  }
  return listed
}
