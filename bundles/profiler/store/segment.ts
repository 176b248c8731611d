import { randomBytes } from 'node:crypto'
import path from 'node:path'
import { isObject, parseJsonObject, schemaVersion, sizeLimit } from '../profile/json.ts'
import type { ProfileSummary } from '../profile/profile.ts'
import type { WaitingProfile } from './base-profile-storage.ts'
import {
  createFile,
  createFileNow,
  directoryMode,
  type FileSystem,
  type OpenFile,
  readBytes,
  readFile,
  type Span,
  writeAll,
} from './file-system.ts'

/*
 * A segment is two files that one process appends to: `<time>-<pid>-<random>.jsonl` has a line for
 * each profile, and a line for the facts of the process wherever they differ from the facts
 * before. `….index` has a line for each profile: its summary, and where the profile and its facts
 * are. Messages are in segments of their own, `<time>-<pid>-<random>-messages.jsonl`.
 */

/** The functions that parse stored profiles. */
export type Parsers = Pick<typeof import('../profile/parse-profile.ts'), 'parseProfile' | 'parseSummary'>

let parsers: Parsers | undefined

/**
 * Loads them with the first reading: a process that only writes profiles does not need the schemas. Once only: Node
 * calls `then` for each `import()`, and an application that has replaced it would get the error.
 */
export async function loadParsers(): Promise<Parsers> {
  parsers ??= await import('../profile/parse-profile.ts')
  return parsers
}

/** A segment, of this process or of another. */
export class Segment {
  /** The names of its files without their endings. Later segments of a process sort after earlier ones. */
  readonly name: string
  /** When it was begun, in milliseconds since 1970. */
  readonly time: number
  /** The id of the only store that appends to the segment: the id of the process and a random number. */
  readonly writer: string
  readonly isOfMessages: boolean
  readonly path: string
  readonly indexPath: string
  /** Bytes of both files. */
  bytes = 0
  profiles = 0
  /** When its last profile was appended. */
  newest: number
  /** When another process last wrote to it, in milliseconds since 1970. */
  modified = 0

  constructor(directory: string, time: number, writer: string, isOfMessages: boolean) {
    this.name = `${String(time).padStart(16, '0')}-${writer}${isOfMessages ? '-messages' : ''}`
    this.time = time
    this.writer = writer
    this.isOfMessages = isOfMessages
    this.path = path.join(directory, `${this.name}.jsonl`)
    this.indexPath = path.join(directory, `${this.name}.index`)
    this.newest = time
  }

  /** Called when a group of profiles was written. */
  grow(bytes: number, items: readonly WriteItem[]): void {
    this.bytes += bytes
    this.profiles += items.length
    for (const { entry } of items) this.newest = Math.max(this.newest, entry.time)
  }

  /** The segment that a file belongs to; `undefined` when the file is not one of the store. */
  static fromFile(directory: string, file: string): Segment | undefined {
    const [, time, writer, kind] = /^(\d{16})-([1-9]\d{0,8}-[0-9a-f]{8})(-messages)?\.jsonl$/.exec(file) ?? []
    if (time === undefined || writer === undefined) return undefined
    return new Segment(directory, Number(time), writer, kind !== undefined)
  }
}

/** Bytes of the longest lines: of a profile or of facts, and of an index. Longer lines are neither written nor read. */
export const lineLimits: { readonly profile: number; readonly index: number } = {
  profile: sizeLimit,
  index: 64 * 1024,
}

/** Where a profile is, and the facts of its process. */
export interface Place {
  /** The path of the file. */
  readonly file: string
  readonly profile: Span
  readonly facts: Span
}

/** The stored texts of a profile and of the facts of its process. */
export type StoredTexts = Pick<WaitingProfile, 'facts' | 'text'>

/** A version of a profile that is in a file. */
export interface StoredVersion {
  readonly summary: ProfileSummary
  readonly place: Place
}

/** A version of a profile to be written. */
export interface WriteItem {
  readonly entry: { readonly time: number; readonly writer: string }
  readonly version: WaitingProfile
}

