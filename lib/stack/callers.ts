import { TextMemo } from '../text/text-memo.ts'
import { type FrameLocation, locateFrame } from './locate-frame.ts'
import { parseStack, type StackFrame, toPath } from './stack-frames.ts'

/** A place in the code of the application, such as the function that called a library or wrote a log message. */
export interface Caller {
  /** Absent at top level. */
  readonly function?: string | undefined
  /** As {@link locateFrame} names it. */
  readonly file?: string | undefined
  readonly line?: number | undefined
  readonly column?: number | undefined
}

/** A function on the stack. */
export type Running = (...values: never[]) => unknown

/** Frames that are searched. A call of fetch has 27 frames of node above its caller. */
const frameLimit = 50
/** The next search reads fewer frames by this number, but at least those down to the last caller. */
const limitStep = 0.25
const placeLimit = 500

/**
 * Finds the code of the application that is calling a library: the innermost frame of the application on the stack. Frames
 * of npm packages and of Node are skipped; the frames of this package at the top of the stack are those of the recorder.
 *
 * Each frame from the search to the caller takes 0.4 µs, so as few frames as possible are read, and without source maps. Only
 * for a new place the stack is formatted, which costs ten times as much; 500 places are cached. Use one instance for each source:
 * the callers of a source mostly have the same depth.
 */
export class Callers {
  readonly #directory: string
  #files = createMemo()
  /** In all files. */
  #places = 0
  /** Frames that are read first. */
  #firstLimit = 4

  /** Files are named as seen from the directory of the application. */
  constructor(directory: string) {
    this.#directory = directory
  }

