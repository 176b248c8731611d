import type { FindingPlace } from '../../../../kernel/contracts/collectors.ts'
import { type EventNode, findBundle, findKernelGaps, readEventTree, readHandledTime } from '../../profile/event-tree.ts'
import { shorten } from '../../profile/format.ts'
import { groupBy } from '../../profile/group-by.ts'
import type { Profile } from '../../profile/profile.ts'
import { hasEventStream, inWordsOf, unitOf } from '../../profile/units.ts'
import {
  endOf,
  joinPeriods,
  type Period,
  periodOf,
  readDrains,
  readReceived,
  subtractPeriods,
  type WorkKind,
} from '../../profile/work.ts'
import { type CausedBlock, findBlocker, readAway, readBlocks, readPauses } from '../../subjects/memory/read.ts'
import { readStopwatch } from '../../subjects/time/read.ts'
import { awaitedWork, ownWork, workKinds } from '../../subjects/work.ts'

/** The kinds of parts. The name is also the class of its bar. */
export type PartKind =
  | WorkKind['category']
  | (
      | 'unknown'
      | 'kernel'
      | 'sending'
      | 'own'
      | 'controller'
      | 'listener'
      | 'client'
      | 'stopwatch'
      | 'request'
      | 'gc'
      | 'blocked'
      | 'stopped'
      | 'waiting'
    )

const categoryOf = ({ category }: WorkKind) => category

/**
 * In the order of their ranks: a moment at which several parts were at work belongs to the last of these in this list.
 */
const kinds: readonly PartKind[] = [
  ...(['unknown', 'kernel', 'sending', 'own', 'controller', 'listener', 'client'] as const),
  ...ownWork.map(categoryOf),
  ...(['stopwatch', 'request'] as const),
  ...awaitedWork.map(categoryOf).reverse(),
  ...(['gc', 'blocked', 'stopped', 'waiting'] as const),
]

/** A part of the time of a request. */
export interface TimePart {
  readonly kind: PartKind
  /** For people, such as `Listeners of kernel.request`. */
  readonly label: string
  /** Of waiting, the kind of the part that waited; otherwise its own kind. */
  readonly of: PartKind
  /** Whether some of it may be work for other requests. */
  readonly isShared: boolean
  /** The event of listeners; otherwise empty. */
  readonly event: string
  /** Whole microseconds. */
  readonly time: number
  /** The panel with the details. */
  readonly place: FindingPlace
}

/**
 * Divides the time of a request among its parts, the longest first. Each moment belongs to one
 * part, so the parts add up to the duration of the request.
 */
export function divideTime(profile: Profile): TimePart[] {
  const whole = Math.round(profile.summary.duration * 1000)
  const waits = listWaits(profile, whole)
  const moments = assign(listClaims(profile, whole), waits, whole)
  const { isOfServer, nodes } = readEventTree(profile)
  const phases = new Set(nodes.filter(({ isOfFramework }) => isOfFramework).map(({ name }) => name))
  const parts = separateWaiting(moments, waits, {
    away: Math.round(readAway(profile) * 1000),
    isOfUnit: isOfUnit(profile),
    isOfFramework: ({ event }) => (event === '' ? isOfServer : phases.has(event)),
    isShared: profile.collectors.events?.isShared === true,
    own: readBlocks(profile)
      .filter(({ by, isOwn }) => isOwn && by === profile.summary.token)
      .map(({ away, duration, start }) => ({ start: start * 1000, end: (start + duration - away) * 1000 })),
  })
  return sumUp(parts.filter(({ time }) => time > 0))
    .map(part => ({ ...part, label: inWordsOf(profile.summary, part.label) }))
    .sort((one, other) => other.time - one.time)
}

/** A period in which a part was at work, in microseconds since the request began. */
interface Claim {
  readonly part: Omit<TimePart, 'time'>
  /** By default the kind of the part. */
  readonly rank?: PartKind | undefined
  readonly depth: number
  readonly start: number
  readonly end: number
}

