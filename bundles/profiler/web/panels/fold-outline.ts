import { isKernelDispatch, type OutlineNode, walkOutline } from '../../profile/event-outline.ts'

/** A line of a folded outline: one node, or several similar nodes. */
export interface FoldedNode {
  /** The node, or the first of several equal nodes. */
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

/** An outline with a limited number of lines. */
interface FoldedOutline {
  readonly nodes: readonly FoldedNode[]
  /** How many lines are left out. */
  readonly left: number
}

/** Fewer similar nodes in a row are not folded. */
const leastAlike = 3

/** Microseconds: longer nodes are not folded. */
const shortDuration = 1000

/** Deeper lines are shown at this depth, because browsers limit the depth of HTML. */
const depthLimit = 24

/**
 * Folds an outline into a limited number of lines. Similar dispatches in a row that are short and without effects become one
 * line. The steps of the kernel are kept first, then nodes that changed something, stopped or threw, then the longest.
 */
export function foldOutline(outline: readonly OutlineNode[], limit: number): FoldedOutline {
  const all = [...walkOutline(outline)]
  const kept = all.length <= limit ? new Set(all) : chooseLines(all, limit)
  return { nodes: fold(outline, kept, findQuiet(all), 0), left: all.length - kept.size }
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

/** Splits a list into runs of similar nodes. */
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

/** An event without a name is identified by its listeners. */
function keyOf({ children, name }: OutlineNode): string {
  return JSON.stringify([name, ...children.map(child => child.name)])
}
