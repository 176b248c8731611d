import { packageName } from '../../../../lib/package.ts'
import { markdownDepth, toSpan, writeRest } from '../../export/markdown-text.ts'
import { type FindOwnTime, readOwnTimes } from '../../insight/timeline/request-spans.ts'
import type { EditorLinks, PlaceView } from '../../panels/editor-links.ts'
import { toBar } from '../../panels/parts.ts'
import type { PanelModel, SubjectView } from '../../panels/subject-view.ts'
import { rowId } from '../../panels/value-origins.ts'
import {
  type EventNode,
  type EventTree,
  isKernelDispatch,
  type ListenerChange,
  type OutlineNode,
  outlineEvents,
  readEventTree,
  readHandledTime,
  walkOutline,
} from '../../profile/event-tree.ts'
import { formatMicroseconds } from '../../profile/format.ts'
import { describeSubRequest, profileLink } from '../../profile/links.ts'
import type { Profile, ProfileSummary } from '../../profile/profile.ts'
import { keyOfListener, summarizeListeners } from './read.ts'

/** The rows of a page; a link shows all of them. */
const rowLimit = 75

/** The event tree: the dispatched events, their listeners with their times, and what these changed. */
export const eventsView: SubjectView = {
  name: 'events',
  label: 'Events',
  template: 'profiler/panels/events',
  hasContent: ({ profile }) => readEventTree(profile).nodes.length > 0,

  toView({ children, profile, query }, { editor }) {
    const { controller, token } = profile.summary
    const tree = readEventTree(profile)
    const tables = summarizeListeners(tree, profile)
    const { calls = [], dispatches = [] } = profile.collectors.events?.more ?? {}
    const isAll = query.get('spans') === 'all'
    const outline = outlineEvents(tree, controller ?? '')
    const { left, nodes } = foldOutline(outline, tables.ours, isAll ? Number.POSITIVE_INFINITY : rowLimit)
    const toView = createRowViewer({
      token,
      children,
      until: readHandledTime(profile) * 1000,
      thrown: readThrown(profile),
      sites: tables.sites,
      ours: tables.ours,
      findOwnTime: readOwnTimes(profile),
      editor,
    })
    return {
      isOfServer: tree.isOfServer,
      metrics: tree.isOfServer
        ? [{ name: 'Calls', value: String(countOf(tree, 'call', true) + tree.dropped) }]
        : [
            { name: 'Dispatched events', value: String(countOf(tree, 'dispatch', false) + sumOf(dispatches, 1)) },
            { name: 'Listener calls', value: String(countOf(tree, 'call', false) + sumOf(calls, 3)) },
            { name: 'Not called', value: String(tables.notCalled.length) },
            { name: 'Orphaned events', value: String(tables.orphaned.length) },
          ],
      nodes: nodes.map(toView),
      left,
      allLink: `${profileLink(token, 'events')}&spans=all`,
      dropped: tree.dropped,
      ...tables,
      called: tables.called.map(row => ({ ...row, site: viewText(row.site, editor) })),
      notCalled: tables.notCalled.map(row => ({ ...row, site: viewText(row.site, editor) })),
    }
  },

  toMarkdown({ profile }, limit) {
    const { dropped, isOfServer, nodes, roots } = readEventTree(profile)
    if (nodes.length === 0) return []
    const link = profileLink(profile.summary.token, 'events')
    const findOwnTime = readOwnTimes(profile)
    const ownTimeOf = ({ index, start }: EventNode) => findOwnTime(`${link}#span-${index}`, start)
    const lines = roots.flatMap(root => writeNode(root, 0, ownTimeOf))
    // A tree has more items than other lists.
    const room = 3 * limit
    const left = Math.max(0, nodes.length - Math.min(lines.length, room)) + dropped
    return [isOfServer ? '## Middleware' : '## Events', lines.slice(0, room).join('\n'), ...writeRest(left, 'listed')]
  },
}

function countOf({ nodes }: EventTree, kind: EventNode['kind'], isOfFramework: boolean): number {
  return nodes.filter(node => node.kind === kind && node.isOfFramework === isOfFramework).length
}

