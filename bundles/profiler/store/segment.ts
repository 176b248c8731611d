import path from 'node:path'
import { type ProfileSummary, parseSummary, sizeLimit } from '../profile/profile.ts'
import { isObject, parseJsonObject } from '../profile/schema.ts'
import { type FileSystem, type OpenFile, readBytes, readFile, type Span } from './file-system.ts'

/*
 * A segment is two files that one process appends to: `<time>-<pid>-<random>.jsonl` has a line for each profile, and a line
 * for the facts of the process wherever they differ from the facts before. `….index` has a line for each profile: its summary,
 * and where the profile and its facts are.
 */

/** A segment, of this process or of another. */
export class Segment {
  /** The names of its files without their endings. Later segments of a process sort after earlier ones. */
  readonly name: string
  /** When it was begun, in milliseconds since 1970. */
  readonly time: number
  /** The id of the only store that appends to the segment: the id of the process and a random number. */
  readonly writer: string
  readonly path: string
  readonly indexPath: string
  /** Bytes of both files. */
  bytes = 0
  profiles = 0
  /** When its last profile was appended. */
  newest: number
  /** When another process last wrote to it, in milliseconds since 1970. */
  modified = 0

  constructor(directory: string, time: number, writer: string) {
    this.name = `${String(time).padStart(16, '0')}-${writer}`
    this.time = time
    this.writer = writer
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
    const [, time, writer] = /^(\d{16})-([1-9]\d{0,8}-[0-9a-f]{8})\.jsonl$/.exec(file) ?? []
    return time === undefined || writer === undefined ? undefined : new Segment(directory, Number(time), writer)
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
export interface StoredTexts {
  readonly text: string
  readonly facts: string
}

/** A version of a profile that is not written yet. */
export interface WaitingVersion extends StoredTexts {
  readonly summary: ProfileSummary
}

/** A version of a profile that is in a file. */
export interface StoredVersion {
  readonly summary: ProfileSummary
  readonly place: Place
}

/** A version of a profile to be written. */
export interface WriteItem {
  readonly entry: { readonly time: number; readonly writer: string }
  readonly version: WaitingVersion
}

/** A line of an index. */
export interface IndexLine {
  /** When the profile was appended, in milliseconds since 1970. */
  readonly time: number
  readonly profile: Span
  readonly facts: Span
  readonly summary: ProfileSummary
  /** The id of the store that appended the first version, if that was another one. */
  readonly writer?: string | undefined
}

/** Formats a line of an index, with its end. In the files, `kept` is the time and `record` the place of the profile. */
function formatIndexLine({ facts, profile, summary, time, writer }: IndexLine): string {
  const origin = writer === undefined ? '' : `,"writer":"${writer}"`
  const spans = `"record":[${profile.offset},${profile.length}],"facts":[${facts.offset},${facts.length}]${origin}`
  return `{"kept":${time},${spans},"summary":${JSON.stringify(summary)}}\n`
}

/** Parses a line of an index; `undefined` when it is damaged. */
export function parseIndexLine(text: string): IndexLine | undefined {
  const value = parseJsonObject(text)
  if (value === undefined) return undefined
  const time = value.kept
  const profile = parseSpan(value.record)
  const facts = parseSpan(value.facts)
  const summary = isObject(value.summary) ? parseSummary(value.summary) : undefined
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
export interface WrittenFacts {
  readonly text: string
  readonly span: Span
}

/** The bytes that a group adds to the two files of a segment, and the places of its items. */
interface EncodedGroup {
  readonly data: Buffer
  readonly index: Buffer
  readonly places: readonly Place[]
  readonly facts: WrittenFacts | undefined
}

/** Encodes a group for the file of a writer, which has `start` bytes so far. */
export function encodeGroup(
  { path: file, writer }: Pick<Segment, 'path' | 'writer'>,
  items: readonly WriteItem[],
  start: number,
  lastFacts?: WrittenFacts,
): EncodedGroup {
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
    const line = { time: entry.time, profile, facts: facts.span, summary: version.summary }
    index += formatIndexLine(entry.writer === writer ? line : { ...line, writer: entry.writer })
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
