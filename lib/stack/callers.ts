import { channel } from 'node:diagnostics_channel'
import path from 'node:path'
import { TextMemo } from '../text/text-memo.ts'
import type { StackPlace } from './helpers.ts'
import {
  type CodePlace,
  type FrameLocation,
  locateFrame,
  parseCall,
  parseCaptured,
  type SourcePlace,
  type StackFrame,
  toPath,
} from './stack-frames.ts'

/** A place in the code of the application, such as the function that called a library or wrote a log message. */
export interface Caller extends CodePlace {
  /** The frames of the application above it, the nearest first: those that called it. At most two. */
  readonly callers?: readonly CodePlace[] | undefined
  /** Whether the stack named no place: this is the function that ran for the request, a controller or a listener. */
  readonly isIn?: true | undefined
}

/** A function on the stack. */
export type Running = (...values: never[]) => unknown

/** Frames that are searched. A call of fetch has 27 frames of node above its caller. */
const frameLimit = 50
/** The next search reads fewer frames by this number, but at least those that the last one needed. */
const limitStep = 0.25
const placeLimit = 1000

/** Frames of the application in one caller. */
const ownLimit = 3
/** Frames of libraries and of Node between two frames of the application: a callback of a list, or of a transaction. */
const gapLimit = 3

/**
 * Finds the code of the application that is calling a library: the innermost frames of the application
 * on the stack. Frames of npm packages and of Node are skipped; the frames of this package at the top
 * of the stack are those of the recorder, and further ones have called the application.
 *
 * Each frame that is read takes 0.4 µs, so as few frames as possible are read, and without source maps.
 * Only for a new place the stack is formatted, which costs ten times as much; 1,000 places and callers
 * are cached. Use one instance for each source: the callers of a source mostly have the same depth.
 */
export class Callers {
  readonly #directory: string
  #files = createMemo()
  /** The number of known places, in all files. */
  #places = 0
  /** Frames that are read first. */
  #firstLimit = 4

  /** Files are named as seen from the directory of the application. */
  constructor(directory: string) {
    this.#directory = directory
  }

