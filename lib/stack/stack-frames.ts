import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { isStackReader } from '../observe-calls.ts'
import { packageDirectory, packageName } from '../package.ts'
import { readProperty } from '../text/describe-value.ts'

/** One call of a stack, as plain data. */
export interface StackFrame {
  /**
   * The name that V8 gives, such as `Router.match`, `new Kernel` or `get request [as request]`. Absent at top level.
   */
  readonly function?: string
  /** A path, or V8's name where there is no file: `node:fs`, `[eval]`. Absent for functions built into the engine. */
  readonly file?: string
  /** From 1. */
  readonly line?: number
  /** From 1. */
  readonly column?: number
  readonly isAsync: boolean
  /** Whether its file is made of packages, by its source map. */
  readonly isPackaged?: true
}

const frameLimit = 100
const knownLimit = 200
/**
 * Characters of a stack up to which its frames are cached. Frames are parts of the stack, and keep all of it in memory.
 */
const knownLength = 10_000

const known = new Map<string, readonly StackFrame[]>()

/**
 * Parses the stack of an error, innermost call first, at most 100 frames. The message is cut off first, so
 * that no line of it is taken for a frame. Without the message in the stack there are no frames. Never throws.
 */
export function parseStack(error: unknown): readonly StackFrame[] {
  const stack = hasOwnGetter(error) ? undefined : readProperty(error, 'stack')
  const message = readProperty(error, 'message') ?? ''
  if (typeof stack !== 'string' || typeof message !== 'string') return nothing
  const calls = cutMessage(stack, message)
  if (stack.length > knownLength) return parseLines(calls)
  let frames = known.get(calls)
  if (frames === undefined) {
    if (known.size === knownLimit) known.clear()
    frames = parseLines(calls)
    known.set(calls, frames)
  }
  return frames
}

/**
 * Since Node.js 22, the stack of each error has the same getter of V8. Another one is code of the
 * application, which is not called.
 */
function hasOwnGetter(error: unknown): boolean {
  const getter = getterOf(error)
  return typeof getter === 'function' && getter !== nativeGetter && !isStackReader(getter)
}

const nativeGetter = getterOf(new Error())

function getterOf(error: unknown): unknown {
  if (typeof error !== 'object' || error === null) return undefined
  try {
    return Object.getOwnPropertyDescriptor(error, 'stack')?.get
  } catch {
    // A proxy may throw.
    return undefined
  }
}

const nothing: readonly StackFrame[] = Object.freeze([])

/**
 * The frames of an error that was captured for its stack, `sites` are those of the same stack. A replacement of
 * `Error.prepareStackTrace` may write anything: without a line for each of the calls, they are in the compiled code.
 */
export function parseCaptured(error: unknown, sites: readonly NodeJS.CallSite[]): readonly StackFrame[] {
  const frames = parseStack(error)
  return frames.length === sites.length ? frames : sites.map(site => parseCall(String(site)))
}

const indent = '    at '

function parseLines(calls: string): readonly StackFrame[] {
  const lines = calls.split('\n', frameLimit)
  // Text that a library appends, such as the stack of a cause, begins on its own line.
  const end = lines.findIndex(line => !line.startsWith(indent))
  const own = lines.slice(0, end === -1 ? lines.length : end)
  return Object.freeze(own.map(line => Object.freeze(parseCall(line.slice(indent.length)))))
}

/**
 * The text behind the header. A header is `Name: message` or `Name [CODE]: message`, sometimes
 * below an excerpt of the source. No line break comes before the message in it, so the first match
 * is the message, whatever the message contains.
 */
function cutMessage(stack: string, message: string): string {
  const start = stack.indexOf(`${message}\n`)
  if (start === -1) return cutBeginning(stack, message)
  // A message that was emptied after the stack was made has an unknown end.
  if (message === '' && !isName(stack.slice(0, start))) return ''
  return stack.slice(start + message.length + 1)
}

/**
 * A message may be changed after the stack was made. Vite appends a sentence to it: then what stands before the
 * first call is its beginning. Sequelize writes its message to an error that had none: then a name stands there.
 */