function listClaims(profile: Profile, whole: number): Claim[] {
  const { isOfServer, nodes, roots } = readEventTree(profile)
  const claims: Claim[] = []
  const add = (part: Claim['part'], start: number, end = whole, depth = 0, rank?: PartKind) => {
    claims.push({ part, rank, depth, start: clamp(start, whole), end: clamp(end, whole) })
  }
  const inMilliseconds = (part: Claim['part'], start: number, end: number | undefined) =>
    add(part, start * 1000, end === undefined ? whole : end * 1000)

  add(isOfUnit(profile) ? unitPart : nodes.length === 0 ? unknown : isOfServer ? framework : kernel, 0)
  if (nodes.length > 0)
    inMilliseconds(hasEventStream(profile.summary) ? eventStream : sending, readHandledTime(profile), undefined)
  for (const { duration, name, start } of findKernelGaps(roots)) {
    if (name === 'controller') add(controller, start, duration === undefined ? whole : start + duration)
  }
  const depths = new Map<EventNode, number>()
  for (const node of nodes) {
    const depth = node.parent === undefined ? 0 : (depths.get(node.parent) ?? 0) + 1
    depths.set(node, depth)
    if (node.kind === 'dispatch') continue
    const end = node.duration === undefined ? whole : node.start + node.duration
    add(
      node.kind === 'request' ? subRequestOf(node) : node.isOfFramework ? functionsOf(node) : partOf(node, profile),
      node.start,
      end,
      depth,
    )
  }
  // Of what has no details, the listeners within the listeners that have some are at work.
  for (const [start, duration] of profile.collectors.events?.more?.periods ?? [])
    add(moreFunctions, start * 1000, (start + duration) * 1000, nodes.length)
  const blocks = readBlocks(profile)
  const blocked = joinPeriods([...blocks, ...(profile.collectors.memory?.busy ?? [])])
  const synchronous: Period[] = []
  for (const { category, label, list, more, panel } of workKinds) {
    const claimed = part(category, label, panel)
    for (const work of [...list(profile), ...(more?.(profile).periods ?? [])]) {
      const { duration, start } = periodOf(work)
      if (!work.stopped) synchronous.push({ start: start * 1000, duration: duration * 1000 })
      // While the event loop was blocked or busy, its code was at work, not what it waited for.
      if (!work.stopped) inMilliseconds(claimed, work.start, work.end)
      else for (const own of subtractPeriods([periodOf(work)], blocked)) inMilliseconds(claimed, own.start, endOf(own))
    }
  }
  for (const { name, periods } of readStopwatch(profile).measured) {
    const measured = part('stopwatch', shorten(name, labelLimit), 'time')
    // Of measurements that contain one another, the shortest is the innermost.
    for (const [start, duration] of periods) add(measured, start, start + duration, -duration)
  }
  for (const received of readReceived(profile.collectors)) inMilliseconds(client, received.start, endOf(received))
  for (const drain of readDrains(profile.collectors.events)) inMilliseconds(reader, drain.start, endOf(drain))
  // Garbage that is collected within synchronous work is a part of its time.
  for (const pause of subtractPeriods(joinPeriods(readPauses(profile)), joinPeriods(synchronous)))
    add(garbage, pause.start, endOf(pause))
  for (const block of blocks) {
    // When the process did not run is not known, but for how long.
    inMilliseconds(blockedBy(block, profile), block.start, endOf(block) - block.away)
    const blocker = block.by === profile.summary.token ? findBlocker(block, profile) : undefined
    const worker = blocker === 'unknown' ? own : blocker && functionsOf(blocker)
    // It was not the function that was called last.
    if (worker !== undefined) add(worker, block.start * 1000, (endOf(block) - block.away) * 1000, 0, 'client')
    inMilliseconds(stopped, endOf(block) - block.away, endOf(block))
  }
  return claims
}

/** The sub-request of a listener of `kernel.exception` makes the response of the error. */
function subRequestOf({ parent }: EventNode): Claim['part'] {
  return parent?.parent?.name === 'kernel.exception' ? errorResponse : subRequests
}

/** Characters of a label. */
const labelLimit = 60

function clamp(moment: number, whole: number): number {
  return Math.min(Math.max(0, Math.round(moment)), whole)
}

function part(kind: PartKind, label: string, panel: string): Claim['part'] {
  return { kind, of: kind, isShared: false, label, event: '', place: { panel } }
}

