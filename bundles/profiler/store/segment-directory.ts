import { randomBytes } from 'node:crypto'
import path from 'node:path'
import type { ProfileSummary } from '../profile/profile.ts'
import {
  createFile,
  type FileSystem,
  isRunning,
  isTrusted,
  listDirectory,
  readFile,
  readLines,
  removeFile,
  type Span,
  writeAll,
} from './file-system.ts'
import { IndexEntry } from './profile-index.ts'
import { limitMessages, type StoreLimits } from './profile-storage.ts'
import {
  encodeGroup,
  type IndexLine,
  isFactsLine,
  lineLimits,
  loadParsers,
  type Parsers,
  parseIndexLine,
  Segment,
  type SegmentSize,
  type StoredTexts,
  type StoredVersion,
} from './segment.ts'

/** The changes since the last look at the directory. */
interface SegmentChanges {
  /** Profiles of other processes, in the order in which each process has written them. */
  readonly entries: readonly IndexEntry[]
  /** Segments that other processes or users have removed. */
  readonly gone: readonly Segment[]
}

/** The segments in the directory: those of this process, and those of other processes, which are read. */
export class SegmentDirectory {
  readonly #directory: string
  readonly #fileSystem: FileSystem
  readonly #writer: string
  readonly #segments = new Map<string, Segment>()
  /** The readers of segments that may still grow. */
  readonly #readers = new Map<Segment, SegmentReader>()

  constructor(directory: string, fileSystem: FileSystem, writer: string) {
    this.#directory = directory
    this.#fileSystem = fileSystem
    this.#writer = writer
  }

