import { createHash } from 'node:crypto'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { findSourceMap } from 'node:module'
import path from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { findProject, isProject } from '../find-package.ts'
import { readTime } from '../own-globals.ts'
import { processStart } from '../process-start.ts'
import { locateFrame, type SourcePlace, type StackFrame } from './stack-frames.ts'

/**
 * Finds the place in the source of a place in generated code: by the map that Node has loaded, or
 * else by the one that the file names, beside it or in it. `undefined` without a map, if the map is
 * damaged, or if the file is not the running code: `hash` is that of the code, without which the file
 * has to be older than its last load, or than the process if that is not known. A map is read once.
 */
export function findSource(place: SourcePlace, hash?: string): SourcePlace | undefined {
  const found = findIn(readLoaded(place.file), place) ?? find(place, hash)
  return found && followMaps(found)
}

/**
 * The line in the source of the code of a generated line, from the column on; without a map, the line itself.
 * `undefined` if it is the code of several lines, as in minified files.
 */
export function findSourceLine(place: SourcePlace): number | undefined {
  const map = readLoaded(place.file) ?? read(place.file)
  if (map === undefined || map.isPackaged) return place.line
  const found = map.findLine(place.line - 1, place.column - 1)
  return found && followMaps(found).line
}

/** A bundle may be made of files that are generated, too, such as those of Nuxt. */
function followMaps(place: SourcePlace, steps = 3): SourcePlace {
  const next = steps === 0 || isPackage.test(place.file) ? undefined : find(place)
  return next === undefined ? place : followMaps(next, steps - 1)
}

function find(place: SourcePlace, hash?: string): SourcePlace | undefined {
  return findIn(read(place.file, hash), place)
}

function findIn(map: SourceMap | undefined, place: SourcePlace): SourcePlace | undefined {
  // Nitro leaves packages out of its maps.
  return map?.isPackaged ? { ...place, isPackaged: true } : map?.find(place.line - 1, place.column - 1)
}

const isPackage = /(?:^|[\\/])node_modules[\\/]/

const loaded = new WeakMap<object, SourceMap | undefined>()

/** The map that Node has loaded. */
function readLoaded(file: string): SourceMap | undefined {
  const map = findSourceMap(file)
  if (map === undefined) return undefined
  if (!loaded.has(map)) loaded.set(map, parseMap(map.payload, file))
  return loaded.get(map)
}

/**
 * A frame of the application in its source; another one stays as it is. Where Node uses a map, it
 * has written the source in the stack.
 */
export function toSource(frame: StackFrame, directory: string): StackFrame {
  const { column, file: given, line } = frame
  if (given === undefined || line === undefined || column === undefined) return frame
  // Where Node uses the map of a bundler, it writes the name of the source.
  const bundled = given.startsWith('webpack:') ? findBundled(given, path.join(directory, 'any')) : undefined
  if (bundled !== undefined) return { ...frame, file: bundled }
  // SvelteKit writes stacks with the paths of sources, as seen from the folder of the application.
  const own = path.join(directory, given)
  const file = isRelative.test(given) && existsSync(own) ? own : given
  if (locateFrame({ file }, directory).origin !== 'application') return frame
  const found = find({ file, line, column })
  return { ...frame, file, ...(found && followMaps(found)) }
}

const isRelative = /^\w[\w.-]*\/[^:]+$/

const fileLimit = 200
/** Characters of the mappings of all files. */
const totalLimit = 20_000_000
/** Bytes of a file or a map. */
const sizeLimit = 32 * 1024 * 1024

const loadLimit = 10_000

/** When the files of CommonJS modules were loaded, in milliseconds since 1970. */
const loads = new Map<string, number>()

/** Notes that a file is loaded now: a bundler writes and loads files while the process runs. */
export function noteLoad(file: string): void {
  if (loads.size === loadLimit) loads.clear()
  loads.set(file, readTime())
}

/** The hashes of files, by those of their code with a line behind it. */
const completed = new Map<string, string>()

/** Notes that the code of a file runs with a line behind it: each place in it stays where it is. */
export function noteCompleted(code: string, running: string): void {
  completed.set(hashOf(running), hashOf(code))
}

function hashOf(code: string): string {
  return createHash('sha256').update(code).digest('hex')
}

const known = new Map<string, SourceMap | undefined>()
let total = 0

function read(file: string, hash?: string): SourceMap | undefined {
  const key = `${hash ?? loads.get(file)} ${file}`
  if (known.has(key)) return known.get(key)
  const map = readMap(file, hash)
  total += map?.size ?? 0
  if (known.size === fileLimit || total > totalLimit) {
    known.clear()
    total = map?.size ?? 0
  }
  known.set(key, map)
  return map
}

