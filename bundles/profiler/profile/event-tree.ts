import type { Profile } from './profile.ts'
import { asList, asNumber, asObject, asText } from './read-soft.ts'

/** How a span ended, as bits: its event was stopped; an error was thrown. */
export const SpanFlag = { Stopped: 1, Threw: 2 } as const

/**
 * One span of an event trace as it is kept: an array, and short, because dozens of them are written for every request.
 * Times are whole microseconds since the pass began. What stands at the end is left out where it says nothing.
 */
export type SpanRow = [
  /** `null` for a dispatch; for a call, the listener's priority; `request` for a sub-request that was handled meanwhile. */
  mark: null | number | 'request',
  /** The event; the listener; the token of the sub-request. */
  name: string,
  start: number,
  /** `null` while it is not over. */
  duration: number | null,
  /**
   * The index of the row that this one lies in: for a call its dispatch, the nearest one above unless told else; for
   * the others the call that they were made in, none (-1) unless told else.
   */
  parent?: number,
  /** Bits of {@link SpanFlag}. */
  flags?: number,
  /** What a call has changed, such as `set header etag`; the listeners that a dispatch has skipped. */
  details?: readonly string[],
  /** What was changed just before a dispatch by no listener: by the controller, or by the kernel itself. */
  before?: readonly string[],
]

/** A dispatch, the call of a listener, or a sub-request. Times are microseconds since the pass began. */
export interface EventNode {
  /** Its place among the recorded spans. */
  readonly index: number
  readonly kind: 'dispatch' | 'call' | 'request'
  /** The event; the listener; the token of the sub-request. */
  readonly name: string
  readonly start: number
  /** `undefined` of what was not over. */
  readonly duration: number | undefined
  /** Of a listener. */
  readonly priority: number
  readonly isStopped: boolean
  readonly hasThrown: boolean
  /** What a call has changed; the listeners that a dispatch has skipped. */
  readonly details: readonly string[]
  /** Of a dispatch: what was changed just before it by no listener. */
  readonly before: readonly string[]
  readonly parent: EventNode | undefined
  /** In the order in which they began. */
  readonly children: readonly EventNode[]
}

/** What was dispatched in a pass, as it is kept in its profile. */
export interface EventTree {
  /** What lies in nothing else, in the order in which it began. */
  readonly roots: readonly EventNode[]
  /** Everything, in the order in which it began. */
  readonly nodes: readonly EventNode[]
  /** How many dispatches and sub-requests were not recorded, because there were too many. */
  readonly dropped: number
}

/** No trace has more rows; who does has been meddled with. */
const rowLimit = 5000

/** Reads the event tree of a profile: an empty one where there is none; rows that make no sense are left out. */
export function readEventTree({ data }: Profile): EventTree {
  const { dropped, spans } = asObject(asObject(data).events)
  const byIndex: (GrowingNode | undefined)[] = []
  let lastDispatch: GrowingNode | undefined
  for (const row of asList(spans).slice(0, rowLimit)) {
    const node = readRow(asList(row), byIndex, lastDispatch)
    byIndex.push(node)
    if (node?.kind === 'dispatch') lastDispatch = node
  }
  const nodes = byIndex.filter(node => node !== undefined)
  return { roots: nodes.filter(({ parent }) => parent === undefined), nodes, dropped: asNumber(dropped) }
}

/** The time of a span that none of what lies in it accounts for, in microseconds. */
export function ownTime({ children, duration = 0, start }: EventNode): number {
  return duration - coveredTime(children, start, start + duration)
}

/** The time between two moments that spans account for; where they overlap it counts once. */
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

function readRow(
  [mark, name, start, duration, parentIndex, flags, details, before]: readonly unknown[],
  above: readonly (GrowingNode | undefined)[],
  lastDispatch: GrowingNode | undefined,
): GrowingNode | undefined {
  const kind = kindOf(mark)
  if (kind === undefined || typeof name !== 'string') return undefined
  const isCall = kind === 'call'
  const told = typeof parentIndex === 'number' ? above[parentIndex] : isCall ? lastDispatch : undefined
  const parent = told?.kind === (isCall ? 'dispatch' : 'call') ? told : undefined
  // What can lie in nothing cannot be shown; whatever else lies in nothing is where the tree begins.
  if (isCall && parent === undefined) return undefined
  const node: GrowingNode = {
    index: above.length,
    kind,
    name,
    start: Math.max(0, asNumber(start)),
    duration: typeof duration === 'number' ? Math.max(0, asNumber(duration)) : undefined,
    priority: asNumber(mark),
    isStopped: (asNumber(flags) & SpanFlag.Stopped) !== 0,
    hasThrown: (asNumber(flags) & SpanFlag.Threw) !== 0,
    details: asList(details).map(asText),
    before: asList(before).map(asText),
    parent,
    children: [],
  }
  parent?.children.push(node)
  return node
}

function kindOf(mark: unknown): EventNode['kind'] | undefined {
  if (mark === null) return 'dispatch'
  if (mark === 'request') return 'request'
  return typeof mark === 'number' ? 'call' : undefined
}
