import { describeUnseen, type UnseenLibrary } from '../../../kernel/contracts/unseen-libraries.ts'
import { type CallerPlace, choosePlaces } from '../../../lib/stack/callers.ts'
import { formatDuration, formatNumber } from './format.ts'
import { oncePerProfile, type Profile, type ProfileSummary, summaryCounts } from './profile.ts'
import type { MoreWorkData } from './schema.ts'

/** Synchronous calls of a request that are recorded. */
export const syncCallLimit = 200

/**
 * A piece of work that a request has started, such as a query, an HTTP client call or the
 * rendering of a template. Times are in milliseconds since the request began.
 */
export interface Work {
  /** The line of it on the timeline. */
  readonly name: string
  /** The text that the name shortens, such as a statement; empty if it shortens none. */
  readonly text: string
  /** The id of its row in the panel of its kind. */
  readonly id: string
  readonly start: number
  /** `undefined` if it was not finished. */
  readonly end: number | undefined
  /** Milliseconds of it in which the event loop ran no callback: see {@link readStops}. */
  readonly stopped: number
  readonly hasFailed: boolean
  /** A word about its result, such as a status. */
  readonly note: string
  /** The code that has started it; empty if that is not known. */
  readonly caller: CallerPlace
  /** The name of the template that it renders; empty for other work. */
  readonly template: string
  /** Work within it, such as partials. */
  readonly parts: readonly Work[]
}

/** The fields of a summary that say how much a request has asked databases, caches and other servers for. */
export const workFields = [
  ...summaryCounts.flatMap(({ field, part }) => (part === undefined ? [] : [field])),
  'queryTime' as const,
]

/** A request that an HTTP client call of a profile has made, to this program or another one. */
export interface CalledRequest {
  /** The index of the call in the profile of its caller. */
  readonly index: number
  readonly summary: ProfileSummary
  /** `undefined` if it is damaged, was removed meanwhile, or was not read because there are many. */
  readonly profile: Profile | undefined
  /** The requests that it has made itself. */
  readonly called: readonly CalledRequest[]
}

/** A profile that may be completed by the requests that it has made: these have profiles of their own. */
export interface WithCalled extends Profile {
  /** In the order of the HTTP client calls. */
  readonly called?: readonly CalledRequest[]
}

/** The requests that a profile has made, if it was completed by them. */
export function readCalled({ called = [] }: WithCalled): readonly CalledRequest[] {
  return called
}

/** A field of a request, of all of its sub-requests and, where they are known, of the requests that it has made. */
export function sumWithin(
  { called = [], collectors, summary }: Pick<WithCalled, 'called' | 'collectors' | 'summary'>,
  field: WorkField,
): number {
  const sum = (summary[field] ?? 0) + (collectors.within?.[field] ?? 0)
  return called.reduce((sum, each) => sum + sumCalled(each, field), sum)
}

/** Of a profile that was not read, the work of its sub-requests is not known. */
function sumCalled({ called, profile, summary }: CalledRequest, field: WorkField): number {
  return profile === undefined
    ? (summary[field] ?? 0)
    : sumWithin({ called, collectors: profile.collectors, summary }, field)
}

type WorkField = (typeof workFields)[number]

/**
 * The queries and calls of a request and its sub-requests, whatever they are for: a loop may ask a
 * cache or an API instead.
 */
export function countAllCalls(profile: Profile): number {
  return workFields.reduce((sum, field) => (field === 'queryTime' ? sum : sum + sumWithin(profile, field)), 0)
}

/** Whether late work of a profile began after the client had left, rather than after the response. */
export function hasClientLeft({ collectors, summary }: Profile): boolean {
  return collectors.late?.hasClientLeft === true || summary.outcome === 'aborted'
}

/** A kind of work: what it is called, where it is shown, and how it is read from a profile. */
export interface WorkKind {
  /** The name of its panel. */
  readonly panel: string
  /** The name of its colour, and of its lane on the timeline. */
  readonly category: 'database' | 'cache' | 'http' | 'mail' | 'async' | 'template'
  /** For people, such as `Database queries`. */
  readonly label: string
  /** One of it, and several, such as `query` and `queries`. */
  readonly nouns: readonly [one: string, several: string]
  /** The work of a request that is no part of other work, in the order in which it began. */
  readonly list: (profile: Profile) => readonly Work[]
  /** How much of it there was, with what was only counted. Work without it is described by its template. */
  readonly count?: (profile: Profile) => number
  /** The work that was only counted and timed. */
  readonly more?: (profile: Profile) => MoreWork
}