/** Work that is no request has no functions of a framework: the time that nothing else has is that of its own code. */
const unitPart = part('controller', 'Own code', 'time')
const unknown = part('unknown', 'Not recorded', 'time')
const kernel = part('kernel', 'Kernel', 'time')
const framework = part('kernel', 'Framework', 'time')
const profiler = part('kernel', 'Profiler', 'events')
const sending = part('sending', 'Sending', 'time')
const eventStream = part('sending', 'Event stream', 'time')
const controller: Claim['part'] = {
  ...part('controller', 'Controller', 'events'),
  place: { panel: 'events', anchor: 'controller' },
}
const moreFunctions = part('listener', 'Functions without details', 'events')
const subRequests = part('request', 'Sub-requests', 'time')
const errorResponse = part('request', 'Error response', 'time')
/** The application waited for the body of the request. */
const client = part('client', 'Receiving the body', 'request')
/** The response waited for the client to read it. */
export const reader: Claim['part'] = part('client', 'Client reads the response', 'request')
const garbage = part('gc', 'Garbage collection', 'memory')
/**
 * The request blocked the event loop outside of its functions, such as after its answer. In one of
 * them, the function was at work.
 */
const own = part('own', 'Blocked by this request', 'memory')
const unknownWork = part('blocked', 'Blocked, cause not known', 'memory')
/** The process did not run. */
const stopped: Claim['part'] = part('stopped', 'No CPU time', 'memory')

function isOfUnit({ summary }: Profile): boolean {
  return !unitOf(summary).isExchange
}

function partOf(node: EventNode, profile: Profile): Claim['part'] {
  if (findBundle(node, profile) === 'profiler') return profiler
  const event = node.parent?.name ?? ''
  const place = { panel: 'events', anchor: `span-${node.index}` }
  return { ...part('listener', `Listeners of ${event}`, 'events'), event, place }
}

/** The functions of a framework: the handler stands for the controller. */
function functionsOf({ index, parent }: EventNode): Claim['part'] {
  const event = parent?.name ?? ''
  const kind = event === 'handler' ? 'controller' : 'listener'
  const label = `${event.slice(0, 1).toUpperCase()}${event.slice(1)}`
  return { ...part(kind, label, 'events'), event, place: { panel: 'events', anchor: `span-${index}` } }
}

function blockedBy({ by, calls, isOwn }: CausedBlock, { summary }: Profile): Claim['part'] {
  // A synchronous call is recorded on its request.
  if (calls.length > 0) return own
  if (by === summary.token) return isOwn ? own : unknownWork
  if (by === '') return unknownWork
  return { ...part('blocked', 'Blocked by other work', 'memory'), place: { panel: 'time', token: by } }
}

/** A time that belongs to one part, in microseconds since the request began. */
type Moment = Pick<Claim, 'part' | 'start' | 'end'>

/**
 * Gives each moment to the claim with the highest rank. Returns the moments in their order,
 * divided at the borders of all claims and periods.
 */
function assign(claims: readonly Claim[], periods: readonly WaitingPeriod[], whole: number): Moment[] {
  const ends = [...claims, ...periods].flatMap(({ end, start }) => [start, end])
  const borders = [...new Set([0, whole, ...ends])].sort((a, b) => a - b)
  const indexes = new Map(borders.map((border, index) => [border, index]))
  // For each border, the next one that may be free. Moments that are taken are skipped, so that each is visited once.
  const free = borders.map((_, index) => index)
  const findFree = (from: number) => {
    let at = from
    while (free[at] !== at) {
      const next = free[at] ?? at
      free[at] = free[next] ?? next
      at = next
    }
    return at
  }
  const moments: Moment[] = []
  for (const { end, part, start } of claims.toSorted(compareRanks)) {
    let at = findFree(indexes.get(start) ?? 0)
    for (let border = borders[at] ?? end; border < end; border = borders[at] ?? end) {
      moments[at] = { part, start: border, end: borders[at + 1] ?? end }
      free[at] = at + 1
      at = findFree(at)
    }
  }
  return moments
}

function compareRanks(one: Claim, other: Claim): number {
  return rankOf(other) - rankOf(one) || other.depth - one.depth
}

function rankOf({ part, rank = part.kind }: Claim): number {
  return kinds.indexOf(rank)
}

/** A time in which the event loop waited, in microseconds since the request began. */
interface WaitingPeriod {
  readonly start: number
  readonly end: number
  /** The whole duration, also where the end of the request cuts it. */
  readonly duration: number
  /** How long the loop waited. */
  readonly idle: number
}

function listWaits({ collectors }: Profile, whole: number): WaitingPeriod[] {
  const { waits = [] } = collectors.events ?? {}
  return waits
    .map(([start, duration, idle]) => ({
      ...{ start: clamp(start, whole), end: clamp(start + duration, whole) },
      ...{ duration, idle },
    }))
    .sort((one, other) => one.start - other.start)
}