function sumOf(rows: readonly (readonly (number | string)[])[], column: number): number {
  return rows.reduce((sum, row) => sum + Number(row[column]), 0)
}

/**
 * The name of the only exception. Empty when there are several, because it is not recorded which
 * of them a listener threw.
 */
function readThrown({ collectors }: Profile): string {
  const [first, ...others] = collectors.exception?.exceptions ?? []
  return first === undefined || others.length > 0 ? '' : first.name
}

/** What the rows of an event tree need beside the tree. */
interface RowContext {
  /** The token of the profile. */
  readonly token: string
  /** The sub-requests whose profiles are stored. */
  readonly children: readonly ProfileSummary[]
  /** Microseconds until the request was handled: the width of all bars. */
  readonly until: number
  /** The name of the only exception; empty when there were several. */
  readonly thrown: string
  /** Where listeners were registered, by `keyOfListener`. */
  readonly sites: ReadonlyMap<string, string>
  /** The listeners of this package, by `keyOfListener`. */
  readonly ours: ReadonlySet<string>
  /** The own times are those of the timeline. */
  readonly findOwnTime: FindOwnTime
  readonly editor: EditorLinks
}

/** The view of the place of a listener, a controller or the controller of a sub-request; `false` if it is not known. */
function viewSite(node: OutlineNode, event: string, { children, editor, sites }: RowContext): PlaceView | false {
  const child = children.find(({ token }) => node.kind === 'request' && token === node.name)
  if (child !== undefined) return viewText(editor.findDefinition(child), editor)
  if (node.kind === 'controller') return viewText(editor.findController(node.name), editor)
  return node.kind === 'call' && viewText(node.place ?? sites.get(keyOfNode(node, event)), editor)
}

/** A place in this package is named by its file alone: its folders are of no use for the application. */
function viewText(site = '', editor: EditorLinks): PlaceView | false {
  return site.startsWith(`${packageName}/`) ? editor.viewFile(site) : site !== '' && editor.viewText(site)
}

