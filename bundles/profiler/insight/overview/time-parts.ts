import type { FindingPlace } from '../../../../kernel/profiler-contract.ts'
import { readCalls } from '../../profile/calls.ts'
import { findKernelGaps, readHandledTime } from '../../profile/event-outline.ts'
import { type EventNode, readEventTree } from '../../profile/event-tree.ts'
import { shorten } from '../../profile/format.ts'
import type { Profile } from '../../profile/profile.ts'
import { readQueries } from '../../profile/queries.ts'
import { readRenders } from '../../profile/renders.ts'

/** The kinds of parts. The name is also the class of its bar. */
export type PartKind = (typeof kinds)[number]

/** In the order of their ranks: a moment at which several parts were at work belongs to the last one. */
const kinds = [
  'unknown',
  'kernel',
  'sending',
  'controller',
  'listener',
  'template',
  'stopwatch',
  'request',
  'http',
  'cache',
  'database',
  'gc',
  'blocked',
  'waiting',
] as const

/** A part of the time of a request. */
export interface TimePart {
  readonly kind: PartKind
  /** For people, such as `Listeners of kernel.request`. */
  readonly label: string
  /** The event of listeners; otherwise empty. */
  readonly event: string
  /** Whole microseconds. */
  readonly time: number
  /** The panel with the details. */
  readonly place: FindingPlace
}

/**
 * Divides the time of a request among its parts, the longest first. Each moment belongs to one part, so the parts add up
 * to the duration of the request.
 */
export function divideTime(profile: Profile): TimePart[] {
  const whole = Math.round(profile.summary.duration * 1000)
  const parts = findWaiting(sumUp(listClaims(profile, whole), whole), profile)
  return parts.sort((one, other) => other.time - one.time)
}

/** A period in which a part was at work, in microseconds since the request began. */
interface Claim {
  readonly part: Omit<TimePart, 'time'>
  readonly depth: number
  readonly start: number
  readonly end: number
}

function listClaims(profile: Profile, whole: number): Claim[] {
  const { collectors, summary } = profile
  const { nodes, roots } = readEventTree(profile)
  const claims: Claim[] = []
  const add = (part: Claim['part'], start: number, end = whole, depth = 0) => {
    claims.push({ part, depth, start: clamp(start, whole), end: clamp(end, whole) })
  }
  const inMilliseconds = (part: Claim['part'], start: number, end: number | undefined) =>
    add(part, start * 1000, end === undefined ? whole : end * 1000)

  add(nodes.length === 0 ? unknown : kernel, 0)
  if (nodes.length > 0) inMilliseconds(sending, readHandledTime(profile), undefined)
  for (const { duration, name, start } of findKernelGaps(roots)) {
    if (name === 'controller') add(controller, start, duration === undefined ? whole : start + duration)
  }
  const depths = new Map<EventNode, number>()
  for (const node of nodes) {
    const depth = node.parent === undefined ? 0 : Number(depths.get(node.parent)) + 1
    depths.set(node, depth)
    if (node.kind === 'dispatch') continue
    const end = node.duration === undefined ? whole : node.start + node.duration
    add(
      node.kind === 'request' ? subRequests : listenersOf(String(node.parent?.name), node.index),
      node.start,
      end,
      depth,
    )
  }
  for (const { duration, start } of readRenders(profile).pages) inMilliseconds(templates, start, start + duration)
  for (const { name, periods } of collectors.time?.measured ?? []) {
    const measured = part('stopwatch', shorten(name, labelLimit), 'time')
    // Of measurements that contain one another, the shortest is the innermost.
    for (const [start, duration] of periods) add(measured, start, start + duration, -duration)
  }
  for (const { end, start } of readCalls(profile).calls) inMilliseconds(calls, start, end)
  for (const { end, kind, start } of readQueries(profile).queries) {
    inMilliseconds(kind === 'cache' ? cache : database, start, end)
  }
  const { blocks = [], pauses } = collectors.memory ?? {}
  for (const { duration, start } of pauses?.first ?? []) inMilliseconds(garbage, start, start + duration)
  for (const { by, duration, start } of blocks) {
    // In a block of its own, the request itself was at work.
    if (by !== summary.token) inMilliseconds(blockedBy(by), start, start + duration)
  }
  return claims
}