/** A line of an index. */
export interface IndexLine {
  /** When the profile was appended, in milliseconds since 1970. */
  readonly time: number
  readonly profile: Span
  readonly facts: Span
  readonly summary: ProfileSummary
  /**
   * The id of the store that appended the first version of the profile; absent if it is the store
   * that writes the segment.
   */
  readonly writer?: string | undefined
}

/**
 * Formats a line of an index, with its end. Two names in the file differ: `kept` is `time`, and `record` is `profile`.
 */
function formatIndexLine(
  { facts, profile, time, writer }: Omit<IndexLine, 'summary'>,
  version: WaitingProfile,
): string {
  const origin = writer === undefined ? '' : `,"writer":"${writer}"`
  const spans = `"record":[${profile.offset},${profile.length}],"facts":[${facts.offset},${facts.length}]${origin}`
  return `{"kept":${time},${spans},"summary":${summaryTextOf(version)}}\n`
}

/** The text of a profile begins with its summary: to write it a second time would take 2 µs. */
function summaryTextOf({ summary, text }: WaitingProfile): string {
  const end = text.startsWith(summaryStart) ? text.indexOf(summaryEnd) : -1
  return end === -1 ? JSON.stringify(summary) : text.slice(summaryStart.length, end)
}

const summaryStart = `{"schemaVersion":${schemaVersion},"summary":`
/** In a string of JSON, its quotes would have a backslash. */
const summaryEnd = ',"children":['

/** Parses a line of an index, and its summary as `parse` does; `undefined` when it is damaged. */
export function parseIndexLine(text: string, parse: Parsers['parseSummary']): IndexLine | undefined {
  const value = parseJsonObject(text)
  if (value === undefined) return undefined
  const time = value.kept
  const profile = parseSpan(value.record)
  const facts = parseSpan(value.facts)
  const summary = isObject(value.summary) ? parse(value.summary) : undefined
  if (!isWhole(time) || profile === undefined || facts === undefined || summary === undefined) return undefined
  const { writer } = value
  return { time, profile, facts, summary, ...(typeof writer === 'string' && writerId.test(writer) && { writer }) }
}

const writerId = /^[1-9]\d{0,8}-[0-9a-f]{8}$/

function parseSpan(value: unknown): Span | undefined {
  if (!Array.isArray(value)) return undefined
  const [offset, length] = value
  return isWhole(offset) && isWhole(length) ? { offset, length } : undefined
}

/** Whether a value is a time or an offset. Every offset is less than the greatest time of a Date. */
function isWhole(value: unknown): value is number {
  return Number.isInteger(value) && Number(value) >= 0 && Number(value) <= 8.64e15
}

const factsStart = '{"facts":'

/** Formats the line of facts. The line of a profile never has this start. */
function formatFacts(facts: string): string {
  return `${factsStart}${facts}}`
}

/** Whether a line of a segment contains facts. */
export function isFactsLine(line: string): boolean {
  return line.startsWith(factsStart)
}

/** The facts that were written last. The next profiles refer to them if their facts are equal. */
interface WrittenFacts {
  readonly text: string
  readonly span: Span
}

/**
 * Encodes a group for the file of a writer, which has `start` bytes so far: the bytes that it adds to the two files of
 * a segment, and the places of its items.
 */
export function encodeGroup(
  { path: file, writer }: Pick<Segment, 'path' | 'writer'>,
  items: readonly WriteItem[],
  start: number,
  lastFacts?: WrittenFacts,
) {
  const lines: string[] = []
  let index = ''
  let facts = lastFacts
  let end = start
  const add = (line: string): Span => {
    const span = { offset: end, length: Buffer.byteLength(line) }
    lines.push(line, '\n')
    end += span.length + 1
    return span
  }
  const places = items.map(({ entry, version }): Place => {
    if (facts?.text !== version.facts) facts = { text: version.facts, span: add(formatFacts(version.facts)) }
    const profile = add(version.text)
    const line = { time: entry.time, profile, facts: facts.span }
    index += formatIndexLine(entry.writer === writer ? line : { ...line, writer: entry.writer }, version)
    return { file, profile, facts: facts.span }
  })
  // Line by line: one text of all lines would be one more copy.
  const data = Buffer.allocUnsafe(end - start)
  let written = 0
  for (const line of lines) written += data.write(line, written)
  return { data, index: Buffer.from(index), places, facts }
}