/** Creates the function that makes a row of a line, with the rows within it. */
function createRowViewer(context: RowContext): (line: FoldedNode) => PanelModel {
  const exceptionLink = profileLink(context.token, 'exception')
  const requestLink = profileLink(context.token, 'request')
  const link = profileLink(context.token, 'events')
  const toView = (line: FoldedNode, event: string): PanelModel => {
    const { children, duration, left, node, times } = line
    const isGroup = times > 1
    const subRequest = node.kind === 'request' ? describeSubRequest(node, context.children) : undefined
    const isOurs = isGroup && node.kind === 'call'
    const name = isOurs ? `${times} listeners of the framework` : (subRequest?.name ?? node.name)
    const isOfFramework = node.kind === 'call' && context.ours.has(keyOfNode(node, event))
    const remark = isGroup ? '' : remarkOf(node)
    const site = !isOurs && viewSite(node, event, context)
    const own =
      isGroup || duration === undefined ? undefined : context.findOwnTime(`${link}#${node.anchor}`, node.start)
    const changes = isGroup ? [] : node.changes.map(change => toChip(change, requestLink))
    const isTroubled = !isGroup && (node.hasThrown || node.isStopped)
    return {
      id: isGroup ? '' : node.anchor,
      show: marksOf(line),
      isSoft: isOurs || isOfFramework,
      isCode: node.kind === 'call' && !isOurs,
      name: node.kind === 'controller' ? name || 'the controller' : name,
      times: isGroup && !isOurs ? `× ${times}` : '',
      token: subRequest?.token ?? '',
      tone: isTroubled ? (node.hasThrown ? 'error' : 'warning') : '',
      where: site === false ? '' : site.place.replace(/^.*\//s, ''),
      site,
      facts: [
        isOurs || node.priority === undefined ? noFact : { ...noFact, text: String(node.priority), title: 'Priority' },
        { text: duration === undefined ? '' : formatMicroseconds(duration) },
        own === undefined ? noFact : { ...noFact, text: formatMicroseconds(own), title: 'Own time' },
      ],
      bars: toBars(line, context.until),
      thrown: node.hasThrown ? `threw ${context.thrown || 'an error'}` : '',
      thrownLink: exceptionLink,
      isStopped: node.isStopped,
      skipped: node.skipped.join(', '),
      remark,
      by: node.kind === 'dispatch' && node.changes.length > 0 ? 'The kernel, before this event:' : '',
      changes,
      isPlain:
        children.length === 0 &&
        site === false &&
        !isTroubled &&
        subRequest === undefined &&
        node.skipped.length + changes.length === 0,
      isOpen: !isGroup && children.length > 0,
      children: children.map(child => toView(child, isGroup ? event : node.name)),
      left: left === 0 ? '' : String(left),
    }
  }
  return line => toView(line, '')
}

/** The words of a row, which the filters of the page select by. */
function marksOf({ duration = 0, node }: FoldedNode): string {
  const marks: string[] = []
  if (node.changes.length > 0) marks.push('changed')
  if (node.isStopped || node.hasThrown) marks.push('troubled')
  if (duration >= 100) marks.push('lasts-100us')
  if (duration >= 1000) marks.push('lasts-1ms')
  return marks.join(' ')
}

/** Its place in the time of the request, in the colour of the timeline; work after the response has no bar. */
function toBars({ duration, node }: FoldedNode, until: number): PanelModel[] {
  const kind = node.kind === 'dispatch' ? (isKernelDispatch(node) ? 'section' : 'event') : kindsOfBars[node.kind]
  if (duration === undefined || node.start >= until) return [{ kind, x: '0', width: '0' }]
  const end = Math.min(node.start + duration, until)
  return [{ kind, ...toBar({ start: node.start, duration: end - node.start }, { start: 0, duration: until }) }]
}

const kindsOfBars = { call: 'listener', controller: 'controller', request: 'request' } as const

/** A fact that is not known. */
const noFact = { text: '', isMinor: true }

function remarkOf({ children, duration, kind, skipped }: OutlineNode): string {
  if (duration === undefined) return 'not finished'
  return kind === 'dispatch' && children.length === 0 && skipped.length === 0 ? 'no listeners' : ''
}

/** Links to the header or attribute that was changed. */
function toChip({ name, verb, what }: ListenerChange, requestLink: string): PanelModel {
  const id = verb !== 'removed' && (what === 'header' || what === 'attribute') ? rowId(what, name) : ''
  return {
    action: what === '' ? '' : `${verb} ${what === 'header' || what === 'attribute' ? what : `the ${what}`}`,
    kind: what || 'plain',
    name,
    link: id === '' ? '' : `${requestLink}#${id}`,
  }
}

/** A line of a folded outline: one node, several similar dispatches, or several listeners of this package. */
interface FoldedNode {
  /** The node, or the first of several nodes. */
  readonly node: OutlineNode
  /** The number of nodes. */
  readonly times: number
  /** The duration of all nodes together. */
  readonly duration: number | undefined
  /** The nodes, if there are several; otherwise the lines within the node. */
  readonly children: readonly FoldedNode[]
  /** How many lines within it are left out. */
  readonly left: number
}

/** Fewer similar dispatches in a row are not folded. */
const leastAlike = 3

/** Fewer listeners of this package in a row are not folded. */
const leastOurs = 2

/** Microseconds: longer nodes are not folded. */
const shortDuration = 1000

/** Deeper lines are shown at this depth, because browsers limit the depth of HTML. */
const depthLimit = 24

/**
 * Folds an outline into a limited number of lines. Similar dispatches in a row that are short and without
 * effects become one line, and so do listeners of this package in a row: `ours` has their keys. The steps
 * of the kernel are kept first, then nodes that changed something, stopped or threw, then the longest.
 */
function foldOutline(outline: readonly OutlineNode[], ours: ReadonlySet<string>, limit: number) {
  const all = [...walkOutline(outline)]
  const kept = all.length <= limit ? new Set(all) : chooseLines(all, limit)
  const keys = new Map([...keysOfQuiet(all), ...keysOfOurs(all, ours)])
  return { nodes: fold(outline, kept, keys, 0), left: all.length - kept.size }
}

/** Each chosen line is kept with its parents. */
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

/** Nodes that are short and, with all nodes within them, without effects. */
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
  keys: ReadonlyMap<OutlineNode, string>,
  depth: number,
): FoldedNode[] {
  const toFolded = (node: OutlineNode): FoldedNode => {
    const inside = depth < depthLimit ? node.children : depth === depthLimit ? [...walkOutline(node.children)] : []
    const left = inside.filter(child => !kept.has(child)).length
    return { node, times: 1, duration: node.duration, children: fold(inside, kept, keys, depth + 1), left }
  }
  return findRuns(nodes, keys).flatMap(run => {
    const shown = run.filter(node => kept.has(node)).map(toFolded)
    const [node] = run
    const least = node?.kind === 'call' ? leastOurs : leastAlike
    if (run.length < least || node === undefined || shown.length === 0) return shown
    const duration = run.reduce((sum, line) => sum + durationOf(line), 0)
    return [{ node, times: run.length, duration, children: shown, left: run.length - shown.length }]
  })
}