/** Characters of a label. */
const labelLimit = 60

function clamp(moment: number, whole: number): number {
  return Math.min(Math.max(0, Math.round(moment)), whole)
}

function part(kind: PartKind, label: string, panel: string): Claim['part'] {
  return { kind, label, event: '', place: { panel } }
}

const unknown = part('unknown', 'Not recorded', 'time')
const kernel = part('kernel', 'Kernel', 'time')
const sending = part('sending', 'Sending', 'time')
const controller: Claim['part'] = {
  ...part('controller', 'Controller', 'events'),
  place: { panel: 'events', anchor: 'controller' },
}
const templates = part('template', 'Templates', 'templates')
const subRequests = part('request', 'Sub-requests', 'time')
const calls = part('http', 'HTTP client calls', 'http')
const cache = part('cache', 'Cache', 'cache')
const database = part('database', 'Database', 'database')
const garbage = part('gc', 'Garbage collection', 'memory')

function listenersOf(event: string, index: number): Claim['part'] {
  const place = { panel: 'events', anchor: `span-${index}` }
  return { kind: 'listener', label: `Listeners of ${event}`, event, place }
}

function blockedBy(token: string): Claim['part'] {
  const place = token === '' ? { panel: 'memory' } : { panel: 'time', token }
  return { ...part('blocked', 'Blocked by other work', 'memory'), place }
}

/** Gives each moment to the claim with the highest rank, and sums up the moments of each part. */
function sumUp(claims: readonly Claim[], whole: number): TimePart[] {
  const moments = [...new Set([0, whole, ...claims.flatMap(({ end, start }) => [start, end])])].sort((a, b) => a - b)
  const indexes = new Map(moments.map((moment, index) => [moment, index]))
  // For each moment, the next one that may be free. Moments that are taken are skipped, so that each is visited once.
  const free = moments.map((_, index) => index)
  const findFree = (from: number) => {
    let at = from
    while (free[at] !== at) {
      const next = Number(free[at])
      free[at] = Number(free[next])
      at = next
    }
    return at
  }
  const sums = new Map<string, TimePart & { time: number }>()
  for (const { end, part, start } of claims.toSorted(compareRanks)) {
    for (let at = findFree(Number(indexes.get(start))); Number(moments[at]) < end; at = findFree(at)) {
      const key = `${part.kind} ${part.label}`
      const sum = sums.get(key) ?? { ...part, time: 0 }
      sum.time += Number(moments[at + 1]) - Number(moments[at])
      sums.set(key, sum)
      free[at] = at + 1
    }
  }
  return [...sums.values()]
}

function compareRanks(one: Claim, other: Claim): number {
  return kinds.indexOf(other.part.kind) - kinds.indexOf(one.part.kind) || other.depth - one.depth
}

/** Parts that may wait for timers, files or other threads. */
const waitingPlaces: Partial<Readonly<Record<PartKind, string>>> = {
  controller: 'the controller',
  listener: 'listeners of ',
  template: 'templates',
}

/**
 * Separates the time in which a part only waited. The event loop was busy for a known time, so a part that lasted longer
 * has certainly waited for the rest.
 */
function findWaiting(parts: readonly TimePart[], { collectors }: Profile): TimePart[] {
  const totalOf = (kinds: readonly PartKind[]) =>
    parts.filter(({ kind }) => kinds.includes(kind)).reduce((sum, { time }) => sum + time, 0)
  const idle = (collectors.memory?.loop.idle ?? 0) * 1000
  const busy = Math.max(0, Math.round(totalOf(kinds) - idle) - totalOf(['gc', 'blocked']))
  return parts.flatMap((part): TimePart[] => {
    const place = waitingPlaces[part.kind]
    const waited = part.time - busy
    if (place === undefined || waited <= 0) return [part]
    const label = `Waiting in ${place}${part.event}`
    return [{ ...part, kind: 'waiting', label, time: waited }, ...(busy === 0 ? [] : [{ ...part, time: busy }])]
  })
}