  /**
   * The caller of the running code; `undefined` if the stack has no frame of the application. The
   * frames of a function on the stack and those above it are not read: `below` is the outermost
   * function that is known to be none of the application.
   */
  find(below: Running = this.find): Caller | undefined {
    const limit = Math.ceil(this.#firstLimit)
    // Not in `readSites`, which would be one more frame.
    beginCapture(limit)
    captureStackTrace(captured, below)
    const sites = endCapture()
    // The library has called this code in another way. V8 then leaves out all frames but those of WebAssembly.
    if (below !== this.find && sites.every(isAssembly)) return this.find()
    return this.#findIn(sites, limit, below)
  }

  /** The frames of the application on the stack, the innermost first. */
  list(limit: number): CodePlace[] {
    const sites = readSites(this.list, frameLimit)
    const indices = [...sites.keys()].filter(index => this.#fileOf(sites[index]).location.origin === 'application')
    const known = indices.map(index => this.#placeIn(this.#fileOf(sites[index]), sites, index, this.list))
    return known.flatMap(({ origin, place }) => (origin === 'application' ? place : [])).slice(0, limit)
  }

  /** Whether packages of npm run by themselves: below the recorder the stack has only frames of them, and of Node. */
  isWithin(...names: readonly string[]): boolean {
    const locations = readSites(this.isWithin, frameLimit).map(site => this.#fileOf(site).location)
    return locations
      .slice(locations.findIndex(({ origin }) => origin !== 'kernel'))
      .every(({ origin, package: vendor = '' }) => origin === 'runtime' || names.includes(vendor))
  }

  /**
   * The nearest package of npm on the stack, if it is one of these: below the recorder, other frames are those of Node.
   */
  findPackage(names: ReadonlyMap<string, unknown>): string | undefined {
    for (const site of readSites(this.findPackage, frameLimit)) {
      const { origin, package: name = '' } = this.#fileOf(site).location
      if (origin === 'application' || (origin === 'vendor' && !names.has(name))) return undefined
      if (origin === 'vendor') return name
    }
    return undefined
  }

  /**
   * Finds the caller among the frames below a function, of which `limit` were read. More are read if these are too few.
   */
  #findIn(sites: readonly NodeJS.CallSite[], limit: number, running: Running): Caller | undefined {
    const { length } = sites
    let chain: Chain | undefined
    let below: KnownPlace | undefined
    let own = 0
    let gap = 0
    let index = 0
    for (; index < length && own < ownLimit; index++) {
      const file = this.#fileOf(sites[index])
      const isOwn = file.location.origin === 'application'
      const known = isOwn ? this.#placeIn(file, sites, index, running) : undefined
      // A bundle of the application contains libraries.
      const { origin } = known ?? file.location
      if (known !== undefined && origin === 'application') {
        chain = chain === undefined || below === undefined ? known.chain : this.#lengthen(chain, below, known)
        below = known
        own++
        gap = 0
      } else if (chain !== undefined) {
        if (origin === 'kernel' || ++gap > gapLimit) break
      } else if (file === runtime && sites[index]?.isEval() && this.#isOwn(String(sites[index]))) break
    }
    const isEnd = index === length && own < ownLimit
    if (isEnd && length === limit && limit < frameLimit) {
      return this.#findIn(readSites(running, frameLimit), frameLimit, running)
    }
    // One frame too few would be read next time, if it is the last one of the stack.
    const needed = own === ownLimit ? index : index + 1
    this.#firstLimit = Math.min(frameLimit, Math.max(needed, this.#firstLimit - limitStep))
    return chain?.caller
  }

  #fileOf(site: NodeJS.CallSite | undefined): SourceFile {
    const file = site?.getFileName()
    if (!file) return site?.isEval() ? this.#evaluatedFileOf(site) : runtime
    return this.#files.get(file) ?? this.#addFile(file, toPath(file))
  }

  /** The file of code from a string, which names it by `sourceURL`, as the runners of modules do. */
  #evaluatedFileOf(site: NodeJS.CallSite): SourceFile {
    const name = site.getScriptNameOrSourceURL()
    if (!name) return runtime
    // A runner evaluates an edited module again, by the same name.
    const key = `${site.getScriptHash()} ${name}`
    return this.#files.get(key) ?? this.#addFile(key, toPath(withoutQuery(name)))
  }

  #addFile(key: string, file: string): SourceFile {
    const known = { location: locateFrame({ file }, this.#directory), places: new Map() }
    this.#files.set(key, known)
    return known
  }

  /**
   * Whether code from a string was evaluated by the application. Its place is not known: neither
   * its caller nor the evaluator is it.
   */
  #isOwn(call: string): boolean {
    return locateFrame(parseCall(call), this.#directory).origin === 'application'
  }

  #placeIn({ places }: SourceFile, sites: readonly NodeJS.CallSite[], index: number, below: Running): KnownPlace {
    const site = sites[index]
    // A line of generated code may be long.
    const position = (site?.getLineNumber() ?? 0) * 2 ** 24 + (site?.getColumnNumber() ?? 0)
    let known = places.get(position)
    if (known === undefined) {
      const all = readSites(below, frameLimit)
      known = this.#toPlace(parseCaptured(captureBelow(below, frameLimit), all)[index], all[index])
      this.#count()
      places.set(position, known)
    }
    return known
  }

  #toPlace(frame: StackFrame | undefined, site: NodeJS.CallSite | undefined): KnownPlace {
    const source = frame && site ? toSource(frame, site) : unknownFrame
    const { column, file, function: name, isAsync, line } = source
    const { file: shown, origin } = locateFrame(source, this.#directory)
    const place: CodePlace = { function: name, file: shown, line, column, ...(isAsync && { isAwaiting: true }) }
    const marked = reader?.isHelperCall(place) ? { ...place, callsHelper: true as const } : place
    return { place: marked, file, origin, chain: { caller: marked, longer: new Map() } }
  }

  /** The chain with one more frame, which has called it. */
  #lengthen({ caller, longer }: Chain, below: KnownPlace, above: KnownPlace): Chain {
    let chain = longer.get(above)
    if (chain === undefined) {
      reader?.noteCall(below, above)
      chain = { caller: { ...caller, callers: [...(caller.callers ?? []), above.place] }, longer: new Map() }
      this.#count()
      longer.set(above, chain)
    }
    return chain
  }

  /** Counts a new place. If there are too many places, the cache is emptied. */
  #count(): void {
    if (this.#places === placeLimit) {
      this.#files = createMemo()
      this.#places = 0
    }
    this.#places++
  }
}

/** A file of frames, and the places in it by their positions in its compiled code. */
interface SourceFile {
  readonly location: FrameLocation
  readonly places: Map<number, KnownPlace>
}

