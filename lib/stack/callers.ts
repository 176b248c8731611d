import { TextMemo } from '../text/text-memo.ts'
import { type FrameLocation, locateFrame } from './locate-frame.ts'
import { parseStack, toPath } from './stack-frames.ts'

/** The function that called a library. */
export interface Caller {
  /** Absent at top level. */
  readonly function?: string | undefined
  /** As {@link locateFrame} names it. */
  readonly file?: string | undefined
  readonly line?: number | undefined
  readonly column?: number | undefined
}

/** Frames that are searched. A call of fetch has 27 frames of node above its caller. */
const frameLimit = 50
/** The next search reads fewer frames by this number, but at least those down to the last caller. */
const limitStep = 0.25

/**
 * Finds the code of the application that is calling a library: the innermost frame of the application on the stack. Frames
 * of npm packages and of Node are skipped; the frames of this package at the top of the stack are those of the recorder.
 * Without a frame of the application it is the innermost one that is in no package of npm.
 *
 * The frames are read without source maps. Only for a new place the stack is formatted, which costs ten times as much; 500
 * places are cached.
 */
export class Callers {
  readonly #directory: string
  readonly #origins = new TextMemo<FrameLocation>(500, 1000)
  readonly #known = new TextMemo<Caller>(500, 1000)
  /** Frames that are read first. Most of the time is spent on frames, and most callers of a library have one depth. */
  #firstLimit = 16

  /** Files are named as seen from the directory of the application. */
  constructor(directory: string) {
    this.#directory = directory
  }

  /** The caller of the running code; `undefined` if the stack has none. */
  find(): Caller | undefined {
    let site: NodeJS.CallSite | undefined
    let index = -1
    for (const limit of [Math.ceil(this.#firstLimit), frameLimit]) {
      const sites = readSites(this.find, limit)
      index = this.#choose(sites)
      site = sites[index]
      const isFound = this.#locate(site?.getFileName()).origin === 'application'
      this.#adapt(isFound ? index + 1 : sites.length + 1)
      if (isFound || sites.length < limit) break
    }
    if (site === undefined) return undefined
    const place = `${site.getFileName()}:${site.getLineNumber()}:${site.getColumnNumber()}`
    let caller = this.#known.get(place)
    if (caller === undefined) {
      caller = this.#describe(captureAbove(this.find, frameLimit), index)
      this.#known.set(place, caller)
    }
    return caller
  }

  /** Whether packages of npm run by themselves: below the recorder the stack has only frames of them, and of Node. */
  isWithin(...names: readonly string[]): boolean {
    return readSites(this.isWithin, frameLimit).every(site => {
      const { origin, package: vendor = '' } = this.#locate(site.getFileName())
      return origin === 'runtime' || origin === 'kernel' || names.includes(vendor)
    })
  }

  #adapt(used: number): void {
    this.#firstLimit = Math.min(frameLimit, Math.max(used, this.#firstLimit - limitStep))
  }

  /** The index of the caller's frame; -1 if there is none. */
  #choose(sites: readonly NodeJS.CallSite[]): number {
    let fallback = -1
    let isBelowRecorder = false
    for (const [index, site] of sites.entries()) {
      const location = this.#locate(site.getFileName())
      const { origin } = location
      if (origin === 'application') return index
      isBelowRecorder ||= origin !== 'kernel'
      if (fallback === -1 && isBelowRecorder && origin !== 'runtime' && location.package === undefined) fallback = index
    }
    return fallback
  }

  #locate(file: string | null | undefined): FrameLocation {
    if (!file) return { origin: 'runtime' }
    let location = this.#origins.get(file)
    if (location === undefined) {
      location = locateFrame({ file: toPath(file) }, this.#directory)
      this.#origins.set(file, location)
    }
    return location
  }

  #describe(error: Error, index: number): Caller {
    const frame = parseStack(error)[index]
    if (frame === undefined) return {}
    const { column, function: name, line } = frame
    return { function: name, file: locateFrame(frame, this.#directory).file, line, column }
  }
}

/** A function on the stack. */
type Running = (...values: never[]) => unknown

/** The frames above a running function, the innermost first. No source map is read. */
function readSites(running: Running, limit: number): readonly NodeJS.CallSite[] {
  const { prepareStackTrace, stackTraceLimit } = Error
  const captured: { readonly stack?: unknown } = {}
  Error.prepareStackTrace = toSites
  Error.stackTraceLimit = limit
  try {
    Error.captureStackTrace(captured, running)
    // The value that toSites has returned.
    return captured.stack as readonly NodeJS.CallSite[]
  } finally {
    Error.stackTraceLimit = stackTraceLimit
    Error.prepareStackTrace = prepareStackTrace
  }
}

function toSites(_error: unknown, sites: readonly NodeJS.CallSite[]): readonly NodeJS.CallSite[] {
  return sites
}

function captureAbove(running: Running, limit: number): Error {
  const { stackTraceLimit } = Error
  // The first stack is not used.
  Error.stackTraceLimit = 0
  const error = new Error()
  Error.stackTraceLimit = limit
  Error.captureStackTrace(error, running)
  Error.stackTraceLimit = stackTraceLimit
  return error
}
