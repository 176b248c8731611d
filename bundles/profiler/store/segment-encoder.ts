import type { IndexEntry, Place, RecordText, Span, Version } from './index-entry.ts'
import { formatIndexLine } from './index-line.ts'
import { wrapFacts } from './read-record.ts'
import type { Segment } from './segment.ts'

/** A version of a profile that is to be written. */
export interface QueueItem {
  readonly entry: IndexEntry
  readonly version: Version
  readonly text: RecordText
  /** Characters. */
  readonly length: number
}

/** What is to be appended to the two files of a segment. */
export interface EncodedGroup {
  readonly data: Buffer
  readonly index: Buffer
  /** Where each of the items will stand. */
  readonly placed: readonly PlacedItem[]
}

/** A version of a profile, and where it stands. */
export interface PlacedItem {
  readonly item: QueueItem
  readonly place: Place
}

/** Of a character in UTF-8, at the most: JSON has no lone surrogates, and a pair takes four. */
const bytesPerCharacter = 3

/** Turns profiles into the lines of one segment, one group after another: facts have a line wherever they differ. */
export class SegmentEncoder {
  readonly #segment: Segment
  #offset = 0
  #facts: { readonly text: string; readonly span: Span } | undefined

  constructor(segment: Segment) {
    this.#segment = segment
  }

  /** Encodes a group; the data is in memory that `createBuffer` gives and that must be at least that long. */
  encode(items: readonly QueueItem[], createBuffer: (length: number) => Buffer): EncodedGroup {
    const start = this.#offset
    const data = createBuffer(this.#longest(items))
    const write = (line: string): Span => {
      const offset = this.#offset
      const length = data.write(line, offset - start)
      data[offset - start + length] = newline
      this.#offset += length + 1
      return { offset, length }
    }
    let index = ''
    const placed = items.map((item): PlacedItem => {
      const { entry, text, version } = item
      if (this.#facts?.text !== text.facts) this.#facts = { text: text.facts, span: write(wrapFacts(text.facts)) }
      const { span: facts } = this.#facts
      const record = write(text.record)
      const { length, offset } = record
      index += formatIndexLine({ keptAt: entry.keptAt, record, facts, summary: version.summary })
      return { item, place: { offset, length, file: this.#segment, facts } }
    })
    return { data: data.subarray(0, this.#offset - start), index: Buffer.from(index), placed }
  }

  #longest(items: readonly QueueItem[]): number {
    let length = 0
    let facts = this.#facts?.text
    for (const { text } of items) {
      if (text.facts !== facts) length += wrapFacts(text.facts).length + 1
      facts = text.facts
      length += text.record.length + 1
    }
    return length * bytesPerCharacter
  }
}

const newline = 0x0a
