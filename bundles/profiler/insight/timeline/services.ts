import { toTarget } from '../../profile/format.ts'
import { groupBy } from '../../profile/group-by.ts'
import { profileLink } from '../../profile/links.ts'
import type { Profile, ProfileSummary } from '../../profile/profile.ts'
import type { ReceivedSpan } from '../../profile/span-data.ts'
import type { ProfileStorage } from '../../store/profile-storage.ts'
import { createSpan, type TimelineSpan } from './request-spans.ts'

/** The known parts of a distributed trace, apart from the profile that shows them. */
export interface DistributedTrace {
  /** The spans that services have sent. */
  readonly spans: readonly ReceivedSpan[]
  /** The other main requests of the application in the trace. */
  readonly profiles: readonly Profile[]
}

/** The most requests in the time of a trace that are read. */
const profileLimit = 30

/** Milliseconds before the start and after the end of a request in which other requests of its trace may begin. */
const margin = 2000

/** Finds the other parts of the trace of a profile, in the stored ones, the newest first: nothing if it belongs to none. */
export async function findDistributedTrace(
  storage: Pick<ProfileStorage, 'find' | 'spans'>,
  summaries: readonly ProfileSummary[],
  { collectors, summary }: Profile,
): Promise<DistributedTrace> {
  const { spanId, traceId } = collectors.request ?? {}
  if (traceId === undefined) return { spans: [], profiles: [] }
  const spans = await storage.spans.find(traceId)
  const moments = spans.flatMap(({ end, start }) => [start / 1000, end / 1000])
  const from = moments.reduce((first, moment) => Math.min(first, moment), summary.time)
  const until = moments.reduce((last, moment) => Math.max(last, moment), summary.time + summary.duration)
  const near = summaries.filter(({ time }) => time >= from - margin && time <= until + margin).slice(0, profileLimit)
  const others = near.filter(({ parent, token }) => parent === null && token !== summary.token)
  const found = await Promise.all(others.map(({ token }) => storage.find(token)))
  const profiles = found.flatMap(stored => stored?.profile ?? [])
  const isPart = ({ collectors: { request } }: Profile) => request?.traceId === traceId && request.spanId !== spanId
  return { spans, profiles: profiles.filter(isPart) }
}

/** A part of the trace outside of the request: a span of a service, or another request of the application. */
export interface TraceNode {
  readonly id: string
  readonly parentId: string | undefined
  readonly name: string
  /** Empty for a request of the application. */
  readonly service: string
  /** Microseconds since 1970. */
  readonly start: number
  readonly end: number
  readonly hasFailed: boolean
  /** The page of a request, or the row of a span. */
  readonly link: string
  /** The span; absent from a request of the application. */
  readonly span?: ReceivedSpan | undefined
}

/** The trace around a request. */
export interface PlacedTrace {
  /** The spans of other services that led to the request, the outermost first. */
  readonly callers: readonly TraceNode[]
  /** The work of other services for the request, in the order in which it began. */
  readonly inner: readonly TraceNode[]
  /** How many other spans the trace has. */
  readonly others: number
}

/** The most callers, and callers of callers, that are shown. */
const callerLimit = 10

/**
 * Puts the parts of a trace into the spans of a request: each below the span that it names as its parent. The spans that
 * the process of the application has sent itself are left out, because the profile has them.
 */
export function placeTrace(root: TimelineSpan, profile: Profile, parts: DistributedTrace): PlacedTrace {
  const { parentSpanId, spanId = '' } = profile.collectors.request ?? {}
  const anchors = findAnchors(root, spanId)
  const received = new Map(parts.spans.map(span => [span.spanId, span]))
  const own = received.get(spanId)
  const isInner = (span: ReceivedSpan | undefined) =>
    own !== undefined &&
    span?.process === own.process &&
    span.service === own.service &&
    span.kind !== 'server' &&
    span.kind !== 'consumer'
  const calls = new Map(parts.profiles.flatMap(listCalls))
  const toParent = (parentId: string | undefined) => {
    let id = parentId
    // A span of the application's own process: the work hangs below the nearest span that the profile shows.
    for (let step = 0; step < parts.spans.length && id !== undefined && !anchors.has(id); step++) {
      const span = received.get(id)
      if (!isInner(span)) break
      id = span?.parentId
    }
    return id === undefined ? undefined : (calls.get(id) ?? id)
  }
  const requests = new Map(parts.profiles.map(toRequestNode).map(node => [node.id, node]))
  const isShown = (span: ReceivedSpan) => !anchors.has(span.spanId) && !requests.has(span.spanId) && !isInner(span)
  const nodes = [...requests.values(), ...parts.spans.filter(isShown).map(toSpanNode)].sort((a, b) => a.start - b.start)
  const children = groupBy(nodes, ({ parentId }) => toParent(parentId))
  const inner: TraceNode[] = []
  for (const [id, holder] of anchors)
    inner.push(...hang(holder, children.get(id) ?? [], children, profile.summary.time))
  const byId = new Map(nodes.map(node => [node.id, node]))
  const callers = findCallers(parentSpanId, id => byId.get(toParent(id) ?? ''))
  inner.sort((a, b) => a.start - b.start)
  return { callers, inner, others: nodes.length - new Set([...inner, ...callers]).size }
}

