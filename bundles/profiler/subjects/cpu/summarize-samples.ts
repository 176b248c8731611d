import type { Profiler, Runtime } from 'node:inspector'
import { cut } from '../../../../lib/redact/masking-copier.ts'
import type { Redactor } from '../../../../lib/redact/redactor.ts'
import type { SourceExcerpts } from '../../../../lib/stack/source-excerpts.ts'
import { findSource, findSourceLine } from '../../../../lib/stack/source-maps.ts'
import { type FrameLocation, locateFrame, type SourcePlace, toPath } from '../../../../lib/stack/stack-frames.ts'
import type { Excerpt } from '../../profile/schema.ts'
import { placeKey, type SampledRequest } from './cpu-sampler.ts'
import type { CpuData, CpuOrigin, SampledFunction } from './data.ts'

/** What a summary is made with. */
interface SummaryServices {
  /** The directory of the application: files are shown as seen from it. */
  readonly directory: string
  readonly redactor: Redactor
  readonly sources: SourceExcerpts
  /** Names of functions by the keys of their places, for functions without a name in the source. */
  readonly names: ReadonlyMap<string, string>
}

const rowLimit = 1000

/** The part of the whole time below which a function is left out. */
const leastShare = 0.0005

const functionLimit = 100

const excerptLimit = 5

const textLimit = 200

/** The folder of the sampler's own compiled code. */
const samplerFolder = `${new URL('.', import.meta.url)}`

/**
 * Summarizes samples for the profile: a CPU profile of V8 may have megabytes, and is neither mapped to sources nor
 * masked.
 */
export function summarizeSamples(sampled: SampledRequest, services: SummaryServices): CpuData {
  const { isCut, others, profile, startup } = sampled
  const tree = createCallTree(profile, ({ url }) => url.startsWith(samplerFolder))
  const rows = selectRows(tree.root)
  const functions = gatherFunctions(tree.root)
  const named = new Set(rows.kept.map(({ node }) => keyOf(node.called)))
  const shown = [...functions].filter(([key], index) => index < functionLimit || named.has(key))
  const indexes = new Map(shown.map(([key], index) => [key, index]))
  const described = shown.map(([, gathered]) => describe(gathered, tree, services))
  return {
    samples: profile.samples?.length ?? 0,
    busy: Math.round(tree.root.total),
    idle: Math.round(tree.idle),
    startup: Math.round(startup * 1000),
    others,
    isCut,
    functions: described.map(({ sampled }) => sampled),
    calls: rows.kept.map(({ caller, node }) => [
      indexes.get(keyOf(node.called)) ?? 0,
      caller,
      Math.round(node.self),
      Math.round(node.total),
    ]),
    omitted: rows.omitted,
    excerpts: findExcerpts(described, services),
  }
}

interface Row {
  readonly node: CallNode
  readonly caller: number
}

/** The calls with the longest time, in the order of the tree; a caller takes at least as long as its calls. */
function selectRows(root: CallNode): { readonly kept: readonly Row[]; readonly omitted: number } {
  const all = [...walk(root)].slice(1)
  const totals = all.map(({ total }) => total).sort((a, b) => b - a)
  const least = Math.max(root.total * leastShare, totals[rowLimit] ?? 0, Number.MIN_VALUE)
  const kept: Row[] = []
  const add = (parent: CallNode, caller: number) => {
    for (const node of [...parent.children.values()].sort((a, b) => b.total - a.total)) {
      if (node.total < least || kept.length === rowLimit) return
      kept.push({ node, caller })
      add(node, kept.length - 1)
    }
  }
  add(root, -1)
  return { kept, omitted: all.length - kept.length }
}

function* walk(node: CallNode): Generator<CallNode> {
  yield node
  for (const child of node.children.values()) yield* walk(child)
}

interface GatheredFunction {
  readonly called: CalledFunction
  self: number
  total: number
}

/** All functions by their keys, those with the most own time first. */
function gatherFunctions(root: CallNode): Map<string, GatheredFunction> {
  const functions = new Map<string, GatheredFunction>()
  const callers = new Set<string>()
  const add = (node: CallNode) => {
    const key = keyOf(node.called)
    const gathered = functions.get(key) ?? { called: node.called, self: 0, total: 0 }
    functions.set(key, gathered)
    gathered.self += node.self
    const isOutermost = !callers.has(key)
    if (isOutermost) gathered.total += node.total
    callers.add(key)
    for (const child of node.children.values()) add(child)
    if (isOutermost) callers.delete(key)
  }
  for (const child of root.children.values()) add(child)
  return new Map([...functions].sort(([, a], [, b]) => b.self - a.self))
}

interface DescribedFunction {
  readonly sampled: SampledFunction
  /** The absolute path of its file. */
  readonly path: string
}