function cutBeginning(stack: string, message: string): string {
  const name = /^[\w$.]+(?: \[\w+\])?\n(?= {4}at )/.exec(stack)?.[0]
  if (name !== undefined) return stack.slice(name.length)
  const end = stack.indexOf(`\n${indent}`)
  const [, old = ''] = /^\S+?(?: \[\w+\])?: (.+)/s.exec(stack.slice(0, Math.max(end, 0))) ?? []
  const isKnown = old !== '' && message.startsWith(old) && !message.includes(`\n${indent}`)
  return isKnown ? stack.slice(end + 1) : ''
}

/** Whether a header is a name alone. A replacement of `Error.prepareStackTrace` may write a colon behind it. */
function isName(header: string): boolean {
  const colon = header.indexOf(':')
  if (colon === -1) return true
  // The old message may have begun with a line break.
  return header.slice(colon).trim() === ':' && String(new Error().stack).startsWith('Error:')
}

/** Parses a call as V8 writes it, such as `async load (file:///app/shop.js:3:5)`. */
export function parseCall(text: string): StackFrame {
  const isAsync = text.startsWith('async ')
  const call = isAsync ? text.slice('async '.length) : text
  const open = call.endsWith(')') ? call.indexOf(' (') : -1
  const name = open === -1 ? '' : call.slice(0, open)
  const location = open === -1 ? call : call.slice(open + 2, -1)
  const place = parseLocation(location.startsWith('eval at ') ? evaluatorOf(location) : location)
  return {
    ...(name !== '' && name !== '<anonymous>' && { function: place.file === undefined ? name : shorten(name) }),
    ...place,
    isAsync,
  }
}

/**
 * The place of code from a string is that of the outermost `eval`:
 * `eval at f (eval at g (/app/a.js:4:7)), <anonymous>:1:7`.
 */
function evaluatorOf(location: string): string {
  const outermost = location.slice(location.lastIndexOf('(eval at ') + 1)
  const place = outermost.slice(outermost.indexOf(' (') + 2)
  const [end = ''] = /:\d+:\d+(?=\))/.exec(place) ?? []
  return place.slice(0, place.indexOf(end) + end.length)
}

/**
 * The name of a function without the class of a plain object, and without the property by which
 * the kernel calls it: they say nothing.
 */
function shorten(name: string): string {
  return name.replace(/^(?:Object\.(?!call$))?(.+?)(?: \[as call\])?$/, '$1')
}

function parseLocation(location: string): Pick<StackFrame, 'file' | 'line' | 'column'> {
  const [, file, line, column] = /^(.+):(\d+):(\d+)$/s.exec(location) ?? []
  return file === undefined ? {} : { file: toPath(file), line: Number(line), column: Number(column) }
}

/** The path of a file that a frame names: ES modules have URLs. */
export function toPath(file: string): string {
  if (!file.startsWith('file:')) return file
  try {
    return fileURLToPath(file)
  } catch {
    return file
  }
}

/** Writes a frame as V8 does: `at async Router.match (/app/lib/routing/router.ts:12:7)`. */
export function formatFrame(frame: CodePlace & Pick<StackFrame, 'isAsync'>): string {
  const place = frame.file === undefined ? '<anonymous>' : `${frame.file}:${frame.line}:${frame.column}`
  const call = frame.function === undefined ? place : `${frame.function} (${place})`
  return frame.isAsync ? `at async ${call}` : `at ${call}`
}

/** Parses the lines that {@link formatFrame} writes; other lines are left out. */
export function parseFrames(lines: readonly string[]): readonly StackFrame[] {
  return lines.filter(line => line.startsWith('at ')).map(line => parseCall(line.slice('at '.length)))
}

/** A place in a file, from 1. */
export interface SourcePlace {
  /** An absolute path, or Node's name of a module: `node:fs`. */
  readonly file: string
  readonly line: number
  readonly column: number
  readonly isPackaged?: true
}

/** A place in the code. */
export interface CodePlace {
  /** Absent at top level. */
  readonly function?: string | undefined
  /** The file, as {@link locateFrame} names it. */
  readonly file?: string | undefined
  readonly line?: number | undefined
  readonly column?: number | undefined
  /** Whether its function awaited the one below it: it runs no more. */
  readonly isAwaiting?: true | undefined
  /** Whether it is known to call a helper, a function that several lines call. */
  readonly callsHelper?: true | undefined
}