/** The spans of the request that other services may name as their parents, by their ids. */
function findAnchors(root: TimelineSpan, spanId: string): Map<string, TimelineSpan> {
  const anchors = new Map<string, TimelineSpan>()
  const waiting = [root]
  for (let span = waiting.pop(); span !== undefined; span = waiting.pop()) {
    if (span.spanId !== '') anchors.set(span.spanId, span)
    waiting.push(...span.children)
  }
  if (spanId !== '') anchors.set(spanId, root)
  return anchors
}

/** The key `undefined` has the nodes whose parent is not known. */
type Children = ReadonlyMap<string | undefined, readonly TraceNode[]>

/** Puts nodes below a span, each with its children. Returns all of them. */
function hang(holder: TimelineSpan, nodes: readonly TraceNode[], children: Children, time: number): TraceNode[] {
  const hung: TraceNode[] = []
  for (const top of nodes) {
    const shift = findShift(top, holder, time)
    const waiting = [{ node: top, holder }]
    for (const { holder, node } of waiting) {
      const start = node.start + shift
      const span = createSpan(
        { name: node.name, category: 'service', periods: [{ start, duration: node.end - node.start }] },
        { link: node.link, note: node.service || 'this application', problem: node.hasFailed ? 'failed' : '' },
      )
      holder.children.push(span)
      hung.push(node)
      for (const child of children.get(node.id) ?? []) waiting.push({ node: child, holder: span })
    }
  }
  return hung
}

/**
 * Microseconds to add to the time of a part of the trace, which has the clock of its own process. Where it would begin
 * before the call that caused it, or end after it, it is moved into the call.
 */
function findShift({ end, start }: TraceNode, { periods: [period] }: TimelineSpan, time: number): number {
  const offset = -time * 1000
  if (period === undefined) return offset
  const early = period.start - (start + offset)
  if (early > 0) return offset + early
  const late = end + offset - (period.start + period.duration)
  return offset - Math.max(0, Math.min(late, -early))
}

/** The spans above the request: they are those of its callers. A trace may be damaged, so the number of steps is limited. */
function findCallers(
  parentId: string | undefined,
  find: (id: string | undefined) => TraceNode | undefined,
): TraceNode[] {
  const callers: TraceNode[] = []
  for (let node = find(parentId); node !== undefined && !callers.includes(node); node = find(node.parentId)) {
    callers.unshift(node)
    if (callers.length === callerLimit) break
  }
  return callers
}

/** The HTTP client calls of a request, by the ids of spans that they sent, with the id of the request. */
function listCalls(profile: Profile): [call: string, request: string][] {
  const { id } = toRequestNode(profile)
  const calls = profile.collectors.http?.calls ?? []
  return calls.flatMap(({ spanId }): [string, string][] => (spanId === undefined ? [] : [[spanId, id]]))
}

function toSpanNode(span: ReceivedSpan): TraceNode {
  const { end, error, name, parentId, service, spanId, start } = span
  const link = `#span-${spanId}`
  return {
    id: spanId,
    parentId,
    name,
    service: service || 'unknown',
    start,
    end,
    hasFailed: error !== undefined,
    link,
    span,
  }
}

function toRequestNode({ collectors: { request }, summary }: Profile): TraceNode {
  const { duration, method, outcome, status, time, token, url } = summary
  return {
    id: request?.spanId ?? token,
    parentId: request?.parentSpanId,
    name: `${method} ${toTarget(url)}`,
    service: '',
    start: time * 1000,
    end: (time + duration) * 1000,
    hasFailed: status >= 500 || outcome === 'stream-failed',
    link: profileLink(token, 'time'),
  }
}
