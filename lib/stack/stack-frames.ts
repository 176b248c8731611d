import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { readProperty } from './read-property.ts'

/** One call of a stack, as plain data. */
export interface StackFrame {
  /** As V8 names it, such as `Router.match`, `new Kernel` or `get request [as request]`; absent at top level. */
  readonly function?: string
  /** A path, or V8's name for what is no file: `node:fs`, `[eval]`. Absent for functions built into the engine. */
  readonly file?: string
  /** From 1. */
  readonly line?: number
  /** From 1. */
  readonly column?: number
  /** Whose code it is: `vendor` lies below `node_modules`, `runtime` is Node or the engine itself. */
  readonly origin: 'application' | 'vendor' | 'runtime'
  readonly isAsync: boolean
  /** Whether the code came from a string; file, line and column are those of the outermost `eval`. */
  readonly isEval: boolean
}

const frameLimit = 100

/**
 * Reads the stack of an error, innermost call first, at most 100 frames. The message is cut off before anything is
 * read, so that its lines never pass for frames; where it no longer stands in the stack there are none. Never throws.
 */
export function parseStack(error: unknown): readonly StackFrame[] {
  const stack = readProperty(error, 'stack')
  const message = readProperty(error, 'message') ?? ''
  if (typeof stack !== 'string' || typeof message !== 'string') return nothing
  const calls = cutMessage(stack, message)
  let frames = known.get(calls)
  if (frames === undefined) {
    if (known.size === knownLimit) known.clear()
    // A copy: a part of the stack would keep all of it in memory, with a message of any length.
    const own = Buffer.from(calls, 'utf16le').toString('utf16le')
    frames = parseCalls(own)
    known.set(own, frames)
  }
  return frames
}

const nothing: readonly StackFrame[] = Object.freeze([])

/** What was read: the same ways lead to the same errors, and of one the log, the error page and the profile all ask. */
const known = new Map<string, readonly StackFrame[]>()
const knownLimit = 200

const indent = '    at '

function parseCalls(calls: string): readonly StackFrame[] {
  const lines = calls.split('\n', frameLimit)
  // What libraries append, such as the stack of a cause, begins with a line of its own.
  const end = lines.findIndex(line => !line.startsWith(indent))
  const own = lines.slice(0, end === -1 ? lines.length : end)
  return Object.freeze(own.map(line => Object.freeze(parseFrame(line.slice(indent.length)))))
}

/**
 * The text behind the header. A header is `Name: message` or `Name [CODE]: message`, maybe below an excerpt of the
 * source. Its first line has no line break before the message, so the first match is the message, whatever it contains.
 */
function cutMessage(stack: string, message: string): string {
  const start = stack.indexOf(`${message}\n`)
  if (start === -1) return ''
  // Emptied after the stack was made: nobody knows any more where the old message ends.
  if (message === '' && stack.lastIndexOf(':', start) !== -1) return ''
  return stack.slice(start + message.length + 1)
}

function parseFrame(text: string): StackFrame {
  const isAsync = text.startsWith('async ')
  const call = isAsync ? text.slice('async '.length) : text
  const open = call.endsWith(')') ? call.indexOf(' (') : -1
  const name = open === -1 ? '' : call.slice(0, open)
  const location = open === -1 ? call : call.slice(open + 2, -1)
  const isEval = location.startsWith('eval at ')
  const place = parseLocation(isEval ? location.slice(location.lastIndexOf('(') + 1, location.indexOf(')')) : location)
  return {
    ...(name !== '' && name !== '<anonymous>' && { function: name }),
    ...place,
    origin: originOf(place.file),
    isAsync,
    isEval,
  }
}

function parseLocation(location: string): Pick<StackFrame, 'file' | 'line' | 'column'> {
  const [, file, line, column] = /^(.+):(\d+):(\d+)$/.exec(location) ?? []
  return file === undefined ? {} : { file: toPath(file), line: Number(line), column: Number(column) }
}

function toPath(file: string): string {
  if (!file.startsWith('file:')) return file
  try {
    return fileURLToPath(file)
  } catch {
    return file
  }
}

/** Whose code a file is. */
export function originOf(file: string | undefined): StackFrame['origin'] {
  if (file === undefined || file.startsWith('node:')) return 'runtime'
  return /[\\/]node_modules[\\/]/.test(file) ? 'vendor' : 'application'
}

/** Writes a frame as V8 does: `at async Router.match (/app/lib/routing/router.ts:12:7)`. */
export function formatFrame(frame: StackFrame): string {
  const place = frame.file === undefined ? '<anonymous>' : `${frame.file}:${frame.line}:${frame.column}`
  const call = frame.function === undefined ? place : `${frame.function} (${place})`
  return frame.isAsync ? `at async ${call}` : `at ${call}`
}

/** Where a call stands, as whoever works on the project sees it. */
export interface FrameLocation {
  /** Relative to the project's root when it lies below it; absent for functions built into the engine. */
  readonly file?: string
  /** `kernel` is the project's `kernel/` and `lib/`; `vendor` is also whatever lies outside of the project. */
  readonly origin: 'application' | 'kernel' | 'vendor' | 'runtime'
}

const kernelFolders: readonly string[] = ['kernel', 'lib'].map(folder => folder + path.sep)

/** Compiled code lies there as its source lies in the project; without source maps it is all there is. */
const compiled = `dist${path.sep}`

/** Says where a frame stands, seen from the project's root. */
export function locateFrame(
  { file, origin }: Pick<StackFrame, 'origin'> & { readonly file?: string | undefined },
  directory: string,
): FrameLocation {
  if (file === undefined) return { origin }
  if (!file.startsWith(directory + path.sep)) return { file, origin: origin === 'runtime' ? origin : 'vendor' }
  const inside = file.slice(directory.length + 1)
  const source = inside.startsWith(compiled) ? inside.slice(compiled.length) : inside
  if (origin === 'vendor') return { file: source, origin }
  return { file: source, origin: kernelFolders.some(folder => source.startsWith(folder)) ? 'kernel' : 'application' }
}

const callerLimit = 5
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
    Error.stackTraceLimit = callerLimit
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