/** The place of a call, seen from the application. */
export interface FrameLocation {
  /**
   * Relative to the application's directory for files below it. Files of the installed package begin with its name.
   * Other files have absolute paths, or V8's name where there is no file. Absent for functions built into the engine.
   */
  readonly file?: string
  /**
   * `kernel`: the package `sinfonietta`. `vendor`: every other package of npm, and files outside of the application.
   * `runtime`: Node or the engine.
   */
  readonly origin: 'application' | 'kernel' | 'vendor' | 'runtime'
  /** The npm package of a file in `node_modules`: `handlebars`, `@scope/name`. */
  readonly package?: string
}

/** The folders of the package that it publishes. The rest of its repository is an application, with its tests. */
const ownFolders: readonly string[] = [
  'lib',
  'kernel',
  'bin',
  'bundles/framework',
  'bundles/maker',
  'bundles/libraries',
  'bundles/opentelemetry',
  'bundles/profiler',
].map(folder => path.normalize(folder) + path.sep)

/** The folder of compiled code, with the paths of the sources. Frames name it where source maps are off. */
const compiled = `dist${path.sep}`

/**
 * Gives the place of a frame, seen from the application in a directory. The directory of the package is different where
 * the package is installed, also by a link to its repository.
 */
export function locateFrame(
  { file, isPackaged }: Pick<StackFrame, 'file' | 'isPackaged'>,
  directory: string,
  ownDirectory: string = packageDirectory,
): FrameLocation {
  if (file === undefined) return { origin: 'runtime' }
  if (/^(?:node|wasm):/.test(file)) return { file, origin: 'runtime' }
  // A module that a plugin of Vite or Rollup has made, and no file.
  const virtual = file.indexOf('\0')
  if (virtual !== -1) return { file: file.slice(virtual + 1), origin: 'vendor' }
  const own = showPath(file, ownDirectory)
  const source = withoutCompiled(own)
  if (own !== file && ownFolders.some(folder => source.startsWith(folder))) {
    return { file: ownDirectory === directory ? source : path.join(packageName, own), origin: 'kernel' }
  }
  const inside = showPath(file, directory)
  const npmPackage = findPackage(inside)
  if (npmPackage !== undefined) return { file: inside, origin: 'vendor', package: npmPackage }
  if (isPackaged) return { file: inside, origin: 'vendor' }
  return inside === file ? { file, origin: 'vendor' } : { file: withoutCompiled(inside), origin: 'application' }
}

/** The innermost call of the application in the stack of an error; `undefined` without one. */
export function findOwnFrame(error: unknown, directory: string): StackFrame | undefined {
  return parseStack(error).find(frame => locateFrame(frame, directory).origin === 'application')
}

/**
 * Adds the place of an error in the application to a message:
 * `It is wrong (bundles/shop/shop-bundle.ts:12).` The place is the innermost call, if that still
 * runs: the programs in `bin/` only wait. A message that names the file stays as it is.
 */
export function addOwnPlace(message: string, error: unknown, directory: string): string {
  const frame = findOwnFrame(error, directory)
  const file = frame && locateFrame(frame, directory).file
  if (frame === undefined || frame.isAsync || message.includes(String(file))) return message
  return message.replace(/\.?$/, end => ` (${file}:${frame.line})${end}`)
}

/** The absolute path of a file that {@link locateFrame} has named. */
export function resolveLocated(file: string, directory: string, ownDirectory: string = packageDirectory): string {
  const prefix = packageName + path.sep
  const isOwn = ownDirectory !== directory && file.startsWith(prefix)
  return isOwn ? path.join(ownDirectory, file.slice(prefix.length)) : path.resolve(directory, file)
}

function withoutCompiled(file: string): string {
  return file.startsWith(compiled) ? file.slice(compiled.length) : file
}

/** Packages may be nested: the innermost one has the file. */
function findPackage(file: string): string | undefined {
  return /^(?:.*[\\/])?node_modules[\\/]((?:@[^\\/]+[\\/])?[^\\/]+)[\\/]/.exec(file)?.[1]?.replace('\\', '/')
}

/** The path of a file as people see it: relative to a directory for a file below it, otherwise unchanged. */
export function showPath(file: string, directory: string): string {
  return file.startsWith(directory + path.sep) ? file.slice(directory.length + 1) : file
}