/** Work over the limit of what is recorded in detail. */
export interface MoreWork extends Omit<MoreWorkData, 'periods'> {
  /** The times in which at least one piece of it was not over. */
  readonly periods: readonly { readonly start: number; readonly end: number; readonly stopped: number }[]
}

/** How much of the work of a kind is bad. */
export interface BadWork {
  readonly count: number
  /** Such as `2 failed`; empty if none is. */
  readonly text: string
  readonly tone: 'warning' | 'error'
  /** The id of its first row; `undefined` if none has details. */
  readonly anchor?: string | undefined
}

/** A short count of work; empty without any. */
export interface WorkCount {
  readonly text: string
  readonly level: 'plain' | 'warning' | 'error'
}

/** The count of what is bad; without that, of all. */
export function countFor({ count, tone }: BadWork, all: number): WorkCount {
  if (count > 0) return { text: formatNumber(count), level: tone }
  return { text: all === 0 ? '' : formatNumber(all), level: 'plain' }
}

/** Creates a piece of work. Fields that are not given are empty. */
export function createWork(work: Pick<Work, 'end' | 'id' | 'name' | 'start'> & Partial<Work>): Work {
  return { text: '', stopped: 0, hasFailed: false, note: '', caller: {}, template: '', parts: [], ...work }
}

/** Whether the queries of a system are awaited: only libraries of SQLite may be synchronous. */
export function isAwaitedSystem(system: string | undefined): boolean {
  return system !== 'sqlite'
}

/** The times of a piece of work, in milliseconds. Without an end it is not over. */
interface WorkTimes {
  readonly start: number
  readonly end?: number | undefined
  readonly stopped?: number
}

/**
 * The periods in which the event loop ran no callback, in milliseconds since the request began: it
 * was blocked, or garbage was collected. When awaited work ended within one of them is not known.
 */
export const readStops: (profile: Pick<Profile, 'collectors'>) => readonly Period[] = oncePerProfile(({ memory }) =>
  stopsOf(memory),
)

/** When the application waited for its client to send the body, in milliseconds since the request began. */
export function readReceived({ events, memory }: Profile['collectors']): readonly Period[] {
  const [start, duration] = events?.received ?? []
  if (start === undefined || duration === undefined) return []
  // The event loop waited no longer than it was idle: in the first request, the parser loads its modules meanwhile.
  const idle = memory === undefined || memory.requests.most > 0 ? duration : memory.loop.idle * 1000
  return [{ start: start / 1000, duration: Math.min(duration, idle) / 1000 }]
}

/** When the response waited for its client to read, in milliseconds since the request began. */
export function readDrains(events: Profile['collectors']['events']): readonly Period[] {
  return (events?.drains ?? []).map(([start, duration]) => ({ start: start / 1000, duration: duration / 1000 }))
}

/** What is recorded of such periods. */
export interface Stopped {
  readonly blocks: readonly Period[]
  readonly pauses: { readonly longest: readonly Period[] }
  readonly busy?: readonly Period[] | undefined
}

/** The periods in which the event loop ran no callback, in their order. */
export function stopsOf(memory: Stopped | undefined): readonly Period[] {
  if (memory === undefined) return []
  const { blocks, busy = [], pauses } = memory
  return joinPeriods([...blocks, ...busy, ...pauses.longest])
}

/** Milliseconds of awaited work in which the event loop ran no callback. */
export function stoppedTime(work: WorkTimes, stops: readonly Period[]): number {
  return stops.length === 0 ? 0 : totalOf(overlapPeriods([periodOf(work)], stops))
}

/** Awaited work of a list with its place in the code; `stopped` are the milliseconds in which no callback ran. */
export type LocatedWork<Data> = Omit<Data, 'caller'> & Pick<Work, 'caller' | 'stopped'> & { readonly index: number }

/** Locates awaited work. `stops` are the times in which the event loop ran no callback. */
export function locateWork<Data extends WorkTimes & { readonly caller?: CallerPlace | undefined }>(
  works: readonly Data[],
  stops: readonly Period[],
): LocatedWork<Data>[] {
  const places = choosePlaces(works, () => true)
  return works.map((work, index) => ({
    ...work,
    index,
    caller: places.get(work) ?? {},
    stopped: stoppedTime(work, stops),
  }))
}

/**
 * Its own milliseconds: those in which a piece of work was at work, or waited for an answer. 0 while it is not over.
 */
export function workTime({ end, start, stopped = 0 }: WorkTimes): number {
  return end === undefined ? 0 : Math.max(0, end - start - stopped)
}

