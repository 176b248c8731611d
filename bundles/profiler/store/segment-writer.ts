import { randomBytes } from 'node:crypto'
import { creationFlags, directoryMode, fileMode } from './create-file.ts'
import type { FileSystem } from './file-system.ts'
import type { Place } from './index-entry.ts'
import { OpenSegment } from './open-segment.ts'
import { Segment } from './segment.ts'
import { type QueueItem, SegmentEncoder } from './segment-encoder.ts'
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

/** Told of an item that is safe, and where it stands. */
export type OnWritten = (item: QueueItem | undefined, place: Place) => void

/** Writes the segments of this process, one after another. */
export class SegmentWriter {
  /** Names its segments: nobody else writes to them. */
  readonly id: string = `${process.pid}-${randomBytes(4).toString('hex')}`
  readonly #options: SegmentWriterOptions
  #open: OpenSegment | undefined
  #lastTime = 0
  #buffer: Buffer = Buffer.alloc(0)

  constructor(options: SegmentWriterOptions) {
    this.#options = options
  }

  /** The segment that may still grow. */
  get current(): Segment | undefined {
    return this.#open?.segment
  }

  /** Writes items in their order; tells where each stands. What was told is safe even when it rejects. */
  async write(items: readonly QueueItem[], onWritten: OnWritten): Promise<void> {
    for (let next = 0; next < items.length; ) {
      const left = items.slice(next)
      const places = await this.#writeSome(left)
      for (const [index, place] of places.entries()) onWritten(left[index], place)
      next += places.length
    }
  }

  /** Writes items before it returns, to a segment of their own: the present one may be in the middle of a write. Throws. */
  writeNow(items: readonly QueueItem[]): readonly Place[] {
    const { directory, fileSystem, onBegin } = this.#options
    const segment = this.#createSegment()
    // Others take a segment for complete once there is a later one.
    this.leave()
    fileSystem.mkdirSync(directory, { recursive: true, mode: directoryMode })
    const { data, index, places } = new SegmentEncoder(segment).encode(items, Buffer.allocUnsafe)
    this.#writeFileNow(segment.path, data)
    this.#writeFileNow(segment.indexPath, index)
    segment.bytes = data.length + index.length
    segment.records = items.length
    onBegin(segment)
    return places
  }

  /** Lets the next write begin a new segment. */
  leave(): void {
    if (this.#open !== undefined) this.#open.isBroken = true
  }

  /** Lets go of what is open. */
  async close(): Promise<void> {
    const open = this.#open
    this.#open = undefined
    await open?.close()
  }

  /** Writes as many items as there is room for. A failure may be the fault of one segment, so another is tried once. */
  async #writeSome(items: readonly QueueItem[]): Promise<readonly Place[]> {
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

  #isFull({ isBroken, segment }: OpenSegment, [next]: readonly QueueItem[]): boolean {
    const { clock, size } = this.#options
    const age = Math.abs(clock() - segment.name.time)
    const bytes = segment.bytes + (next?.length ?? 0)
    return isBroken || age >= size.age || segment.records >= size.records || bytes > size.bytes
  }

  /** At least one: what is larger than a segment has one for itself. */
  #fitting({ bytes, records }: Segment, items: readonly QueueItem[]): readonly QueueItem[] {
    const { size } = this.#options
    let length = bytes
    const end = items.findIndex((item, index) => {
      length += item.length
      return index > 0 && (length > size.bytes || records + index >= size.records)
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
