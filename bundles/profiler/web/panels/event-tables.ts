import { isKernelDispatch, type OutlineNode, walkOutline } from '../../profile/event-outline.ts'
import type { EventNode, EventTree } from '../../profile/event-tree.ts'
import { formatMicroseconds } from '../../profile/format.ts'
import { groupBy } from '../../profile/group-by.ts'
import { asList, asNumber, asObject, asText } from '../../profile/read-soft.ts'
import type { JsonObject } from '../../profile/schema.ts'

/** A listener that was called in a pass. */
export interface CalledListener {
  readonly event: string
  readonly priority: string
  readonly name: string
  readonly calls: string
  /** Of all calls together. */
  readonly duration: string
  /** Where it was registered: file and line; empty when that is not known. */
  readonly site: string
}

/** A listener that was not called in a pass, though it could have been. */
export interface UncalledListener {
  readonly event: string
  readonly priority: string
  readonly name: string
  readonly reason: string
  /** Where it was registered: file and line; empty when that is not known. */
  readonly site: string
}

/** Who was called and who was not, by the event tree and by what is known of all listeners. */
export interface ListenerTables {
  /** In the order of their first calls. */
  readonly called: readonly CalledListener[]
  readonly notCalled: readonly UncalledListener[]
  /** Events that were dispatched though nobody listens to them. */
  readonly orphaned: readonly { readonly event: string; readonly times: string }[]
  /** Where listeners were registered, by {@link keyOfListener}; those that are not known are absent. */
  readonly sites: ReadonlyMap<string, string>
}

/** Derives who was called, who was not and why, and which events nobody listens to. */
export function summarizeListeners({ nodes }: EventTree, facts: JsonObject): ListenerTables {
  const dispatches = nodes.filter(({ kind }) => kind === 'dispatch')
  const orphaned = dispatches.filter(({ children, details }) => children.length === 0 && details.length === 0)
  const listeners = readListeners(facts)
  const sites = new Map(listeners.filter(({ site }) => site !== '').map(known => [keyOfListener(known), known.site]))
  return {
    sites,
    called: findCalled(dispatches, sites),
    notCalled: findUncalled(dispatches, listeners),
    orphaned: [...groupBy(orphaned, ({ name }) => name)].map(([event, { length }]) => ({
      event,
      times: String(length),
    })),
  }
}

interface KnownListener {
  readonly event: string
  readonly name: string
  readonly priority: number
  readonly site: string
}

function readListeners(facts: JsonObject): KnownListener[] {
  return asList(asObject(asObject(facts).events).listeners)
    .map(asObject)
    .map(({ event, name, priority, site }) => ({
      event: asText(event),
      name: asText(name),
      priority: asNumber(priority),
      site: asText(site),
    }))
}

function findCalled(dispatches: readonly EventNode[], sites: ListenerTables['sites']): CalledListener[] {
  const calls = dispatches.flatMap(({ children, name }) => children.map(call => ({ ...call, event: name })))
  return [...groupBy(calls, keyOfListener).values()].flatMap(group => {
    const duration = group.reduce((sum, { duration = 0 }) => sum + duration, 0)
    return group.slice(0, 1).map(({ event, name, priority }) => ({
      event,
      priority: String(priority),
      name,
      site: sites.get(keyOfListener({ event, name, priority })) ?? '',
      calls: String(group.length),
      duration: formatMicroseconds(duration),
    }))
  })
}

function findUncalled(dispatches: readonly EventNode[], listeners: readonly KnownListener[]): UncalledListener[] {
  // Functions may share their names: of two that are called `anonymous`, one call is not both.
  const called = new Map<string, number>()
  for (const { children, name } of dispatches) {
    for (const [key, { length }] of groupBy(children, call => keyOfListener({ ...call, event: name }))) {
      called.set(key, Math.max(length, called.get(key) ?? 0))
    }
  }
  return listeners.flatMap(listener => {
    const { event, name, priority, site } = listener
    const key = keyOfListener(listener)
    const times = called.get(key) ?? 0
    called.set(key, times - 1)
    return times > 0 ? [] : [{ event, priority: String(priority), name, site, reason: explain(listener, dispatches) }]
  })
}

function explain({ event, name }: KnownListener, dispatches: readonly EventNode[]): string {
  const own = dispatches.filter(dispatch => dispatch.name === event)
  const last = own.find(({ details }) => details.includes(name))?.children.at(-1)
  if (last !== undefined) return `skipped: ${last.name} ${last.hasThrown ? 'threw' : 'stopped propagation'}`
  return own.length === 0 ? 'the event was not dispatched' : ''
}

/** Functions may share their names: what tells a listener from most others. */
export function keyOfListener({ event, name, priority }: Omit<KnownListener, 'site'>): string {
  return JSON.stringify([event, name, priority])
}

