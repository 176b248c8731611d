import { createFile, writeAll } from './create-file.ts'
import type { FileSystem, OpenFile } from './file-system.ts'
import type { Segment } from './segment.ts'
import { type PlacedItem, type QueueItem, SegmentEncoder } from './segment-encoder.ts'

/** The segment that this process is writing. After a failure it takes no more: what is intact in it stays. */
export class OpenSegment {
  readonly segment: Segment
  /** Whether it takes no more. */
  isBroken = false
  readonly #fileSystem: FileSystem
  readonly #data: OpenFile
  readonly #index: OpenFile
  readonly #encoder: SegmentEncoder
  #dataSize = 0
  #indexSize = 0

  constructor(segment: Segment, fileSystem: FileSystem, data: OpenFile, index: OpenFile) {
    this.segment = segment
    this.#fileSystem = fileSystem
    this.#data = data
    this.#index = index
    this.#encoder = new SegmentEncoder(segment)
  }

  /** Creates its two files. */
  static async create(segment: Segment, directory: string, fileSystem: FileSystem): Promise<OpenSegment> {
    const data = await createFile(fileSystem, directory, segment.path)
    try {
      const index = await createFile(fileSystem, directory, segment.indexPath)
      return new OpenSegment(segment, fileSystem, data, index)
    } catch (error) {
      await data.close()
      await fileSystem.unlink(segment.path).catch(() => undefined)
      throw error
    }
  }

  /** Writes a group; gives where each item stands. Rejects when the items are not safe in the file. */
  async write(items: readonly QueueItem[], createBuffer: (length: number) => Buffer): Promise<readonly PlacedItem[]> {
    const { data, index, placed } = this.#encoder.encode(items, createBuffer)
    try {
      await writeAll(this.#data, data)
      await checkSize(this.#data, this.#dataSize + data.length)
      this.#dataSize += data.length
    } catch (error) {
      this.isBroken = true
      throw error
    }
    await this.#writeIndex(index)
    this.segment.bytes = this.#dataSize + this.#indexSize
    this.segment.records += items.length
    return placed
  }

  /** Lets go of it, and removes what is of no use: half a group, or two empty files. Never rejects. */
  async close(): Promise<void> {
    const { indexPath, path, records } = this.segment
    if (this.isBroken) await Promise.allSettled([cut(this.#data, this.#dataSize), cut(this.#index, this.#indexSize)])
    await Promise.allSettled([this.#data.close(), this.#index.close()])
    if (records === 0) await Promise.allSettled([this.#fileSystem.unlink(path), this.#fileSystem.unlink(indexPath)])
  }

  /** The index can be made again from what it tells of, so without it nothing is lost; but nothing more is to follow. */
  async #writeIndex(index: Buffer): Promise<void> {
    try {
      await writeAll(this.#index, index)
      await checkSize(this.#index, this.#indexSize + index.length)
      this.#indexSize += index.length
    } catch {
      this.isBroken = true
    }
  }
}

/** What is written to a file that was removed meanwhile is lost; in one that was cut, it stands in the wrong place. */
async function checkSize(file: OpenFile, expected: number): Promise<void> {
  const { nlink, size } = await file.stat()
  if (nlink === 0 || size !== expected) throw new Error('A segment was removed or changed while it was written.')
}

/** Takes off what was written in vain; a file that somebody has made shorter would become longer, and is left alone. */
async function cut(file: OpenFile, size: number): Promise<void> {
  const state = await file.stat()
  if (state.size > size) await file.truncate(size)
}