/** Splits a list into runs of nodes with the same key; a node without a key is a run of its own. */
function findRuns(nodes: readonly OutlineNode[], keys: ReadonlyMap<OutlineNode, string>): OutlineNode[][] {
  const runs: OutlineNode[][] = []
  let last: string | undefined
  for (const node of nodes) {
    const key = keys.get(node)
    const run = runs.at(-1)
    if (key !== undefined && key === last && run !== undefined) run.push(node)
    else runs.push([node])
    last = key
  }
  return runs
}

/** The keys of quiet dispatches. An event without a name is identified by its listeners. */
function keysOfQuiet(all: readonly OutlineNode[]): [OutlineNode, string][] {
  return [...findQuiet(all)]
    .filter(({ kind }) => kind === 'dispatch')
    .map(node => [node, JSON.stringify([node.name, ...node.children.map(({ name }) => name)])])
}

/** The key of all short listeners of this package that called nothing, and neither stopped nor threw. */
function keysOfOurs(all: readonly OutlineNode[], ours: ReadonlySet<string>): [OutlineNode, string][] {
  return all.flatMap(({ children, kind, name: event }) =>
    kind === 'dispatch' ? children.filter(call => isFoldable(call, event, ours)).map(call => [call, '']) : [],
  )
}

function isFoldable(call: OutlineNode, event: string, ours: ReadonlySet<string>): boolean {
  const { children, duration = Infinity, hasThrown, isStopped } = call
  const isShort = duration < shortDuration && children.length === 0
  return isShort && !hasThrown && !isStopped && ours.has(keyOfNode(call, event))
}

function keyOfNode({ name, priority = 0 }: OutlineNode, event: string): string {
  return keyOfListener({ event, name, priority })
}

function writeNode(node: EventNode, depth: number, ownTimeOf: (node: EventNode) => number | undefined): string[] {
  if (depth === markdownDepth) return []
  const inner = node.children.flatMap(child => writeNode(child, depth + 1, ownTimeOf))
  return [`${'  '.repeat(depth)}- ${describe(node, ownTimeOf(node))}`, ...inner]
}

function describe(node: EventNode, ownTime: number | undefined): string {
  const { before, details, duration, hasThrown, isOfFramework, isStopped, kind, name, place, priority } = node
  const time = duration === undefined ? 'not finished' : formatMicroseconds(duration)
  const hasInner = duration !== undefined && ownTime !== undefined && ownTime !== duration
  const own = hasInner ? ` (own ${formatMicroseconds(ownTime)})` : ''
  const facts = [
    `${kind === 'request' ? 'sub-request ' : ''}${toSpan(name)} ${time}${own}`,
    ...(kind === 'call' && !isOfFramework ? [`priority ${priority}`] : []),
    ...(place === undefined ? [] : [`at ${toSpan(place)}`]),
    ...(isStopped ? ['stopped propagation'] : []),
    ...(hasThrown ? ['threw'] : []),
    ...(details.length === 0
      ? []
      : [`${kind === 'dispatch' ? 'skipped' : ''} ${details.map(toSpan).join(', ')}`.trim()]),
    ...(before.length === 0 ? [] : [`before it ${before.map(toSpan).join(', ')}`]),
  ]
  return facts.join('; ')
}
