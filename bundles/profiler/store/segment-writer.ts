import { randomBytes } from 'node:crypto'
import { creationFlags, directoryMode, fileMode } from './create-file.ts'
import type { FileSystem } from './file-system.ts'
import { OpenSegment } from './open-segment.ts'
import { Segment } from './segment.ts'
import { type PlacedItem, type QueueItem, SegmentEncoder } from './segment-encoder.ts'
import { createSegmentName } from './segment-name.ts'

/** How segments are written. */
export interface SegmentWriterOptions {
  readonly directory: string
  readonly fileSystem: FileSystem
  /** Milliseconds since 1970. */
  readonly clock: () => number
  readonly size: SegmentSize
  /** Told of each segment once its files are there. */
  readonly onBegin: (segment: Segment) => void
}

/** When a segment is full: by the bytes of its files, its profiles, or the milliseconds since it was begun. */
export interface SegmentSize {
  readonly bytes: number
  readonly records: number
  readonly age: number
}

/** Writes the segments of this process, one after another. */
export class SegmentWriter {
  /** Names its segments: nobody else writes to them. */
  readonly id: string = `${process.pid}-${randomBytes(4).toString('hex')}`
  readonly #options: SegmentWriterOptions
  #open: OpenSegment | undefined
  #lastTime = 0
  /** Segments that were begun until then take no more. */
  #left = 0
  #buffer: Buffer = Buffer.alloc(0)

  constructor(options: SegmentWriterOptions) {
    this.#options = options
  }

  /** The segment that may still grow. */
  get current(): Segment | undefined {
    return this.#open?.segment
  }

  /** Writes items in their order; tells where each stands. What was told is safe even when it rejects. */
  async write(items: readonly QueueItem[], onWritten: (placed: PlacedItem) => void): Promise<void> {
    for (let left = items; left.length > 0; ) {
      const placed = await this.#writeSome(left)
      placed.forEach(onWritten)
      left = left.slice(placed.length)
    }
  }

  /** Writes items before it returns, to a segment of their own: the present one may be in the middle of a write. Throws. */
  writeNow(items: readonly QueueItem[]): readonly PlacedItem[] {
    const { directory, fileSystem, onBegin } = this.#options
    // Others take a segment for complete once there is a later one.
    this.leave()
    const segment = this.#createSegment()
    fileSystem.mkdirSync(directory, { recursive: true, mode: directoryMode })
    const { data, index, placed } = new SegmentEncoder(segment).encode(items, Buffer.allocUnsafe)
    this.#writeFileNow(segment.path, data)
    this.#writeFileNow(segment.indexPath, index)
    segment.bytes = data.length + index.length
    segment.records = items.length
    onBegin(segment)
    return placed
  }

  /** Lets what is written from now on begin a new segment; gives the time before which the others were begun. */
  leave(): number {
    this.#lastTime++
    this.#left = this.#lastTime
    return this.#left
  }

  /** Lets go of what is open. */
  async close(): Promise<void> {
    const open = this.#open
    this.#open = undefined
    await open?.close()
  }

  /** Writes as many items as there is room for. A failure may be the fault of one segment, so another is tried once. */
  async #writeSome(items: readonly QueueItem[]): Promise<readonly PlacedItem[]> {
    const present = this.#open === undefined || this.#isFull(this.#open, items) ? undefined : this.#open
    try {
      const open = present ?? (await this.#begin())
      return await open.write(this.#fitting(open.segment, items), this.#createBuffer)
    } catch (error) {
      await this.close()
      if (present === undefined) throw error
      return this.#writeSome(items)
    }
  }

  #isFull(open: OpenSegment, items: readonly QueueItem[]): boolean {
    const { clock, size } = this.#options
    const { time } = open.segment.name
    const isOld = time <= this.#left || Math.abs(clock() - time) >= size.age
    return open.isBroken || isOld || this.#fitting(open.segment, items).length === 0
  }

  /** What is larger than a segment has one for itself. */
  #fitting(segment: Segment, items: readonly QueueItem[]): readonly QueueItem[] {
    const { size } = this.#options
    let { bytes, records } = segment
    const end = items.findIndex(({ length }) => {
      bytes += length
      records++
      return records > 1 && (bytes > size.bytes || records > size.records)
    })
    return end === -1 ? items : items.slice(0, end)
  }

  async #begin(): Promise<OpenSegment> {
    await this.close()
    const { directory, fileSystem, onBegin } = this.#options
    this.#open = await OpenSegment.create(this.#createSegment(), directory, fileSystem)
    onBegin(this.#open.segment)
    return this.#open
  }

  #createSegment(): Segment {
    // Later segments sort after earlier ones, whatever the clock does.
    this.#lastTime = Math.max(Math.floor(this.#options.clock()), this.#lastTime + 1)
    return new Segment(this.#options.directory, createSegmentName(this.#lastTime, this.id))
  }

  readonly #createBuffer = (length: number): Buffer => {
    if (length > sharedLength) return Buffer.allocUnsafeSlow(length)
    if (length > this.#buffer.length) this.#buffer = Buffer.allocUnsafeSlow(Math.max(length, 2 * this.#buffer.length))
    return this.#buffer
  }

  #writeFileNow(path: string, bytes: Buffer): void {
    const { fileSystem } = this.#options
    const file = fileSystem.openSync(path, creationFlags, fileMode)
    try {
      fileSystem.fchmodSync(file, fileMode)
      for (let written = 0; written < bytes.length; ) {
        written += fileSystem.writeSync(file, bytes, written, bytes.length - written)
      }
    } finally {
      fileSystem.closeSync(file)
    }
  }
}

/** Groups up to this many bytes are encoded in the same memory, one after another. */
const sharedLength = 4 * 1024 * 1024