/** Parts in which the application may wait for timers, files or other threads. */
const waitingPlaces: Partial<Readonly<Record<PartKind, string>>> = {
  kernel: 'the kernel',
  controller: 'the controller',
  listener: 'listeners of ',
  template: 'templates',
}

function describeFunctions({ event }: Pick<TimePart, 'event'>): string {
  return event === '' ? 'the framework' : event === 'handler' ? 'the handler' : event
}

/** Parts in which the event loop does not wait. */
const busyKinds: readonly PartKind[] = ['gc', 'own', 'blocked', 'stopped']

/**
 * Divides the moments of the application into waiting and work, by the measured times in which the event loop
 * waited. Where such a time has several parts, a part has waited for as much of it as the others cannot have.
 */
function separateWaiting(
  moments: readonly Moment[],
  waits: readonly WaitingPeriod[],
  {
    away,
    isOfFramework,
    isOfUnit,
    isShared,
    own,
  }: {
    /** Microseconds in which the process did not run, beside the blocks. */
    readonly away: number
    readonly isOfUnit: boolean
    readonly isOfFramework: (part: Pick<TimePart, 'event'>) => boolean
    readonly isShared: boolean
    readonly own: readonly Pick<Moment, 'start' | 'end'>[]
  },
): readonly TimePart[] {
  let next = 0
  const findWait = ({ start }: Moment) => {
    while (next < waits.length && (waits[next]?.end ?? start) <= start) next++
    const wait = waits[next]
    return wait !== undefined && wait.start <= start ? wait : undefined
  }
  const toParts = (some: readonly Moment[]) =>
    sumUp(some.map(({ end, part, start }) => ({ ...part, time: end - start })))
  // In a block of its own, the request was at work alone. Times are rounded.
  const isCertain = (moment: Moment) => own.some(({ end, start }) => start - 1 <= moment.start && moment.end <= end + 1)
  const turning = new Set<TimePart>()
  const separated = [...groupBy(moments, findWait)].flatMap(([wait, inside]) => {
    if (wait === undefined) return toParts(inside)
    const alone = toParts(inside.filter(isCertain))
    const parts = toParts(inside.filter(moment => !isCertain(moment)))
    const busyParts = [...alone, ...parts.filter(({ kind }) => busyKinds.includes(kind))]
    const busy = sumOfTimes(busyParts)
    const divided = parts.flatMap((part): TimePart[] => {
      const place = isOfUnit && part.label === unitPart.label ? 'its own code' : waitingPlaces[part.kind]
      if (place === undefined || part.label === profiler.label) return [part]
      const others = wait.duration - busy - part.time
      const waited = Math.round(clamp(wait.idle - others, part.time))
      const label = isShared ? `${part.label} and other ${isOfUnit ? 'work' : 'requests'}` : part.label
      // While the loop turned, it may have been at work for others.
      const worked = { ...part, isShared, label, time: part.time - waited }
      turning.add(worked)
      return [
        {
          ...part,
          kind: 'waiting',
          label: `Waiting in ${isOfFramework(part) ? describeFunctions(part) : place + part.event}`,
          time: waited,
        },
        worked,
      ]
    })
    return [...alone, ...divided]
  })
  return takeAway(separated, turning, away)
}

/**
 * Takes the time in which the process did not run from the parts that were at work while the event loop turned: each
 * has less of it by its share.
 */
function takeAway(parts: readonly TimePart[], turning: ReadonlySet<TimePart>, away: number): readonly TimePart[] {
  const worked = sumOfTimes([...turning])
  const taken = Math.min(away, worked)
  if (taken === 0) return parts
  const left = parts.map(part =>
    turning.has(part) ? { ...part, time: Math.round(part.time * (1 - taken / worked)) } : part,
  )
  return [...left, { ...stopped, time: sumOfTimes(parts) - sumOfTimes(left) }]
}

function sumOfTimes(parts: readonly TimePart[]): number {
  return parts.reduce((sum, { time }) => sum + time, 0)
}

/** Adds up the parts with the same label. */
function sumUp(parts: readonly TimePart[]): TimePart[] {
  return [...groupBy(parts, ({ kind, label }) => `${kind} ${label}`).values()].map(same => ({
    ...same[0],
    time: sumOfTimes(same),
  }))
}
