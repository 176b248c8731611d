import { parseStack, type StackFrame } from './parse-stack.ts'

const frameLimit = 5
const traceLimit = 500

/**
 * Tells where calls come from, five frames of each. It remembers the traces of 500 places: with source maps, to write
 * out a stack costs ten times as much as to capture it.
 */
export class CallTraces {
  #known = new Map<string, readonly StackFrame[]>()

  /** The frames of the error that `capture` makes; it is called once, or twice at a place that is new. */
  framesOf(capture: () => Error): readonly StackFrame[] {
    const { prepareStackTrace, stackTraceLimit } = Error
    Error.stackTraceLimit = frameLimit
    try {
      Error.prepareStackTrace = toPlaces
      const places = String(capture().stack)
      Error.prepareStackTrace = prepareStackTrace
      return this.#known.get(places) ?? this.#remember(places, parseStack(capture()))
    } finally {
      Error.prepareStackTrace = prepareStackTrace
      Error.stackTraceLimit = stackTraceLimit
    }
  }

  #remember(places: string, frames: readonly StackFrame[]): readonly StackFrame[] {
    if (this.#known.size === traceLimit) this.#known = new Map()
    this.#known.set(places, frames)
    return frames
  }
}

/** Where the calls stand in the code that runs, whatever it was compiled from. */
function toPlaces(_error: Error, sites: readonly NodeJS.CallSite[]): string {
  return sites.map(site => `${site.getFileName()}:${site.getLineNumber()}:${site.getColumnNumber()}`).join('\n')
}
