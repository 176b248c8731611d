import type { Profiler, Runtime } from 'node:inspector'
import { findSourceMap } from 'node:module'
import { fileURLToPath } from 'node:url'

/** A function as V8 names it. */
export type CalledFunction = Runtime.CallFrame

/** The samples of a call on one path from the root. Times are in microseconds. */
export interface CallNode {
  readonly called: CalledFunction
  /** Without the calls that it made. */
  self: number
  /** With the calls that it made. */
  total: number
  /** By the keys of the called functions. */
  readonly children: Map<string, CallNode>
}

/** A CPU profile as a tree, without the time in which the process waited. */
export interface CallTree {
  /** V8's `(root)`. */
  readonly root: CallNode
  readonly idle: number
  /** Samples per line (from 1, of the compiled code), for each function. */
  readonly ticks: ReadonlyMap<string, ReadonlyMap<number, number>>
}

/** The key of a function, equal for all its calls. */
export function keyOf({ columnNumber, functionName, lineNumber, url }: CalledFunction): string {
  return `${functionName}|${url}|${lineNumber}|${columnNumber}`
}

/**
 * Makes the tree of a CPU profile. Calls of one function by another are one node, also where V8 has several. Calls that
 * are left out by `isLeftOut` are missing together with the calls that they made.
 */
export function createCallTree(profile: Profiler.Profile, isLeftOut: (called: CalledFunction) => boolean): CallTree {
  const nodes = new Map(profile.nodes.map(node => [node.id, node]))
  const times = measure(profile)
  const ticks = new Map<string, Map<number, number>>()
  let idle = 0

  function take({ callFrame, children = [], id, positionTicks = [] }: Profiler.ProfileNode, into: CallNode): number {
    const own = times.get(id) ?? 0
    noteTicks(callFrame, positionTicks)
    let total = own
    for (const child of children) {
      const node = nodes.get(child)
      if (node !== undefined) total += add(node, into)
    }
    into.self += own
    into.total += total
    return total
  }

  function add(node: Profiler.ProfileNode, parent: CallNode): number {
    const { callFrame, id } = node
    if (callFrame.functionName === '(idle)') {
      idle += times.get(id) ?? 0
      return 0
    }
    if (isLeftOut(callFrame)) return 0
    const key = keyOf(callFrame)
    const merged = parent.children.get(key) ?? createNode(callFrame)
    parent.children.set(key, merged)
    return take(node, merged)
  }

  function noteTicks(called: CalledFunction, seen: readonly Profiler.PositionTickInfo[]): void {
    if (seen.length === 0) return
    const key = keyOf(called)
    const known = ticks.get(key) ?? new Map<number, number>()
    ticks.set(key, known)
    for (const { line, ticks } of seen) known.set(line, (known.get(line) ?? 0) + ticks)
  }

  const [first] = profile.nodes
  const root = createNode(first?.callFrame ?? rootFrame)
  if (first !== undefined) take(first, root)
  return { root, idle, ticks }
}

const rootFrame: CalledFunction = { functionName: '(root)', scriptId: '0', url: '', lineNumber: -1, columnNumber: -1 }

function createNode(called: CalledFunction): CallNode {
  return { called, self: 0, total: 0, children: new Map() }
}

/** A sample stands for the time until the next sample. */
function measure({ endTime, samples = [], startTime, timeDeltas = [] }: Profiler.Profile): Map<number, number> {
  const times = new Map<number, number>()
  let at = startTime
  for (const [index, id] of samples.entries()) {
    at += timeDeltas[index] ?? 0
    const next = index + 1 < samples.length ? at + (timeDeltas[index + 1] ?? 0) : endTime
    // The clocks of several cores may differ.
    times.set(id, (times.get(id) ?? 0) + Math.max(0, next - at))
  }
  return times
}

/** A place in a source file. */
export interface SourcePlace {
  /** An absolute path, or Node's name of a module: `node:fs`. */
  readonly file: string
  /** From 1. */
  readonly line: number
  /** From 1. */
  readonly column: number
}

/** The answer of a source map. */
interface MappedPlace {
  readonly originalSource: string
  readonly originalLine: number
  readonly originalColumn: number
}

/**
 * Finds the source of a place in the compiled code (from 0, as V8 counts) by the source map that Node loaded with the
 * module. Without a source map it is the place itself; `undefined` for code without a file.
 */
export function findSource(url: string, line: number, column: number): SourcePlace | undefined {
  if (url === '' || line < 0) return undefined
  const map = url.startsWith('node:') ? undefined : findSourceMap(url)
  const {
    originalColumn = 0,
    originalLine = 0,
    originalSource,
  }: Partial<MappedPlace> = map?.findEntry(line, column) ?? {}
  if (originalSource === undefined) return { file: toPath(url), line: line + 1, column: column + 1 }
  return { file: toPath(originalSource), line: originalLine + 1, column: originalColumn + 1 }
}

function toPath(url: string): string {
  return url.startsWith('file:') ? fileURLToPath(url) : url
}
