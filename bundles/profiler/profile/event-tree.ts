import { type ListenerData, SpanFlag, type SpanRow } from './event-data.ts'
import { oncePerProfile } from './once-per-profile.ts'
import type { Profile } from './profile.ts'

/** A dispatch, the call of a listener, or a sub-request. Times are microseconds since the request began. */
export interface EventNode {
  /** The index among the recorded spans. */
  readonly index: number
  readonly kind: 'dispatch' | 'call' | 'request'
  /** The event; the listener; the token of the sub-request. */
  readonly name: string
  readonly start: number
  /** `undefined` when the span has not ended. */
  readonly duration: number | undefined
  /** The priority of a listener. */
  readonly priority: number
  readonly isStopped: boolean
  readonly hasThrown: boolean
  /** What a call has changed; the listeners that a dispatch has skipped. */
  readonly details: readonly string[]
  /** Of a dispatch: the changes just before it that the controller or the kernel made. */
  readonly before: readonly string[]
  readonly parent: EventNode | undefined
  /** In the order in which they began. */
  readonly children: readonly EventNode[]
}

/** The dispatches of a request, read from its profile. */
export interface EventTree {
  /** The nodes without a parent, in the order in which they began. */
  readonly roots: readonly EventNode[]
  /** All nodes, in the order in which they began. */
  readonly nodes: readonly EventNode[]
  /** How many dispatches and sub-requests were not recorded, because there were too many. */
  readonly dropped: number
}

/** No trace has more rows. */
const rowLimit = 5000

/** Reads the event tree of a profile; an empty tree if there is none. Damaged rows are left out. */
export const readEventTree: (profile: Profile) => EventTree = oncePerProfile(collectors => {
  const { dropped = 0, spans = [] } = collectors.events ?? {}
  const byIndex: (GrowingNode | undefined)[] = []
  let lastDispatch: GrowingNode | undefined
  for (const row of spans.slice(0, rowLimit)) {
    const node = row === null ? undefined : toNode(row, byIndex, lastDispatch)
    byIndex.push(node)
    if (node?.kind === 'dispatch') lastDispatch = node
  }
  const nodes = byIndex.filter(node => node !== undefined)
  return { roots: nodes.filter(({ parent }) => parent === undefined), nodes, dropped }
})

/** The time of a span outside of its children, in microseconds. */
export function ownTime({ children, duration = 0, start }: EventNode): number {
  return duration - coveredTime(children, start, start + duration)
}

/** The time between two moments during which a span ran; overlapping spans count once. */
export function coveredTime(spans: readonly EventNode[], from: number, until: number): number {
  let covered = 0
  let end = from
  for (const span of spans) {
    const spanEnd = Math.min(span.start + (span.duration ?? 0), until)
    if (spanEnd <= end) continue
    covered += spanEnd - Math.max(span.start, end)
    end = spanEnd
  }
  return covered
}

interface GrowingNode extends EventNode {
  readonly parent: GrowingNode | undefined
  readonly children: GrowingNode[]
}

function toNode(
  [mark, name, start, duration, parentIndex, flags = 0, details = [], before = []]: SpanRow,
  above: readonly (GrowingNode | undefined)[],
  lastDispatch: GrowingNode | undefined,
): GrowingNode | undefined {
  const kind = mark === null ? 'dispatch' : mark === 'request' ? 'request' : 'call'
  const isCall = kind === 'call'
  const byDefault = isCall ? lastDispatch : undefined
  const named = parentIndex === undefined ? byDefault : above[parentIndex]
  const parent = named?.kind === (isCall ? 'dispatch' : 'call') ? named : undefined
  // A call belongs to a dispatch; everything else may be a root.
  if (isCall && parent === undefined) return undefined
  const node: GrowingNode = {
    index: above.length,
    kind,
    name,
    start,
    duration: duration ?? undefined,
    priority: isCall ? Number(mark) : 0,
    isStopped: (flags & SpanFlag.Stopped) !== 0,
    hasThrown: (flags & SpanFlag.Threw) !== 0,
    details,
    before,
    parent,
    children: [],
  }
  parent?.children.push(node)
  return node
}

/** The place where a listener was registered, mostly in the file that contains it; `undefined` if it is not known. */
export function findSite(node: EventNode, profile: Profile): string | undefined {
  return findListener(node, profile)?.site
}

/** The bundle of this package that has registered a listener; `undefined` for a listener of the application. */
export function findBundle(node: EventNode, profile: Profile): string | undefined {
  return findListener(node, profile)?.bundle
}

function findListener({ name, parent, priority }: EventNode, { process }: Profile): ListenerData | undefined {
  return process.events?.listeners.find(
    other => other.name === name && other.event === parent?.name && other.priority === priority,
  )
}