  get all(): readonly Segment[] {
    return [...this.#segments.values()]
  }

  /** Whether another process may still write. */
  get hasOtherWriters(): boolean {
    return this.#readers.size > 0
  }

  /** Adds a segment that this process has begun. */
  add(segment: Segment): void {
    this.#segments.set(segment.name, segment)
  }

  /** Reads what other processes have written and removed; nothing when the directory cannot be read. */
  async refresh(): Promise<SegmentChanges> {
    // Before the listing: this process may begin a segment later, and the listing may lack it.
    const known = this.all
    const files = await listDirectory(this.#fileSystem, this.#directory)
    if (files === undefined) return { entries: [], gone: [] }
    const found = new Map(
      files.flatMap(file => Segment.fromFile(this.#directory, file) ?? []).map(segment => [segment.name, segment]),
    )
    const gone = known.filter(({ name }) => !found.has(name))
    for (const segment of gone) this.#delete(segment)
    for (const segment of found.values()) {
      if (segment.writer === this.#writer || this.#segments.has(segment.name)) continue
      this.add(segment)
      this.#readers.set(segment, new SegmentReader(segment, this.#fileSystem))
    }
    return { entries: await this.#readOthers(), gone }
  }

  /** Removes segments. Returns those that were removed; calls `onError` for each other segment. Never rejects. */
  async remove(segments: readonly Segment[], onError: (error: unknown) => void): Promise<Segment[]> {
    const removed: Segment[] = []
    for (const segment of segments) {
      try {
        // In this order: a process that is killed in between leaves a segment that retention finds again.
        await removeFile(this.#fileSystem, segment.indexPath)
        await removeFile(this.#fileSystem, segment.path)
        this.#delete(segment)
        removed.push(segment)
      } catch (error) {
        onError(error)
      }
    }
    return removed
  }

  /** Selects the segments to be removed because of the limits. `current` are those that this process writes. */
  selectExpired(
    limits: StoreLimits,
    size: SegmentSize,
    now: number,
    current: readonly (Segment | undefined)[],
  ): Segment[] {
    const select = (given: readonly Segment[], size: SegmentSize, limits: StoreLimits) => {
      const others = given.filter(segment => !current.includes(segment))
      // After such a time without a write, a process begins another segment with its next write.
      const isClosed = (segment: Segment) => !this.#readers.has(segment) || now - segment.modified > 2 * size.age
      const inUse = others.filter(segment => !isClosed(segment))
      return selectOverLimits(others.filter(isClosed), inUse, size, limits, now)
    }
    const messages = this.all.filter(({ isOfMessages }) => isOfMessages)
    const gone = messages.length === 0 ? [] : select(messages, limitMessages(size), limitMessages(limits))
    const left = this.all.filter(segment => !gone.includes(segment))
    return [...gone, ...select(left, size, limits)]
  }

  #delete(segment: Segment): void {
    this.#segments.delete(segment.name)
    this.#readers.delete(segment)
  }

  async #readOthers(): Promise<IndexEntry[]> {
    const read: IndexEntry[][] = []
    const kindOf = ({ isOfMessages, writer }: Segment) => `${writer} ${isOfMessages}`
    const last = new Map(this.all.toSorted((one, other) => one.time - other.time).map(each => [kindOf(each), each]))
    // One after another, so that requests of this process come first.
    for (const [segment, reader] of [...this.#readers]) {
      // Decided before it is read: a segment that is closed now does not grow any more.
      const isClosed = last.get(kindOf(segment)) !== segment || !isRunning(Number.parseInt(segment.writer, 10))
      read.push(await reader.read(isClosed))
      if (isClosed) this.#readers.delete(segment)
    }
    return read.flat()
  }
}

/** The figures of a segment that retention compares with the limits. */
export type SegmentUsage = Readonly<Pick<Segment, 'bytes' | 'newest' | 'profiles'>>

/** Many processes that end soon leave many small segments. */
const segmentLimit = 1000

/** This many of the newest profiles are never too old: a clock that jumps ahead must not empty the store. */
const sparedByAge = 100

/**
 * Selects the closed segments to be removed, so that they stay within the limits with those in use and with the `room`
 * that the newest segment may take. `now` is in milliseconds since 1970.
 */
export function selectOverLimits<segment extends SegmentUsage>(
  closed: readonly segment[],
  inUse: readonly SegmentUsage[],
  room: Pick<SegmentUsage, 'bytes' | 'profiles'>,
  limits: StoreLimits,
  now: number,
): segment[] {
  // The newest segment first. After the first segment over a limit, all older segments are removed, too.
  const newestFirst = closed.toReversed().sort((one, other) => other.newest - one.newest)
  const sum = (field: 'bytes' | 'profiles') => inUse.reduce((total, segment) => total + segment[field], 0)
  let bytes = sum('bytes')
  let profiles = sum('profiles')
  const first = newestFirst.findIndex((segment, index) => {
    const isOld = now - segment.newest > limits.age && profiles >= sparedByAge
    bytes += segment.bytes
    profiles += segment.profiles
    const isTooMuch = bytes + room.bytes > limits.bytes || profiles + room.profiles > limits.count
    return isOld || isTooMuch || inUse.length + index >= segmentLimit
  })
  return first === -1 ? [] : newestFirst.slice(first)
}

/** Bytes of an index, or of a part of a segment without an index, that are read at most. */
const sizeLimit = 64 * 1024 * 1024

/**
 * Reads the profiles that another process has appended to a segment since the last reading. It reads the lines of the
 * index; where these are missing or damaged, it reads the lines of the segment itself.
 */
class SegmentReader {
  readonly #segment: Segment
  readonly #fileSystem: FileSystem
  /** The offset until which the index was read. */
  #indexEnd = 0
  /** The offset until which the lines of the segment are known. */
  #known = 0
  /** Bytes of the segment at the last reading. */
  #size = 0
  /** When the last known profile was appended. */
  #time = 0
  /** The facts of the last known profile. */
  #facts: Span = { offset: 0, length: 0 }
  #entries: IndexEntry[] = []

  constructor(segment: Segment, fileSystem: FileSystem) {
    this.#segment = segment
    this.#fileSystem = fileSystem
  }

  /** Returns the new profiles, in the order in which they were written. A closed segment does not grow any more. */
  async read(isClosed: boolean): Promise<IndexEntry[]> {
    this.#entries = []
    const indexSize = await this.#measure(this.#segment.indexPath)
    const lines = indexSize === this.#indexEnd ? [] : await this.#readIndex()
    // In this order: a profile is written before its line of the index.
    const size = await this.#measure(this.#segment.path)
    for (const line of lines) {
      const { length, offset } = line.profile
      if (offset >= this.#known && offset + length <= size) await this.#takeIndexLine(line)
    }
    // The lines of the index for the newest profiles may not be written yet.
    await this.#readUntil(isClosed ? size : Math.min(size, this.#size))
    this.#size = size
    this.#segment.bytes = indexSize + size
    this.#segment.profiles += this.#entries.length
    return this.#entries
  }

  /** The size of a file; 0 when it is not trusted. */
  async #measure(path: string): Promise<number> {
    const state = await this.#fileSystem.lstat(path).catch(() => undefined)
    if (state === undefined || !(await isTrusted(this.#fileSystem, path, state))) return 0
    this.#segment.modified = Math.max(this.#segment.modified, state.mtimeMs)
    return state.size
  }

  async #readIndex(): Promise<IndexLine[]> {
    const { parseSummary } = await loadParsers()
    const lines: IndexLine[] = []
    const onLine = (text: string) => {
      const line = parseIndexLine(text, parseSummary)
      if (line !== undefined) lines.push(line)
    }
    await readFile(this.#fileSystem, this.#segment.indexPath, async (file, { size }) => {
      const from = Math.min(this.#indexEnd, size)
      if (size - from > sizeLimit) return
      this.#indexEnd = await readLines(file, { from, until: size, longest: lineLimits.index, onLine })
    })
    return lines
  }

  async #takeIndexLine({ facts, profile, summary, time, writer }: IndexLine): Promise<void> {
    // Facts are before the first profile that they belong to.
    if (facts.offset === this.#known) {
      this.#facts = facts
      this.#known = endOf(facts)
    }
    await this.#readUntil(profile.offset)
    this.#facts = facts
    this.#add(time, summary, profile, writer)
    this.#known = endOf(profile)
  }

  /** Reads the lines before an offset that are not known yet. */
  async #readUntil(until: number): Promise<void> {
    const from = this.#known
    if (until <= from) return
    if (until - from > sizeLimit) {
      this.#known = until
      return
    }
    const { parseProfile } = await loadParsers()
    const onLine = (text: string, span: Span) => this.#takeSegmentLine(text, span, parseProfile)
    await readFile(this.#fileSystem, this.#segment.path, async file => {
      this.#known = await readLines(file, { from, until, longest: lineLimits.profile, onLine })
    })
  }

  #takeSegmentLine(text: string, span: Span, parse: Parsers['parseProfile']): void {
    if (isFactsLine(text)) {
      this.#facts = span
      return
    }
    const summary = parse(text)?.summary
    if (summary === undefined) return
    // Only the index has the exact time. It is never before the time of the profile before.
    const ended = Math.round(summary.time + summary.duration)
    this.#add(Math.max(this.#time, ended), summary, span)
  }

  #add(time: number, summary: ProfileSummary, span: Span, writer: string = this.#segment.writer): void {
    const { newest, path } = this.#segment
    this.#time = time
    const place = { file: path, profile: span, facts: this.#facts }
    this.#entries.push(new IndexEntry(writer, time, { summary, place }))
    this.#segment.newest = Math.max(newest, time)
  }
}

function endOf({ length, offset }: Span): number {
  return offset + length + 1
}

/**
 * A copy of a profile, in a file of its own: a line of facts, the profile, and its line of an index. A copy without
 * that last line is not complete, and is ignored.
 */
interface Pin {
  readonly path: string
  readonly writer: string
  /** When the profile was appended. */
  readonly newest: number
  readonly version: StoredVersion
  readonly bytes: number
}

/** The pinned profiles: copies in a directory that retention and purges leave alone. */
export class Pins {
  readonly #directory: string
  readonly #fileSystem: FileSystem
  readonly #pins = new Map<string, Pin>()

  constructor(directory: string, fileSystem: FileSystem) {
    this.#directory = directory
    this.#fileSystem = fileSystem
  }

  get all(): readonly Pin[] {
    return [...this.#pins.values()]
  }

  /** The newest copy of a profile. */
  find(entry: IndexEntry): Pin | undefined {
    return this.#pins.size === 0 ? undefined : this.all.findLast(pin => isCopy(pin, entry))
  }

  /** Copies a profile; rejects when the copy cannot be written. Earlier copies are removed. */
  async add(entry: IndexEntry, { facts, text }: StoredTexts): Promise<void> {
    const { summary, time, token, writer } = entry
    const earlier = this.all.filter(pin => isCopy(pin, entry))
    const name = `${token}-${writer}-${randomBytes(4).toString('hex')}.json`
    const file = path.join(this.#directory, name)
    const { data, index, places } = encodeGroup(
      { path: file, writer },
      [{ entry, version: { summary, text, facts } }],
      0,
    )
    const bytes = Buffer.concat([data, index])
    const opened = await createFile(this.#fileSystem, this.#directory, file)
    try {
      await writeAll(opened, bytes).finally(() => opened.close())
    } catch (error) {
      await this.#fileSystem.unlink(file).catch(() => undefined)
      throw error
    }
    for (const place of places) {
      this.#pins.set(name, { path: file, writer, newest: time, version: { summary, place }, bytes: bytes.length })
    }
    for (const pin of earlier) await this.remove(pin)
  }

  /** Removes a copy; rejects when the disk does not allow that. */
  async remove(pin: Pin): Promise<void> {
    await removeFile(this.#fileSystem, pin.path)
    this.#pins.delete(path.basename(pin.path))
  }

  /** Finds pins that other processes have added and removed; none when the directory cannot be read. */
  async refresh(): Promise<{ readonly added: readonly IndexEntry[]; readonly removed: readonly Pin[] }> {
    const known = [...this.#pins]
    const files = await listDirectory(this.#fileSystem, this.#directory)
    const removed = files === undefined ? [] : known.filter(([file]) => !files.includes(file))
    for (const [file] of removed) this.#pins.delete(file)
    const added: IndexEntry[] = []
    for (const file of files ?? []) {
      const pin = this.#pins.has(file) ? undefined : await this.#read(file)
      if (pin === undefined) continue
      this.#pins.set(file, pin)
      added.push(new IndexEntry(pin.writer, pin.newest, pin.version))
    }
    return { added, removed: removed.map(([, pin]) => pin) }
  }

  async #read(name: string): Promise<Pin | undefined> {
    const [, token, writer] = pinFile.exec(name) ?? []
    if (writer === undefined) return undefined
    const file = path.join(this.#directory, name)
    let last = ''
    const onLine = (text: string) => {
      last = text
    }
    const bytes = await readFile(this.#fileSystem, file, async (opened, { size }) => {
      if (size < pinSizeLimit) await readLines(opened, { from: 0, until: size, longest: lineLimits.profile, onLine })
      return size
    })
    const line = parseIndexLine(last, (await loadParsers()).parseSummary)
    if (line === undefined || line.summary.token !== token || bytes === undefined) return undefined
    const { facts, profile, summary, time } = line
    return { path: file, writer, newest: time, version: { summary, place: { file, profile, facts } }, bytes }
  }
}

function isCopy({ version, writer }: Pin, entry: IndexEntry): boolean {
  return version.summary.token === entry.token && writer === entry.writer
}

const pinFile = /^((?:[0-9a-f]{6}){1,2})-([1-9]\d{0,8}-[0-9a-f]{8})-[0-9a-f]{8}\.json$/
/** Bytes: facts, a profile and a line of an index. */
const pinSizeLimit = 2 * lineLimits.profile + lineLimits.index