function readMap(file: string, hash: string | undefined): SourceMap | undefined {
  try {
    const { mtimeMs } = statSync(file)
    if (!path.isAbsolute(file) || (hash === undefined && mtimeMs >= (loads.get(file) ?? processStart())))
      return undefined
    const code = readText(file)
    if (hash !== undefined && hashOf(code) !== (completed.get(hash) ?? hash)) return undefined
    const comment = code.lastIndexOf('//# sourceMappingURL=')
    const [, name] = comment === -1 ? [] : (mapComment.exec(code.slice(comment)) ?? [])
    if (name === undefined) return undefined
    const url = new URL(name, pathToFileURL(file))
    const place = url.protocol === 'data:' ? file : fileURLToPath(url)
    const text = url.protocol === 'data:' ? decodeData(name) : readText(place)
    return parseMap(JSON.parse(text.replace(/^\)\]\}'?[^\n]*\n/, '')), place)
  } catch {
    return undefined
  }
}

/** `undefined` if the map is damaged. `place` is its file. */
function parseMap(data: MapData, place: string): SourceMap | undefined {
  try {
    return new SourceMap(data, source => toFile(source, place))
  } catch {
    return undefined
  }
}

/** A name may have spaces. Other comments may follow, such as that with an identity for debuggers. */
const mapComment = /^[^=]*=(\S(?:[^\r\n]*\S)?)[^\S\n]*(?:\n(?:\/\/[^\n]*|\r)?)*$/

function readText(file: string): string {
  const stats = statSync(file)
  if (!stats.isFile() || stats.size > sizeLimit) throw new RangeError('It is too long.')
  return readFileSync(file, 'utf8')
}

function decodeData(url: string): string {
  const [, head = '', data = ''] = /^([^,]*),(.*)$/s.exec(url) ?? []
  return /;base64$/i.test(head) ? Buffer.from(data, 'base64').toString() : decodeURIComponent(data)
}

/**
 * The path of a source, which a bundler names as `webpack://shop/./src/list.ts`: within the
 * project of the generated file. A compiler may have named it as seen from the project, not from
 * the map: then there is no such file beside the map. A source may be missing within the project, or within
 * a package, which mostly comes without its sources; a missing one elsewhere is none, such as that of the machine that
 * has compiled it.
 */
function toFile(source: string, from: string): string | undefined {
  if (bundledName.test(source)) return findBundled(source, from)
  try {
    // A prefix `file:///` before an absolute path makes one slash too many.
    const file = path.normalize(fileURLToPath(new URL(source, pathToFileURL(from))))
    if (existsSync(file)) return file
    const isKnown = isInPackage.test(file) || isInside(findProject(path.dirname(from)), file)
    return findInProject(source, from) ?? (isKnown ? file : undefined)
  } catch {
    return undefined
  }
}

const bundledName = /^(?!file:)[\w+.-]{2,}:\/\/[^/]*\/(?:\[project\]\/|\([\w-]+\)\/(?=\.\/))?([^?]+)/

function findBundled(source: string, from: string): string | undefined {
  const [, name] = bundledName.exec(source) ?? []
  return name === undefined ? undefined : findInProject(name, from)
}

const isInPackage = /[\\/]node_modules[\\/]/

function isInside(folder: string, file: string): boolean {
  return !/^\.\.(?:[\\/]|$)/.test(path.relative(folder, file))
}

function findInProject(name: string, from: string): string | undefined {
  for (let folder = path.dirname(from); ; folder = path.dirname(folder)) {
    const file = path.join(folder, name)
    if (existsSync(file)) return file
    if (folder === path.dirname(folder) || isProject(folder)) return undefined
  }
}

/** A part of a source map, as ECMA-426 describes it. */
interface MapData {
  readonly version?: unknown
  readonly mappings?: string
  readonly sources?: readonly (string | null)[]
  readonly sourceRoot?: string | null
  readonly sections?: readonly {
    readonly offset: { readonly line: number; readonly column: number }
    readonly map: MapData
  }[]
}

/** The mappings of a file. Lines and columns are counted from 0. */
class SourceMap {
  readonly size: number
  /** Whether it names packages, and no place in them. */
  readonly isPackaged: boolean
  readonly #parts: readonly { readonly line: number; readonly column: number; readonly part: MapPart }[]

  constructor(data: MapData, locate: (source: string) => string | undefined) {
    const sections = data.sections ?? [{ offset: { line: 0, column: 0 }, map: data }]
    this.#parts = sections.map(({ map, offset }) => ({ ...offset, part: new MapPart(map, locate) }))
    this.size = this.#parts.reduce((sum, { part }) => sum + part.mappings.length, 0)
    const { sources = [] } = data
    this.isPackaged = this.size === 0 && sources.length > 0 && sources.every(source => isPackage.test(String(source)))
  }