/** Reads a profile; `undefined` when it is no longer there. Facts that cannot be read are an empty text. */
export function readTexts(fileSystem: FileSystem, place: Place): Promise<StoredTexts | undefined> {
  return readFile(fileSystem, place.file, async file => {
    const text = await readSpan(file, place.profile)
    const facts = await readSpan(file, place.facts)
    return text === '' ? undefined : { text, facts: isFactsLine(facts) ? facts.slice(factsStart.length, -1) : '' }
  })
}

/** The text of a span; empty when the file ends before. */
async function readSpan(file: OpenFile, { length, offset }: Span): Promise<string> {
  if (length > lineLimits.profile) return ''
  const bytes = await readBytes(file, offset, length)
  return bytes.length < length ? '' : bytes.toString()
}

/** When a segment is full. */
export interface SegmentSize {
  /** Of both files. */
  readonly bytes: number
  readonly profiles: number
  /** Milliseconds since it was begun. */
  readonly age: number
}

/** How segments are written. */
interface SegmentWriterOptions {
  /** The id of the store, in the names of its segments. */
  readonly id: string
  readonly isOfMessages: boolean
  readonly directory: string
  readonly fileSystem: FileSystem
  /** Milliseconds since 1970. */
  readonly clock: () => number
  readonly size: SegmentSize
  /** Called with each segment once its files exist. */
  readonly onBegin: (segment: Segment) => void
}

/** Draws the id of a store. No other store writes to its segments. */
export function drawWriterId(): string {
  return `${process.pid}-${randomBytes(4).toString('hex')}`
}

/** Writes the segments of this process for profiles of a kind, one after another. */
export class SegmentWriter {
  readonly #options: SegmentWriterOptions
  #open: OpenSegment | undefined
  #lastTime = 0
  /** Segments that were begun at this time or before get no further items. */
  #leftUntil = 0

  constructor(options: SegmentWriterOptions) {
    this.#options = options
  }

  /** The segment that may still grow. */
  get current(): Segment | undefined {
    return this.#open?.segment
  }

  /**
   * Writes as many items as one segment has room for; returns their places. When the write to the current segment
   * fails, writes to a new segment. Rejects when this write fails, too.
   */
  async write(items: readonly WriteItem[]): Promise<readonly Place[]> {
    const fitting = this.#open === undefined ? [] : this.#selectFitting(this.#open, items)
    if (this.#open !== undefined && fitting.length > 0) {
      try {
        return await this.#open.write(fitting)
      } catch {
        // The files were removed or changed, or the disk fails. Only a failing disk fails the new segment, too.
      }
    }
    const open = await this.#begin()
    try {
      return await open.write(this.#selectFitting(open, items))
    } catch (error) {
      await this.close()
      throw error
    }
  }

  /**
   * Writes items before it returns, to a segment of their own: the current one may be in the middle of a write. Throws.
   */
  writeNow(items: readonly WriteItem[]): readonly Place[] {
    const { directory, fileSystem, onBegin } = this.#options
    // Other processes expect that only the last segment of a process grows.
    this.leave()
    const segment = this.#createSegment()
    const { data, index, places } = encodeGroup(segment, items, 0)
    fileSystem.mkdirSync(directory, { recursive: true, mode: directoryMode })
    createFileNow(fileSystem, segment.path, data)
    createFileNow(fileSystem, segment.indexPath, index)
    segment.grow(data.length + index.length, items)
    onBegin(segment)
    return places
  }

  /**
   * Ends the current segment: further items go to a new segment, which is begun after the time
   * `until`. Returns the latest time at which a segment was begun.
   */
  leave(until: number = this.#lastTime + 1): number {
    this.#lastTime = Math.max(this.#lastTime, until)
    this.#leftUntil = this.#lastTime
    return this.#leftUntil
  }

  /** Closes the open files. */
  async close(): Promise<void> {
    const open = this.#open
    this.#open = undefined
    await open?.close()
  }

  /**
   * Selects the items that fit into a segment; none when it is full or old. A profile that is larger than a segment has
   * a segment of its own.
   */
  #selectFitting({ isBroken, segment }: OpenSegment, items: readonly WriteItem[]): readonly WriteItem[] {
    const { clock, size } = this.#options
    const isOld = segment.time <= this.#leftUntil || Math.abs(clock() - segment.time) >= size.age
    if (isBroken || (isOld && segment.profiles > 0)) return []
    let { bytes, profiles } = segment
    const end = items.findIndex(({ version }) => {
      bytes += Buffer.byteLength(version.text)
      profiles++
      return profiles > 1 && (bytes > size.bytes || profiles > size.profiles)
    })
    return end === -1 ? items : items.slice(0, end)
  }

