import { groupBy } from './group-by.ts'
import { oncePerProfile, type Profile } from './profile.ts'
import type { ListenerData, OldHeaderRow } from './span-data.ts'
import { SpanFlag, type SpanRow } from './span-rows.ts'
import { joinPeriods, type Period, subtractPeriods, totalOf } from './work.ts'

/** A dispatch, the call of a listener, or a sub-request. Times are microseconds since the request began. */
export interface EventNode {
  /** The index among the recorded spans. */
  readonly index: number
  readonly kind: 'dispatch' | 'call' | 'request'
  /** Whether it is a phase of another framework, or the call of a function by it: it has no event, or no listener. */
  readonly isOfFramework: boolean
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
  /** The headers among these changes that were changed or removed, with their values before. */
  readonly oldHeaders: readonly OldHeaderRow[]
  /** Where the function of a framework was registered: file and line; `undefined` for a listener. */
  readonly place: string | undefined
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
  /** Whether another server has answered the request: all calls are those of a framework's functions. */
  readonly isOfServer: boolean
}

/** A trace has at most as many rows. */
const rowLimit = 5000

/** Reads the event tree of a profile; an empty tree if there is none. Damaged rows are left out. */
export const readEventTree: (profile: Profile) => EventTree = oncePerProfile(collectors => {
  const { dropped = 0, oldHeaders = [], places, spans = [] } = collectors.events ?? {}
  const placesByIndex = new Map(places)
  const oldByIndex = groupBy(oldHeaders, ([span]) => span)
  const byIndex: (GrowingNode | undefined)[] = []
  let lastDispatch: GrowingNode | undefined
  for (const row of spans.slice(0, rowLimit)) {
    const node = row === null ? undefined : toNode(row, byIndex, lastDispatch, placesByIndex, oldByIndex)
    byIndex.push(node)
    if (node?.kind === 'dispatch' && !node.isOfFramework) lastDispatch = node
  }
  const nodes = byIndex.filter(node => node !== undefined)
  const roots = nodes.filter(({ parent }) => parent === undefined)
  return { roots, nodes, dropped, isOfServer: places !== undefined && !roots.some(isKernelDispatch) }
})

/**
 * The time of a span outside of its children and of delays, in microseconds; overlapping children count once.
 * `more` are times of it that are not between its start and its end. Delays and `more` are in milliseconds.
 */
export function ownTime(
  { children, duration = 0, start }: EventNode,
  delays: readonly Period[] = [],
  more: readonly Period[] = [],
): number {
  const own = [{ start, duration }, ...more.map(toMicroseconds)]
  const others = [
    ...children.map(child => ({ start: child.start, duration: child.duration ?? 0 })),
    ...delays.map(toMicroseconds),
  ]
  return totalOf(subtractPeriods(joinPeriods(own), joinPeriods(others)))
}

function toMicroseconds({ duration, start }: Period): Period {
  return { start: start * 1000, duration: duration * 1000 }
}

interface GrowingNode extends EventNode {
  readonly parent: GrowingNode | undefined
  readonly children: GrowingNode[]
}

function toNode(
  [mark, name, start, duration, parentIndex, flags = 0, details = [], before = []]: SpanRow,
  above: readonly (GrowingNode | undefined)[],
  lastDispatch: GrowingNode | undefined,
  places: ReadonlyMap<number, string>,
  oldHeaders: ReadonlyMap<number, readonly OldHeaderRow[]>,
): GrowingNode | undefined {
  const kind = mark === null || mark === 'phase' ? 'dispatch' : mark === 'request' ? 'request' : 'call'
  const isCall = kind === 'call'
  const byDefault = isCall ? lastDispatch : undefined
  const named = parentIndex === undefined ? byDefault : above[parentIndex]
  const parent = named?.kind === (isCall ? 'dispatch' : 'call') ? named : undefined
  // A call belongs to a dispatch; everything else may be a root.
  if (isCall && parent === undefined) return undefined
  const node: GrowingNode = {
    index: above.length,
    kind,
    isOfFramework: mark === 'phase' || mark === 'function',
    name,
    start,
    duration: duration ?? undefined,
    priority: typeof mark === 'number' ? mark : 0,
    isStopped: (flags & SpanFlag.Stopped) !== 0,
    hasThrown: (flags & SpanFlag.Threw) !== 0,
    details,
    before,
    oldHeaders: oldHeaders.get(above.length) ?? [],
    place: places.get(above.length),
    parent,
    children: [],
  }
  parent?.children.push(node)
  return node
}

