import { type OutlineNode, walkOutline } from '../reading/event-outline.ts'
import { isKernelDispatch } from '../reading/kernel-gaps.ts'

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
