import { parseProfile } from '../profile/parse-profile.ts'
import type { ProfileSummary } from '../profile/profile.ts'
import type { FileSystem } from './file-system.ts'
import { IndexEntry, type Span, Version } from './index-entry.ts'
import { type IndexLine, parseIndexLine } from './index-line.ts'
import { lineLimits } from './line-limits.ts'
import { isTrusted, readFile } from './read-file.ts'
import { readLines } from './read-lines.ts'
import { isFactsLine } from './read-record.ts'
import type { Segment } from './segment.ts'

/** Bytes of an index, or of a stretch of a segment that no index tells of. Nothing that the store writes comes near. */
const sizeLimit = 64 * 1024 * 1024

/** Milliseconds that the times of files may be behind the clock. */
const diskClockLag = 20

/**
 * Reads a segment that another process writes, or has written: what is new in its index since the last time. What the
 * index does not tell, because it is missing, damaged or behind, is read from the lines of the segment itself.
 */
export class SegmentReader {
  readonly #segment: Segment
  readonly #fileSystem: FileSystem
  /** Up to where the index was read. */
  #indexEnd = 0
  /** Up to where the lines of the segment are known. */
  #known = 0
  /** When the line before that was kept. */
  #keptAt = 0
  /** The facts that belong to it. */
  #facts: Span = { offset: 0, length: 0 }
  #entries: IndexEntry[] = []

  constructor(segment: Segment, fileSystem: FileSystem) {
    this.#segment = segment
    this.#fileSystem = fileSystem
  }

  /** The profiles that were not known before, in the order in which they stand in the segment. */
  async read(): Promise<IndexEntry[]> {
    this.#entries = []
    const indexSize = await this.#measure(this.#segment.indexPath)
    const lines = indexSize === this.#indexEnd ? [] : await this.#readIndex()
    // In this order: what the index tells of was written before it.
    const size = await this.#measure(this.#segment.path)
    for (const line of lines) {
      const { offset, length } = line.record
      if (offset >= this.#known && offset + length <= size) await this.#take(line)
    }
    await this.#readUntil(size)
    this.#segment.bytes = indexSize + size
    this.#segment.records += this.#entries.length
    return this.#entries
  }

  /** Bytes; none of what is no file of the store. */
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

  async #take({ facts, keptAt, record, summary }: IndexLine): Promise<void> {
    // Facts stand before the first record that they belong to.
    if (facts.offset === this.#known) this.#facts = this.#pass(facts)
    await this.#readUntil(record.offset)
    // Mostly they are those of the line before, and then one object will do.
    if (facts.offset !== this.#facts.offset || facts.length !== this.#facts.length) this.#facts = facts
    this.#add(keptAt, summary, this.#pass(record))
  }

  /** Reads the lines before an offset that are not known yet. */
  async #readUntil(until: number): Promise<void> {
    const from = this.#known
    if (until <= from) return
    if (until - from > sizeLimit) {
      this.#known = until
      return
    }
    const onLine = (text: string, span: Span) => this.#takeText(text, span)
    await readFile(this.#fileSystem, this.#segment.path, async file => {
      this.#known = await readLines(file, { from, until, longest: lineLimits.record, onLine })
    })
  }

  #takeText(text: string, span: Span): void {
    if (isFactsLine(text)) {
      this.#facts = span
      return
    }
    const summary = parseProfile(text)?.summary
    if (summary === undefined) return
    // When it was kept only the index knows; but it was after what stands before it, whatever the clock said.
    const keptAt = Math.max(this.#keptAt, Math.round(summary.time + summary.duration))
    this.#add(keptAt, summary, span, Math.max(keptAt, this.#segment.modified + diskClockLag))
  }

  #add(keptAt: number, summary: ProfileSummary, { length, offset }: Span, latest?: number): void {
    const place = { offset, length, file: this.#segment, facts: this.#facts }
    const version = new Version(summary, undefined, place)
    this.#entries.push(new IndexEntry(this.#segment.name.writer, keptAt, version, latest))
    this.#keptAt = keptAt
    this.#segment.newest = Math.max(this.#segment.newest, keptAt)
  }

  #pass(span: Span): Span {
    this.#known = span.offset + span.length + 1
    return span
  }
}