/**
 * Writes the own time of a piece of work; empty while it is not over. If the event loop ran no callback for most of the
 * period, the work may have ended at any moment of it: the text is the most that it can have taken.
 */
export function formatWorkTime(work: WorkTimes): string {
  const { end, start, stopped = 0 } = work
  if (end === undefined) return ''
  return stopped > workTime(work) ? `≤ ${formatDuration(end - start)}` : formatDuration(workTime(work))
}

/** From the start of a piece of work to its end; empty while it is not over. */
export function periodOf({ end, start }: WorkTimes): Period {
  return { start, duration: end === undefined ? 0 : Math.max(0, end - start) }
}

/** Milliseconds in which at least one piece of work was at work, or waited for an answer. */
export function coveredWorkTime(work: readonly WorkTimes[], stops: readonly Period[]): number {
  const stopped = joinPeriods(work.filter(each => each.stopped).map(periodOf))
  const others = work.filter(each => !each.stopped).map(periodOf)
  return totalOf(joinPeriods([...subtractPeriods(stopped, stops), ...others]))
}

/** Reads such work; without any, its numbers are 0. `stops` are the times in which its end is not known. */
export function readMoreWork(data: MoreWorkData | undefined, stops: readonly Period[]): MoreWork {
  const { periods = [], ...numbers } = data ?? { ended: 0, failed: 0, longest: 0, total: 0 }
  return {
    ...numbers,
    periods: periods.map(([start, duration]) => {
      const period = { start, end: start + duration }
      return { ...period, stopped: stoppedTime(period, stops) }
    }),
  }
}

/** A piece of work, and all work within it. */
export function withParts(work: Work): Work[] {
  return [work, ...work.parts.flatMap(withParts)]
}

/** A period of time: in microseconds on the timeline, in milliseconds for work. */
export interface Period {
  readonly start: number
  readonly duration: number
}

/** Puts periods in order and joins those that overlap or touch. */
export function joinPeriods(periods: readonly Period[]): Period[] {
  const joined: { start: number; duration: number }[] = []
  for (const { duration, start } of periods.toSorted((a, b) => a.start - b.start)) {
    const last = joined.at(-1)
    if (last === undefined || start > endOf(last)) joined.push({ start, duration })
    else last.duration = Math.max(last.duration, start + duration - last.start)
  }
  return joined
}

/** Subtracts other periods from periods. Both lists are in order, and their periods do not overlap. */
export function subtractPeriods(periods: readonly Period[], others: readonly Period[]): Period[] {
  const left: Period[] = []
  let next = 0
  for (const period of periods) {
    let { start } = period
    for (let other = others[next]; other !== undefined && other.start < endOf(period); other = others[++next]) {
      if (other.start > start) left.push({ start, duration: other.start - start })
      start = Math.max(start, endOf(other))
      // The other period may also cover the periods after this one.
      if (start >= endOf(period)) break
    }
    if (start < endOf(period)) left.push({ start, duration: endOf(period) - start })
  }
  return left
}

/** The parts of periods that are also in other periods. Both lists are in order, and their periods do not overlap. */
export function overlapPeriods(periods: readonly Period[], others: readonly Period[]): Period[] {
  return subtractPeriods(periods, subtractPeriods(periods, others))
}

/** The sum of their durations. */
export function totalOf(periods: readonly Period[]): number {
  return periods.reduce((sum, { duration }) => sum + duration, 0)
}

/** The sum of the times of work, in milliseconds. */
export function sumOfTimes(work: readonly WorkTimes[]): number {
  return work.reduce((sum, each) => sum + workTime(each), 0)
}

/** The milliseconds that a run would save if its work ran at the same time. */
export function savingOf(run: readonly WorkTimes[]): number {
  return sumOfTimes(run) - Math.max(0, ...run.map(workTime))
}

/** The end of a period. */
export function endOf({ duration, start }: Period): number {
  return start + duration
}

/** The panels that would show the work of a library. */
const unseenPanels: Readonly<Record<UnseenLibrary['work'], string>> = {
  queries: 'database',
  commands: 'cache',
  resolvers: 'graphql',
  mails: 'mails',
}

/**
 * Describes the libraries that the application has loaded, and whose work is not seen: those of a panel, or all. A page
 * must not say "none" beside them.
 */
export function listUnseen({ process }: Pick<Profile, 'process'>, panel?: string): readonly string[] {
  const unseen = process.queries?.unseen ?? []
  return unseen.filter(({ work }) => panel === undefined || unseenPanels[work] === panel).map(describeUnseen)
}