/** The place where a listener was registered, mostly in the file that contains it; `undefined` if it is not known. */
export function findSite(node: EventNode, profile: Profile): string | undefined {
  return node.place ?? findListener(node, profile)?.site
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

/** A line of the outline of a request. Times are microseconds since it began. */
export interface OutlineNode
  extends Pick<EventNode, 'duration' | 'hasThrown' | 'isStopped' | 'name' | 'place' | 'start'> {
  readonly kind: EventNode['kind'] | 'controller'
  /** The id of its row in the events panel. */
  readonly anchor: string
  /** The priority of a listener; the function of a framework has none. */
  readonly priority: number | undefined
  /** The listeners that were not called: this one has stopped the event or thrown. */
  readonly skipped: readonly string[]
  /** What it has changed; of a dispatch, what the kernel has changed just before. */
  readonly changes: ListenerChange[]
  readonly children: OutlineNode[]
}

/**
 * Lists what happened in a request, in its order: the event tree, and the controller, which stands
 * for the gap between the kernel's events, with what it has dispatched itself.
 */
export function outlineEvents({ nodes, roots }: EventTree, controller: string): OutlineNode[] {
  const lines = new Map<EventNode, OutlineNode>()
  // Parents come before their children; trees from the disk may be of any depth, so nothing here is recursive.
  for (const node of nodes) {
    const line = toLine(node)
    lines.set(node, line)
    if (node.parent !== undefined) lines.get(node.parent)?.children.push(line)
  }
  const controllers = findKernelGaps(roots).filter(({ name }) => name === 'controller')
  const outline: OutlineNode[] = []
  let current: OutlineNode | undefined
  for (const root of roots) {
    const line = lines.get(root) as OutlineNode
    current?.changes.push(...line.changes.splice(0))
    if (isKernelDispatch(root)) current = undefined
    const place = current === undefined ? outline : current.children
    place.push(line)
    const gap = controllers.find(({ after }) => after === root)
    if (gap === undefined) continue
    current = createController(gap, controller)
    outline.push(current)
  }
  return outline
}

/** All lines of an outline, each before its children. */
export function* walkOutline(nodes: readonly OutlineNode[]): Generator<OutlineNode> {
  const waiting = nodes.toReversed()
  for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
    yield node
    for (let at = node.children.length - 1; at >= 0; at--) waiting.push(node.children[at] as OutlineNode)
  }
}

function toLine(node: EventNode): OutlineNode {
  const { before, details, index, isOfFramework, oldHeaders, priority } = node
  const isCall = node.kind === 'call'
  return {
    ...node,
    anchor: `span-${index}`,
    priority: isCall && !isOfFramework ? priority : undefined,
    // The call that stopped the event or threw shows this, and not its dispatch.
    isStopped: isCall && node.isStopped,
    hasThrown: isCall && node.hasThrown,
    skipped: skippedBy(node),
    changes: parseChanges(isCall ? details : before, oldHeaders),
    children: [],
  }
}

/**
 * The skipped listeners. An event that was stopped before its dispatch has no calls: its dispatch
 * has skipped all listeners.
 */
function skippedBy({ children, details, hasThrown, isStopped, kind, parent }: EventNode): readonly string[] {
  if (kind === 'dispatch') return children.length === 0 ? details : []
  return (isStopped || hasThrown ? parent?.details : undefined) ?? []
}

/** Creates the line of a controller: from the end of the kernel's event before it to the start of the one after it. */
function createController({ before, duration, start }: KernelGap, name: string): OutlineNode {
  return {
    kind: 'controller',
    anchor: 'controller',
    name,
    start,
    duration,
    priority: undefined,
    place: undefined,
    isStopped: false,
    hasThrown: before !== undefined && before.name !== 'kernel.view' && before.name !== 'kernel.response',
    skipped: [],
    changes: [],
    children: [],
  }
}

/** Something that was changed while a request was handled. */
export interface ListenerChange {
  /** `set`, `changed`, `removed` or `replaced`; empty for a change of an unknown form. */
  readonly verb: string
  /** `header`, `attribute`, `response`, `status` …; empty for a change of an unknown form. */
  readonly what: string
  /** The name of the header or of the attribute; empty for other changes. */
  readonly name: string
  /** The values before of a header that was changed or removed, each a line; `undefined` if they are not known. */
  readonly old?: string | undefined
}