interface KnownPlace extends StackPlace {
  readonly origin: FrameLocation['origin']
  /** The caller that is this frame alone. */
  readonly chain: Chain
}

/** A caller, and those that have one more frame. The same frames have the same object. */
interface Chain {
  readonly caller: Caller
  readonly longer: Map<KnownPlace, Chain>
}

const unknownFrame: StackFrame = { isAsync: false }

/** What the sources say about a place. */
interface SourceReader {
  /** Finds the place in the source of a place in generated code with a hash; `undefined` if it is not known. */
  findSource(place: SourcePlace, hash: string): SourcePlace | undefined
  /** Notes that a place was above another one on a stack. */
  noteCall(below: StackPlace, above: StackPlace): void
  /** Whether a place calls a helper. */
  isHelperCall(place: CodePlace): boolean
}

let reader: SourceReader | undefined

/** Lets all callers that are found from now on have places in the sources. Production reads no source. */
export function setSourceReader(given: SourceReader): void {
  reader = given
}

/**
 * The frame in the source. Without a map of its own, a line of code from a string is none of the
 * file that the code names.
 */
function toSource(frame: StackFrame, site: NodeJS.CallSite): StackFrame {
  const { column, file, line, ...others } = frame
  if (file === undefined || line === undefined || column === undefined) return frame
  const isMapped = line !== site.getLineNumber() || column !== site.getColumnNumber()
  if (site.isEval()) return { ...others, file: withoutQuery(file), ...(isMapped && { line, column }) }
  if (isMapped && path.isAbsolute(file)) return frame
  // Where Node uses a map, a bundler may have named the source as `webpack://shop/./src/list.ts`.
  const [name, generatedLine, generatedColumn] = [site.getFileName(), site.getLineNumber(), site.getColumnNumber()]
  const generated = { file: toPath(name ?? file), line: generatedLine ?? line, column: generatedColumn ?? column }
  return { ...frame, ...reader?.findSource(generated, site.getScriptHash()) }
}