  /**
   * The caller of the running code; `undefined` if the stack has none. Without a frame of the application it is the innermost
   * one that is in no package of npm. The frames of a function on the stack and those above it are not read: `below` is the
   * outermost function that is known to be none of the application.
   */
  find(below: Running = this.find): Caller | undefined {
    const limit = Math.ceil(this.#firstLimit)
    // Not in a function of its own, which would be one more frame.
    const { prepareStackTrace, stackTraceLimit } = Error
    Error.prepareStackTrace = takeSites
    Error.stackTraceLimit = limit
    let sites: readonly NodeJS.CallSite[]
    try {
      Error.captureStackTrace(captured, below)
      sites = readTaken()
    } finally {
      Error.stackTraceLimit = stackTraceLimit
      Error.prepareStackTrace = prepareStackTrace
    }
    const [innermost] = sites
    const file = this.#fileOf(innermost)
    // Mostly: the application has called the function below which the search begins.
    if (file.location.origin === 'application') {
      this.#adapt(0, sites)
      return this.#describe(sites, 0, below, file)
    }
    // The library has called this code in another way.
    if (sites.length === 0 && below !== this.find) return this.find()
    if (!this.#isEnough(sites, limit)) sites = readSites(below, frameLimit)
    const index = this.#choose(sites)
    this.#adapt(index, sites)
    return index === -1 ? undefined : this.#describe(sites, index, below)
  }

  /** The frames of the application on the stack, the innermost first. */
  list(limit: number): Caller[] {
    const first = limit === 1 ? Math.ceil(this.#firstLimit) : frameLimit
    let sites = readSites(this.list, first)
    if (!this.#isEnough(sites, first)) sites = readSites(this.list, frameLimit)
    if (limit === 1)
      this.#adapt(
        sites.findIndex(site => this.#isApplication(site)),
        sites,
      )
    const callers: Caller[] = []
    for (let index = 0; index < sites.length && callers.length < limit; index++) {
      if (this.#isApplication(sites[index])) callers.push(this.#describe(sites, index, this.list))
    }
    return callers
  }

  /** Whether packages of npm run by themselves: below the recorder the stack has only frames of them, and of Node. */
  isWithin(...names: readonly string[]): boolean {
    return readSites(this.isWithin, frameLimit).every(site => {
      const { origin, package: vendor = '' } = this.#fileOf(site).location
      return origin === 'runtime' || origin === 'kernel' || names.includes(vendor)
    })
  }

  /** Whether more frames would change nothing: one of these is of the application, or these are all. */
  #isEnough(sites: readonly NodeJS.CallSite[], limit: number): boolean {
    return sites.length < limit || sites.some(site => this.#isApplication(site))
  }

  /** Without a caller, all frames had to be read. */
  #adapt(index: number, sites: readonly NodeJS.CallSite[]): void {
    const used = index === -1 ? sites.length : index
    this.#firstLimit = Math.min(frameLimit, Math.max(used + 1, this.#firstLimit - limitStep))
  }

  /** The index of the caller's frame; -1 if there is none. */
  #choose(sites: readonly NodeJS.CallSite[]): number {
    let fallback = -1
    let isBelowRecorder = false
    for (const [index, site] of sites.entries()) {
      const { location } = this.#fileOf(site)
      const { origin } = location
      if (origin === 'application') return index
      isBelowRecorder ||= origin !== 'kernel'
      if (fallback === -1 && isBelowRecorder && origin !== 'runtime' && location.package === undefined) fallback = index
    }
    return fallback
  }

  #isApplication(site: NodeJS.CallSite | undefined): boolean {
    return this.#fileOf(site).location.origin === 'application'
  }

  #fileOf(site: NodeJS.CallSite | undefined): SourceFile {
    const file = site?.getFileName()
    if (!file) return runtime
    let known = this.#files.get(file)
    if (known === undefined) {
      known = { location: locateFrame({ file: toPath(file) }, this.#directory), places: new Map() }
      this.#files.set(file, known)
    }
    return known
  }

  #describe(
    sites: readonly NodeJS.CallSite[],
    index: number,
    below: Running,
    { places }: SourceFile = this.#fileOf(sites[index]),
  ): Caller {
    const site = sites[index]
    // A line of generated code may be long.
    const place = Number(site?.getLineNumber()) * 2 ** 24 + Number(site?.getColumnNumber())
    let caller = places.get(place)
    if (caller === undefined) {
      const frame = parseStack(captureBelow(below, frameLimit))[index]
      caller = frame === undefined ? {} : this.#toCaller(frame)
      this.#keep(places, place, caller)
    }
    return caller
  }

  #toCaller(frame: StackFrame): Caller {
    const { column, function: name, line } = frame
    return { function: name, file: locateFrame(frame, this.#directory).file, line, column }
  }

  /** With too many places the cache starts again from empty. */
  #keep(places: Map<number, Caller>, place: number, caller: Caller): void {
    if (this.#places === placeLimit) {
      this.#files = createMemo()
      this.#places = 0
    }
    places.set(place, caller)
    this.#places++
  }
}

/** A file of frames, and the callers in it by their places in its compiled code. */
interface SourceFile {
  readonly location: FrameLocation
  readonly places: Map<number, Caller>
}

/** Of functions that are built into the engine, and of code from a string. */
const runtime: SourceFile = { location: { origin: 'runtime' }, places: new Map() }

function createMemo(): TextMemo<SourceFile> {
  return new TextMemo(1000, 1000)
}

/** V8 takes longer to capture a stack for a new object. */
const captured: { readonly stack?: unknown } = {}

/** The frames that V8 has passed last, until they are read: an object that is captured for keeps its stack, and its values. */
let taken: readonly NodeJS.CallSite[] = []

function takeSites(_error: unknown, sites: readonly NodeJS.CallSite[]): string {
  taken = sites
  return ''
}

/** The frames that were captured, the innermost first. */
function readTaken(): readonly NodeJS.CallSite[] {
  // V8 passes the frames when the stack is read for the first time.
  void captured.stack
  const sites = taken
  taken = []
  return sites
}

/** The frames below a running function, the innermost first. No source map is read. */
function readSites(running: Running, limit: number): readonly NodeJS.CallSite[] {
  const { prepareStackTrace, stackTraceLimit } = Error
  Error.prepareStackTrace = takeSites
  Error.stackTraceLimit = limit
  try {
    Error.captureStackTrace(captured, running)
    return readTaken()
  } finally {
    Error.stackTraceLimit = stackTraceLimit
    Error.prepareStackTrace = prepareStackTrace
  }
}

function captureBelow(running: Running, limit: number): Error {
  const { stackTraceLimit } = Error
  // The first stack is not used.
  Error.stackTraceLimit = 0
  const error = new Error()
  Error.stackTraceLimit = limit
  Error.captureStackTrace(error, running)
  Error.stackTraceLimit = stackTraceLimit
  return error
}