const pattern =
  /^(set|changed|removed|replaced) (?:(header|attribute) (.*)|the (response|status|body|controller|error))$/s

/** Reads the changes of a span. A header that it changed twice has its values before twice, in their order. */
function parseChanges(texts: readonly string[], oldHeaders: readonly OldHeaderRow[]): ListenerChange[] {
  const left = [...oldHeaders]
  return texts.map(text => {
    const change = parseChange(text)
    const isLost = change.what === 'header' && change.verb !== 'set'
    const at = isLost ? left.findIndex(([, name]) => name === change.name) : -1
    const [old] = at === -1 ? [] : left.splice(at, 1)
    return old === undefined ? change : { ...change, old: old[2] }
  })
}

/** Reads a change as it was recorded: `set header etag`, `replaced the response`. */
function parseChange(text: string): ListenerChange {
  const [, verb = '', named, name = '', other = ''] = pattern.exec(text) ?? []
  return verb === '' ? { verb: '', what: '', name: text } : { verb, what: named ?? other, name }
}

/** The work between two events of the kernel. Times are microseconds since the request began. */
export interface KernelGap {
  readonly name: 'controller.get_callable' | 'controller.get_arguments' | 'controller' | 'response.send'
  /** The event before it. */
  readonly after: EventNode
  /** The event after it; `undefined` if the work had not ended. */
  readonly before: EventNode | undefined
  readonly start: number
  /** `undefined` if the work had not ended. */
  readonly duration: number | undefined
}

const names: ReadonlyMap<string, KernelGap['name']> = new Map([
  ['kernel.request kernel.controller', 'controller.get_callable'],
  ['kernel.controller kernel.controller_arguments', 'controller.get_arguments'],
  ['kernel.finish_request kernel.terminate', 'response.send'],
])

/**
 * Finds the work between the events of the kernel, in their order. The controller runs after the
 * event of its arguments.
 */
export function findKernelGaps(roots: readonly EventNode[]): KernelGap[] {
  const events = roots.filter(isKernelDispatch)
  return events.flatMap((after, at) => {
    const before = events[at + 1]
    const isController = after.name === 'kernel.controller_arguments' && !after.hasThrown
    const name = isController ? 'controller' : names.get(`${after.name} ${before?.name}`)
    if (name === undefined || after.duration === undefined) return []
    const start = after.start + after.duration
    return [{ name, after, before, start, duration: before && Math.max(0, before.start - start) }]
  })
}

/** The microseconds of each controller of a request. A controller that had not ended counts until the time `until`. */
export function controllerTimes(roots: readonly EventNode[], until: number): number[] {
  return findKernelGaps(roots)
    .filter(({ name }) => name === 'controller')
    .map(({ duration, start }) => duration ?? Math.max(0, until - start))
}

/** Whether it is one of the kernel's own events. */
export function isKernelDispatch({ kind, name }: Pick<EventNode, 'name'> & { readonly kind: string }): boolean {
  return kind === 'dispatch' && name.startsWith('kernel.')
}

/** Whether the kernel handled a request, and not another server of the process; also if no events were recorded. */
export function isOfKernel(profile: Profile): boolean {
  return profile.collectors.events === undefined || readEventTree(profile).roots.some(isKernelDispatch)
}

/** The word for what has answered a request: other servers have no controllers. */
export function nameHandler(profile: Profile): string {
  return isOfKernel(profile) ? 'Controller' : 'Handler'
}

/**
 * The milliseconds until the response was ready to be sent: until the last `kernel.finish_request` was over. The rest
 * of the total is spent on sending. Another server sends a stream after its last function. Otherwise it is the total.
 */
export function readHandledTime(profile: Profile): number {
  const { duration: total } = profile.summary
  const { isOfServer, nodes, roots } = readEventTree(profile)
  if (isOfServer && profile.collectors.response?.isStreamed === true) {
    const ends = nodes.filter(({ kind }) => kind === 'call').map(({ duration = Infinity, start }) => start + duration)
    return Math.min(total, Math.max(0, ...ends) / 1000)
  }
  const finish = roots.findLast(({ name }) => name === 'kernel.finish_request')
  return finish?.duration === undefined ? total : Math.min(total, (finish.start + finish.duration) / 1000)
}