/** The name of a module without the version that a runner of modules appends. */
function withoutQuery(name: string): string {
  return name.replace(/[?#].*$/s, '')
}

/** The file of functions that are built into the engine, and of code from a string without a name. */
const runtime: SourceFile = { location: { origin: 'runtime' }, places: new Map() }

function createMemo(): TextMemo<SourceFile> {
  return new TextMemo(1000, 1000)
}

/** V8 takes longer to capture a stack for a new object. */
const captured: { readonly stack?: unknown } = {}

/**
 * The frames that V8 has passed last, until they are read: an object that is captured for keeps
 * its stack, and its values.
 */
let taken: readonly NodeJS.CallSite[] = []

function takeSites(_error: unknown, sites: readonly NodeJS.CallSite[]): string {
  taken = sites
  return ''
}

/** The application may replace it later. */
const { captureStackTrace } = Error

let prepareStackTrace = Error.prepareStackTrace
let { stackTraceLimit } = Error

/** Lets V8 pass the frames of the next stack to this module. */
function beginCapture(limit: number): void {
  ;({ prepareStackTrace, stackTraceLimit } = Error)
  set(takeSites, limit)
}

/** The frames that were captured, the innermost first. */
function endCapture(): readonly NodeJS.CallSite[] {
  // V8 calls the function that takes the frames when `stack` is read for the first time.
  void captured.stack
  set(prepareStackTrace, stackTraceLimit)
  const sites = taken
  taken = []
  return sites
}

/** The application may have frozen `Error`: then no frames are passed. */
function set(prepare: typeof Error.prepareStackTrace, limit: number): void {
  try {
    Error.prepareStackTrace = prepare
    Error.stackTraceLimit = limit
  } catch {
    // The place is not known.
  }
}

function isAssembly(site: NodeJS.CallSite): boolean {
  return site.getFileName()?.startsWith('wasm:') === true
}

/** The frames below a running function, the innermost first. No source map is read. */
export function readSites(running: Running, limit: number): readonly NodeJS.CallSite[] {
  beginCapture(limit)
  captureStackTrace(captured, running)
  return endCapture()
}

function captureBelow(running: Running, limit: number): Error {
  const { prepareStackTrace, stackTraceLimit } = Error
  const error = new Error()
  set(prepareStackTrace, limit)
  captureStackTrace(error, running)
  set(prepareStackTrace, stackTraceLimit)
  return error
}

/** The place in the code that is shown for a query, an HTTP client call or a message. */
export interface CallerPlace extends Caller {
  /** The helpers through which it made the call, the outermost first. */
  readonly via?: readonly CodePlace[] | undefined
}

/** Work that code has started. */
interface CalledWork {
  readonly caller?: Caller | undefined
  readonly start?: number
  readonly end?: number | undefined
}

/**
 * Chooses the place of each work of one kind: its nearest frame that is not a helper. A frame is a helper if the
 * frames above it are different lines, or if each of its works has a call of this frame for itself: it is known to
 * be called as a helper, from other frames for each work; or each work starts after the end of the previous one. The
 * last rule needs works for which code has to wait (`isAwaited`): a synchronous loop within one call looks the same.
 */
export function choosePlaces<work extends CalledWork>(
  works: readonly work[],
  isAwaited: (work: work) => boolean,
): ReadonlyMap<work, CallerPlace> {
  const places = new Map<work, CallerPlace>()
  choose(works, 0, isAwaited, places)
  return places
}

/** Chooses for works whose frames before `depth` are the same helpers. */
function choose<work extends CalledWork>(
  works: readonly work[],
  depth: number,
  isAwaited: (work: work) => boolean,
  places: Map<work, CallerPlace>,
): void {
  const groups = new Map<string, work[]>()
  for (const work of works) {
    const line = lineOf(work, depth)
    const group = groups.get(line)
    if (group === undefined) groups.set(line, [work])
    else group.push(work)
  }
  for (const group of groups.values()) {
    // The lines of an evaluated file may not be known.
    const hasLine = group.some(work => frameOf(work, depth)?.line !== undefined)
    const isHelper =
      isShared(group, depth) || isKnown(group, depth) || (group.every(isAwaited) && isCalledAnew(group, depth))
    if (hasLine && isHelper) {
      const further = group.filter(work => frameOf(work, depth + 1) !== undefined)
      choose(further, depth + 1, isAwaited, places)
    }
    for (const work of group) if (!places.has(work)) places.set(work, placeAt(work, depth))
  }
}

/** Whether the frames above are different lines. */
function isShared(works: readonly CalledWork[], depth: number): boolean {
  for (let above = depth + 1; ; above++) {
    const further = works.filter(work => frameOf(work, above) !== undefined)
    if (further.length === 0) return false
    if (new Set(further.map(work => lineOf(work, above))).size > 1) return true
  }
}

/** Whether frames above are known to call a helper. A function that loops has several works below the same frames. */
function isKnown(works: readonly CalledWork[], depth: number): boolean {
  const above = works.map(({ caller }) => (caller?.callers ?? []).slice(depth))
  const places = above.map(frames => frames.map(({ column, line }) => `${line}:${column}`).join())
  return new Set(places).size === works.length && above.every(frames => frames.some(({ callsHelper }) => callsHelper))
}

/** A function that loops awaits its works one by one: for all but the first, its caller awaits it, or is gone. */
function isCalledAnew(works: readonly CalledWork[], depth: number): boolean {
  return (
    works.length > 1 &&
    works.every((work, index) => {
      const above = frameOf(work, depth + 1)
      const { end = Infinity } = works[index - 1] ?? {}
      const isAfter = index === 0 || end <= (work.start ?? -Infinity)
      return above !== undefined && !above.isAwaiting && isAfter
    })
  )
}

function frameOf({ caller }: CalledWork, depth: number): CodePlace | undefined {
  return depth === 0 ? caller : caller?.callers?.[depth - 1]
}

function placeAt({ caller = {} }: CalledWork, depth: number): CallerPlace {
  if (depth === 0) return caller
  const { callers = [], ...nearest } = caller
  return {
    ...callers[depth - 1],
    callers: callers.slice(depth),
    via: [nearest, ...callers.slice(0, depth - 1)].reverse(),
  }
}

function lineOf(work: CalledWork, depth: number): string {
  const { file, line } = frameOf(work, depth) ?? {}
  return `${file}:${line}`
}

/**
 * Creates the search for the code that calls a library, for the listeners of a channel of the
 * library. The frames of the listeners, up to the function of Node that calls them, are not read.
 */
export function createCallerSearch(callers: Callers, name: string): () => Caller | undefined {
  const source = channel(name)
  // A channel gets another `publish` with its first listener.
  return () => callers.find(source.publish)
}
