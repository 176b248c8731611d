import { version } from '../../../lib/package.ts'
import type { LogMark } from '../insight/timeline/request-spans.ts'
import type { TimelineSpan } from '../insight/timeline/span.ts'
import { toTarget } from '../profile/format.ts'
import { endOf, type Period } from '../profile/periods.ts'
import type { Profile } from '../profile/profile.ts'

/** A file in the Trace Event Format (JSON object form), which Perfetto and `chrome://tracing` open. */
interface TraceFile {
  readonly traceEvents: readonly TraceEvent[]
  readonly displayTimeUnit: 'ms'
  readonly otherData: Readonly<Record<string, string>>
}

/**
 * An event of the trace. `ts` is in microseconds since 1970, `dur` in microseconds. An event without arguments has no `args`:
 * speedscope would show `{}`.
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
 * One process. Its first thread shows the request, further threads what ran at the same time, and the last one the garbage
 * collector.
 */
const pid = 1

/** More spans are left out. */
const spanLimit = 20_000

/**
 * Creates the trace file of a profile: its timeline with the spans of sub-requests, the log messages of level warning and
 * above, and the runs of the garbage collector. Masked values stay masked.
 */
export function toTraceEvents(profile: Profile, { logs, root }: TimelineContent): TraceFile {
  const { summary } = profile
  const runs = profile.collectors.memory?.pauses.first ?? []
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
      describe('process_name', 0, { name: `${summary.method} ${toTarget(summary.url)}` }),
      ...names.flatMap((name, index) => [
        describe('thread_name', index + 1, { name }),
        describe('thread_sort_index', index + 1, { sort_index: index + 1 }),
      ]),
      ...events,
      ...runs.map(({ duration, kind = 'gc', start }): TraceEvent => {
        const ts = begin + Math.max(0, Math.round(start * 1000))
        return { name: kind, cat: 'gc', ph: 'X', ts, dur: Math.round(duration * 1000), pid, tid: garbage }
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
 * Puts spans into threads. Events of one thread must lie within each other or apart, and an event appears to be a part of
 * the event around it. So a span is in the thread of its parent only if it lies within it.
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

/** Lists the periods of all spans in the order in which they began, a parent before its children. Times become whole. */
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