  async #begin(): Promise<OpenSegment> {
    await this.close()
    const { directory, fileSystem, onBegin } = this.#options
    const segment = this.#createSegment()
    const data = await createFile(fileSystem, directory, segment.path)
    try {
      const index = await createFile(fileSystem, directory, segment.indexPath)
      this.#open = new OpenSegment(segment, fileSystem, data, index)
    } catch (error) {
      await data.close()
      await fileSystem.unlink(segment.path).catch(() => undefined)
      throw error
    }
    onBegin(segment)
    return this.#open
  }

  #createSegment(): Segment {
    // Names of later segments sort after names of earlier segments, also when the clock is set back.
    this.#lastTime = Math.max(Math.floor(this.#options.clock()), this.#lastTime + 1)
    return new Segment(this.#options.directory, this.#lastTime, this.#options.id, this.#options.isOfMessages)
  }
}

/** A segment with its open files. After a failure nothing more is written to it; its profiles stay. */
class OpenSegment {
  readonly segment: Segment
  isBroken = false
  readonly #fileSystem: FileSystem
  readonly #data: OpenFile
  readonly #index: OpenFile
  #dataSize = 0
  #indexSize = 0
  #facts: WrittenFacts | undefined

  constructor(segment: Segment, fileSystem: FileSystem, data: OpenFile, index: OpenFile) {
    this.segment = segment
    this.#fileSystem = fileSystem
    this.#data = data
    this.#index = index
  }

  /** Writes a group. Rejects when its items are not safe in the file. */
  async write(items: readonly WriteItem[]): Promise<readonly Place[]> {
    const { segment } = this
    const { data, facts, index, places } = encodeGroup(segment, items, this.#dataSize, this.#facts)
    this.#facts = facts
    try {
      this.#dataSize = await extend(this.#data, data, this.#dataSize)
    } catch (error) {
      this.isBroken = true
      throw error
    }
    try {
      this.#indexSize = await extend(this.#index, index, this.#indexSize)
    } catch {
      // The lines of an index can be made again from the segment, but the next lines must not follow a gap.
      this.isBroken = true
    }
    segment.grow(data.length + index.length, items)
    return places
  }

  /** Closes the files, and removes half a group, or files without a profile. Never rejects. */
  async close(): Promise<void> {
    const { indexPath, path, profiles } = this.segment
    if (this.isBroken) await Promise.allSettled([cut(this.#data, this.#dataSize), cut(this.#index, this.#indexSize)])
    await Promise.allSettled([this.#data.close(), this.#index.close()])
    if (profiles === 0) await Promise.allSettled([this.#fileSystem.unlink(path), this.#fileSystem.unlink(indexPath)])
  }
}

/**
 * Appends to a file of this size; gives its new size. Rejects when the file was removed or changed by others meanwhile.
 */
async function extend(file: OpenFile, bytes: Buffer, size: number): Promise<number> {
  await writeAll(file, bytes)
  const state = await file.stat()
  const expected = size + bytes.length
  if (state.nlink === 0 || state.size !== expected) {
    throw new Error('A segment was removed or changed while it was written.')
  }
  return expected
}

/** Removes the bytes of a failed write. A shorter file stays as it is: truncating would make it longer. */
async function cut(file: OpenFile, size: number): Promise<void> {
  const state = await file.stat()
  if (state.size > size) await file.truncate(size)
}