function describe(
  { called, self, total }: GatheredFunction,
  { ticks }: CallTree,
  { directory, names, redactor }: SummaryServices,
): DescribedFunction {
  const { columnNumber, functionName, lineNumber, url } = called
  const place = locate(url, lineNumber, columnNumber)
  const located = locateFrame(place ?? {}, directory)
  const hot = findHotLine(ticks.get(keyOf(called)), called)
  const sampled = {
    name: cut(redactor.text(names.get(placeKey(called)) ?? (functionName || '(anonymous)')), textLimit),
    ...(located.file !== undefined && { file: cut(redactor.text(located.file), textLimit) }),
    ...(place !== undefined && { line: place.line, column: place.column }),
    ...(hot !== undefined && { hot }),
    origin: refineOrigin(called, located),
    ...(located.package !== undefined && { package: cut(redactor.text(located.package), textLimit) }),
    self: Math.round(self),
    total: Math.round(total),
  }
  return { sampled, path: place?.file ?? '' }
}

function refineOrigin({ functionName, lineNumber, url }: CalledFunction, { origin }: FrameLocation): CpuOrigin {
  if (functionName === '(garbage collector)') return 'gc'
  // Code without a file, such as that of a template engine.
  if (url === '' && lineNumber >= 0) return 'vendor'
  return origin
}

/** The source line with the most samples; `undefined` if it is not known, as in minified code. */
function findHotLine(
  ticks: ReadonlyMap<number, number> | undefined,
  { columnNumber, lineNumber, url }: CalledFunction,
): number | undefined {
  const lines = new Map<number | undefined, number>()
  for (const [line, count] of (url !== '' && ticks) || []) {
    const column = line === lineNumber + 1 ? columnNumber + 1 : 1
    const written = url.startsWith('node:') ? line : findSourceLine({ file: toPath(url), line, column })
    lines.set(written, (lines.get(written) ?? 0) + count)
  }
  const [hottest] = [...lines].sort(([, a], [, b]) => b - a)
  return hottest?.[0]
}

/** The sources of the hottest functions of the application. */
function findExcerpts(described: readonly DescribedFunction[], { sources }: SummaryServices): Excerpt[] {
  const excerpts: Excerpt[] = []
  for (const { path, sampled } of described.slice(0, functionLimit)) {
    const { file, hot, origin, self } = sampled
    if (excerpts.length === excerptLimit) break
    if (file === undefined || hot === undefined || self === 0 || origin !== 'application') continue
    const excerpt = sources.find(path, hot)
    if (excerpt !== undefined) excerpts.push({ file, line: hot, ...excerpt })
  }
  return excerpts
}

/** A function as V8 names it. */
type CalledFunction = Runtime.CallFrame

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
interface CallTree {
  /** V8's `(root)`. */
  readonly root: CallNode
  /** Microseconds in which the process waited, or had no processor. */
  readonly idle: number
  /** Samples per line (from 1, of the compiled code), for each function. */
  readonly ticks: ReadonlyMap<string, ReadonlyMap<number, number>>
}

/** The key of a function, equal for all its calls. */
function keyOf({ columnNumber, functionName, lineNumber, url }: CalledFunction): string {
  return `${functionName}|${url}|${lineNumber}|${columnNumber}`
}

/**
 * Makes the tree of a CPU profile. Calls of one function by another are one node, also where V8 has several. Calls that
 * are left out by `isLeftOut` are missing together with the calls that they made.
 */
export function createCallTree(profile: Profiler.Profile, isLeftOut: (called: CalledFunction) => boolean): CallTree {
  const nodes = new Map(profile.nodes.map(node => [node.id, node]))
  const { gaps, times } = measure(profile)
  const ticks = new Map<string, Map<number, number>>()
  let idle = gaps

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

/**
 * The longest time between two samples of running code, in microseconds: 50 times the interval. In a longer gap the
 * process has no processor, because other programs have it.
 */
const longestSample = 5_000

/**
 * The microseconds for each node, and those between samples that are no work of a node. A sample stands for the time
 * until the next sample, but not for a gap: a single sample before it would name a function as hot that is not.
 */
function measure({ endTime, samples = [], startTime, timeDeltas = [] }: Profiler.Profile): {
  readonly times: ReadonlyMap<number, number>
  readonly gaps: number
} {
  const times = new Map<number, number>()
  let gaps = 0
  let at = startTime
  for (const [index, id] of samples.entries()) {
    at += timeDeltas[index] ?? 0
    const next = index + 1 < samples.length ? at + (timeDeltas[index + 1] ?? 0) : endTime
    // The clocks of several cores may differ.
    const time = Math.max(0, next - at)
    const own = Math.min(time, longestSample)
    times.set(id, (times.get(id) ?? 0) + own)
    gaps += time - own
  }
  return { times, gaps }
}

/**
 * Finds the source of a place in the compiled code (from 0, as V8 counts). Without a source map it
 * is the place itself; `undefined` for code without a file.
 */
function locate(url: string, line: number, column: number): SourcePlace | undefined {
  if (url === '' || line < 0) return undefined
  const place = { file: toPath(url), line: line + 1, column: column + 1 }
  return (url.startsWith('node:') ? undefined : findSource(place)) ?? place
}