  find(line: number, column: number): SourcePlace | undefined {
    const found = this.#parts.findLast(part => part.line < line || (part.line === line && part.column <= column))
    return found?.part.find(line - found.line, line === found.line ? column - found.column : column)
  }

  /** The place of the code from a column on, if it is that of one line. */
  findLine(line: number, column: number): SourcePlace | undefined {
    const found = this.#parts.findLast(part => part.line < line || (part.line === line && part.column <= column))
    const isCut = this.#parts.some(part => part.line === line && part.column > column)
    return isCut
      ? undefined
      : found?.part.findLine(line - found.line, line === found.line ? column - found.column : column)
  }
}

const digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'
const values = new Map(Array.from(digits, (digit, value) => [digit.charCodeAt(0), value]))

/** The state of reading at the begin of a line: where it is, and the source, its line and its column up to there. */
type LineStart = readonly [at: number, source: number, line: number, column: number]

type Original = readonly [source: number, line: number, column: number]

class MapPart {
  readonly mappings: string
  readonly #sources: readonly (string | null)[]
  readonly #locate: (source: string) => string | undefined
  readonly #starts: LineStart[] = []
  #at = 0
  #generated = 0
  #hasSource = false
  #source = 0
  #line = 0
  #column = 0

  constructor(
    { mappings, sourceRoot, sources = [], version }: MapData,
    locate: (source: string) => string | undefined,
  ) {
    if (typeof mappings !== 'string' || version !== 3) throw new TypeError('It is no map of version 3.')
    this.mappings = mappings
    this.#sources = sources
    this.#locate = source => locate(sourceRoot ? sourceRoot.replace(/\/?$/, '/') + source : source)
    do {
      this.#starts.push([this.#at, this.#source, this.#line, this.#column])
      while (!this.#isLineEnd()) this.#readSegment()
    } while (this.#at++ < mappings.length)
  }

  find(line: number, column: number): SourcePlace | undefined {
    if (!this.#isAt(line)) return undefined
    let found: Original | undefined
    while (!this.#isLineEnd()) {
      this.#readSegment()
      if (this.#generated > column) break
      found = this.#read()
    }
    return this.#toPlace(found)
  }

  /** The place of the code from a column on, if it is that of one line. */
  findLine(line: number, column: number): SourcePlace | undefined {
    if (!this.#isAt(line)) return undefined
    let found: Original | undefined
    while (!this.#isLineEnd()) {
      this.#readSegment()
      const next = this.#read()
      if (found === undefined || this.#generated <= column) found = next
      else if (next !== undefined && (next[0] !== found[0] || next[1] !== found[1])) return undefined
    }
    return this.#toPlace(found)
  }

  /** Goes to the begin of a line; false if the map has no such line. */
  #isAt(line: number): boolean {
    const start = this.#starts[line]
    if (start === undefined) return false
    ;[this.#at, this.#source, this.#line, this.#column] = start
    this.#generated = 0
    return true
  }

  #read(): Original | undefined {
    return this.#hasSource ? [this.#source, this.#line, this.#column] : undefined
  }

  #toPlace(found: Original | undefined): SourcePlace | undefined {
    if (found === undefined || Math.min(...found) < 0) return undefined
    const source = this.#sources[found[0]]
    const file = typeof source === 'string' ? this.#locate(source) : undefined
    return file === undefined ? undefined : { file, line: found[1] + 1, column: found[2] + 1 }
  }

  /** Reads a segment, and the comma behind it. */
  #readSegment(): void {
    this.#generated += this.#readValue()
    this.#hasSource = !this.#isSegmentEnd()
    if (this.#hasSource) {
      this.#source += this.#readValue()
      this.#line += this.#readValue()
      this.#column += this.#readValue()
      // The index of a name.
      if (!this.#isSegmentEnd()) this.#readValue()
    }
    if (!this.#isLineEnd()) this.#at++
  }

  /** Reads a number in base 64: five bits in a digit, the lowest first, of which the first bit is the sign. */
  #readValue(): number {
    let value = 0
    for (let shift = 0; ; shift += 5) {
      const digit = values.get(this.mappings.charCodeAt(this.#at++))
      if (digit === undefined || shift > 30) throw new RangeError('It is damaged.')
      value += (digit & 31) << shift
      if (digit < 32) return value & 1 ? -(value >>> 1) : value >>> 1
    }
  }

  #isSegmentEnd(): boolean {
    return this.#isLineEnd() || this.mappings[this.#at] === ','
  }

  #isLineEnd(): boolean {
    return this.#at >= this.mappings.length || this.mappings[this.#at] === ';'
  }
}