/** A line of a folded outline: as it happened, or several alike in one. */
export interface FoldedNode {
  /** What is shown; of several alike the first. */
  readonly node: OutlineNode
  /** How many alike it stands for; 1 for itself. */
  readonly times: number
  /** Of all that it stands for. */
  readonly duration: number | undefined
  /** What it stands for, if it is several; else what lies in it. */
  readonly children: readonly FoldedNode[]
  /** How many lines within are left out. */
  readonly left: number
}

/** An outline as there is room for it. */
export interface FoldedOutline {
  readonly nodes: readonly FoldedNode[]
  /** How many lines are left out. */
  readonly left: number
}

/** Fewer in a row are shown one by one. */
const leastAlike = 3

/** Microseconds below which several alike are one line. */
const shortDuration = 1000

/** Deeper than this nobody follows, and no browser nests; it is shown as if it lay less deep. */
const depthLimit = 24

/**
 * Puts dispatches in a row that are alike, short and of no consequence into one line, and keeps to a number of lines:
 * what the kernel does, what has changed something, was stopped or has thrown comes first; then what took longest.
 */
export function foldOutline(outline: readonly OutlineNode[], limit: number): FoldedOutline {
  const all = [...walkOutline(outline)]
  const kept = all.length <= limit ? new Set(all) : chooseLines(all, limit)
  return { nodes: fold(outline, kept, findQuiet(all), 0), left: all.length - kept.size }
}

/** With each line those that it lies in. */
function chooseLines(all: readonly OutlineNode[], limit: number): Set<OutlineNode> {
  const parents = new Map(all.flatMap(node => node.children.map(child => [child, node] as const)))
  const kept = new Set<OutlineNode>()
  const byWeight = all.toSorted((a, b) => weightOf(b) - weightOf(a) || durationOf(b) - durationOf(a))
  for (const node of byWeight) {
    const chain: OutlineNode[] = []
    for (let at: OutlineNode | undefined = node; at !== undefined && !kept.has(at); at = parents.get(at)) chain.push(at)
    if (kept.size + chain.length <= limit) for (const line of chain) kept.add(line)
  }
  return kept
}

function weightOf(node: OutlineNode): number {
  const { changes, hasThrown, isStopped, kind } = node
  if (kind === 'controller' || isKernelDispatch(node)) return 2
  return hasThrown || isStopped || changes.length > 0 ? 1 : 0
}

function durationOf({ duration = 0 }: OutlineNode): number {
  return duration
}

/** What is over soon and has, with all that lies in it, done nothing that anybody would look for. */
function findQuiet(all: readonly OutlineNode[]): Set<OutlineNode> {
  const quiet = new Set<OutlineNode>()
  for (const node of all.toReversed()) {
    const { changes, children, duration = Infinity, hasThrown, isStopped, kind } = node
    const isQuiet = duration < shortDuration && changes.length === 0 && !hasThrown && !isStopped && kind !== 'request'
    if (isQuiet && children.every(child => quiet.has(child))) quiet.add(node)
  }
  return quiet
}

function fold(
  nodes: readonly OutlineNode[],
  kept: ReadonlySet<OutlineNode>,
  quiet: ReadonlySet<OutlineNode>,
  depth: number,
): FoldedNode[] {
  const toFolded = (node: OutlineNode): FoldedNode => {
    const inside = depth < depthLimit ? node.children : depth === depthLimit ? [...walkOutline(node.children)] : []
    const left = inside.filter(child => !kept.has(child)).length
    return { node, times: 1, duration: node.duration, children: fold(inside, kept, quiet, depth + 1), left }
  }
  return findRuns(nodes, quiet).flatMap(run => {
    const shown = run.filter(node => kept.has(node)).map(toFolded)
    const [node] = run
    if (run.length < leastAlike || node === undefined || shown.length === 0) return shown
    const duration = run.reduce((sum, line) => sum + durationOf(line), 0)
    return [{ node, times: run.length, duration, children: shown, left: run.length - shown.length }]
  })
}

/** Cuts a list into runs of what is alike. */
function findRuns(nodes: readonly OutlineNode[], quiet: ReadonlySet<OutlineNode>): OutlineNode[][] {
  const runs: OutlineNode[][] = []
  let last = ''
  for (const node of nodes) {
    const key = node.kind === 'dispatch' && quiet.has(node) ? keyOf(node) : ''
    const run = runs.at(-1)
    if (key !== '' && key === last && run !== undefined) run.push(node)
    else runs.push([node])
    last = key
  }
  return runs
}

/** An event without a name is told by its listeners. */
function keyOf({ children, name }: OutlineNode): string {
  return JSON.stringify([name, ...children.map(child => child.name)])
}
