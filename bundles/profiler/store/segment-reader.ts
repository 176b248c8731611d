import { parseProfile } from '../profile/parse-profile.ts'
import type { ProfileSummary } from '../profile/profile.ts'
import { type FileSystem, isTrusted, readFile, readLines, type Span } from './file-system.ts'
import { IndexEntry } from './profile-index.ts'
import { type IndexLine, isFactsLine, lineLimits, parseIndexLine, type Segment } from './segment.ts'

/** Bytes of an index, or of a part of a segment without an index, that are read at most. */
const sizeLimit = 64 * 1024 * 1024

/**
 * Reads the profiles that another process has appended to a segment since the last reading. It reads the lines of the
 * index; where these are missing or damaged, it reads the lines of the segment itself.
 */
export class SegmentReader {
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
    // Of lines that were written since the last reading, the lines of the index may still follow.
    await this.#readUntil(isClosed ? size : Math.min(size, this.#size))
    this.#size = size
    this.#segment.bytes = indexSize + size
    this.#segment.profiles += this.#entries.length
    return this.#entries
  }

  /** The size of a file; 0 when it is not trusted. */
  async #measure(path: string): Promise<number> {
    const state = await this.#fileSystem.lstat(path).catch(() => undefined)
    if (state === undefined || !isTrusted(state)) return 0
    this.#segment.modified = Math.max(this.#segment.modified, state.mtimeMs)
    return state.size
  }

  async #readIndex(): Promise<IndexLine[]> {
    const lines: IndexLine[] = []
    const onLine = (text: string) => {
      const line = parseIndexLine(text)
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
    const onLine = (text: string, span: Span) => this.#takeSegmentLine(text, span)
    await readFile(this.#fileSystem, this.#segment.path, async file => {
      this.#known = await readLines(file, { from, until, longest: lineLimits.profile, onLine })
    })
  }

  #takeSegmentLine(text: string, span: Span): void {
    if (isFactsLine(text)) {
      this.#facts = span
      return
    }
    const summary = parseProfile(text)?.summary
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
