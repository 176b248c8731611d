import { randomBytes } from 'node:crypto'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { createFile, createFileNow, directoryMode, type FileSystem, type OpenFile, writeAll } from './file-system.ts'
import { IndexEntry, type ProfileIndex } from './profile-index.ts'
import type { SerializedProfile } from './profile-storage.ts'
import { encodeGroup, lineLimits, type Place, Segment, type WriteItem, type WrittenFacts } from './segment.ts'

/** A version of a profile in the queue. */
interface QueueItem extends WriteItem {
  readonly entry: IndexEntry
  /** Whether it was written, dropped or discarded. */
  isSettled: boolean
  /** Called when it is settled. */
  readonly callbacks: (() => void)[]
}

/** The objects that a queue calls, and its limit. */
interface WriteQueueOptions {
  readonly index: ProfileIndex
  readonly writer: SegmentWriter
  /** Characters of profiles that are not written yet. */
  readonly limit: number
  /** Milliseconds since 1970. */
  readonly clock: () => number
  /** Called with a constant sentence when profiles are dropped. */
  readonly onDrop: (reason: string, error: unknown) => void
}

/** Milliseconds between two groups: under load, one write takes all profiles of the pause. */
const pause = 20

/** Milliseconds until the next attempt after a write failed. */
const pauseAfterFailure = 1000

/**
 * Adds profiles to the index at once and writes them in groups: immediately when nothing was written just before. It
 * never holds more than its limit. A profile that cannot be written is dropped, also from the index. The queue keeps
 * the process running only while a profile waits.
 */
export class WriteQueue {
  /** How many profiles were dropped. */
  dropped = 0
  /** Why the last one was dropped. */
  problem: string | undefined
  /** Whether the last write failed. */
  isFailing = false
  /** Characters that are not written yet. */
  length = 0
  readonly #options: WriteQueueOptions
  #waiting: QueueItem[] = []
  #writing: readonly QueueItem[] = []
  #isRunning = false
  #timer: NodeJS.Timeout | undefined
  #endPause: (() => void) | undefined

  constructor(options: WriteQueueOptions) {
    this.#options = options
  }

  /** Adds a profile, or a newer version of a profile of this process or of `other`; false when it was dropped. */
  add({ summary, text }: SerializedProfile, facts: string, other?: IndexEntry): boolean {
    const { clock, index, limit, writer } = this.#options
    // In UTF-8, a character of a JavaScript string has at most three bytes.
    if (3 * text.length > lineLimits.profile && Buffer.byteLength(text) > lineLimits.profile) {
      return this.#drop('A profile was dropped because it is too long.')
    }
    if (this.length + text.length > limit) {
      return this.#drop('Profiles are dropped because the disk is too slow.')
    }
    const version = { summary, text, facts }
    const known = other ?? index.find(summary.token, writer.id)
    const entry = known ?? new IndexEntry(writer.id, Math.max(Math.floor(clock()), index.newest), version)
    if (known === undefined) index.addNewest(entry)
    else known.update(version)
    this.length += text.length
    this.#waiting.push({ entry, version, isSettled: false, callbacks: [] })
    this.#timer?.ref()
    if (!this.#isRunning) void this.#run()
    return true
  }

  /** Resolves when all profiles in the queue are written or dropped. Ends the current pause. */
  async flush(): Promise<void> {
    const last = this.#waiting.at(-1) ?? this.#writing.at(-1)
    if (last === undefined || last.isSettled) return
    this.#endPause?.()
    await new Promise<void>(resolve => last.callbacks.push(resolve))
  }

  /** Writes all profiles in the queue before it returns, also those that are being written. */
  flushNow(): void {
    const items = [...this.#writing, ...this.#waiting].filter(({ isSettled }) => !isSettled)
    this.#waiting = []
    if (items.length === 0) return
    try {
      const places = this.#options.writer.writeNow(items)
      for (const [index, item] of items.entries()) this.#settle(item, places[index])
    } catch (error) {
      this.#dropAll(items, error)
    }
  }

  /** Drops the profiles that wait. Returns a time: segments that were begun until then contain all earlier profiles. */
  discard(): number {
    for (const item of this.#waiting.splice(0)) this.#settle(item)
    return this.#options.writer.leave()
  }

  async #run(): Promise<void> {
    this.#isRunning = true
    // Profiles of the same turn belong to the same group.
    await nextTurn()
    while (this.#waiting.length > 0) {
      this.#writing = this.#waiting
      this.#waiting = []
      await this.#write(this.#writing)
      this.#writing = []
      await this.#pause(this.isFailing ? pauseAfterFailure : pause)
    }
    this.#isRunning = false
  }

  async #write(items: readonly QueueItem[]): Promise<void> {
    try {
      for (let left = items; left.length > 0; ) {
        const places = await this.#options.writer.write(left)
        for (const [index, place] of places.entries()) this.#settle(left[index], place)
        left = left.slice(places.length)
      }
      this.isFailing = false
    } catch (error) {
      this.isFailing = true
      this.#dropAll(items, error)
    }
  }

  async #pause(milliseconds: number): Promise<void> {
    if (this.#waiting.some(({ callbacks }) => callbacks.length > 0)) return
    await new Promise<void>(resolve => {
      this.#endPause = resolve
      this.#timer = setTimeout(resolve, milliseconds)
      if (this.#waiting.length === 0) this.#timer.unref()
    })
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#endPause = undefined
  }

  /** The first of two writes settles an item: flushNow() does not wait for a write that has begun. */
  #settle(item: QueueItem | undefined, place?: Place): void {
    if (item === undefined || item.isSettled) return
    item.isSettled = true
    this.length -= item.version.text.length
    if (place !== undefined) item.entry.settle(item.version, place)
    for (const callback of item.callbacks) callback()
  }

  #dropAll(items: readonly QueueItem[], error: unknown): void {
    const gone = new Set<IndexEntry>()
    for (const item of items.filter(({ isSettled }) => !isSettled)) {
      this.#drop('Profiles are dropped because they cannot be written.', error)
      if (!item.entry.drop(item.version)) gone.add(item.entry)
      this.#settle(item)
    }
    this.#options.index.remove(entry => gone.has(entry))
  }

  #drop(reason: string, error?: unknown): false {
    this.dropped++
    this.problem = error instanceof Error ? error.message : reason
    this.#options.onDrop(reason, error)
    return false
  }
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
  readonly directory: string
  readonly fileSystem: FileSystem
  /** Milliseconds since 1970. */
  readonly clock: () => number
  readonly size: SegmentSize
  /** Called with each segment once its files exist. */
  readonly onBegin: (segment: Segment) => void
}

/** Writes the segments of this process, one after another. */
export class SegmentWriter {
  /** The id of this store, in the names of its segments. No other store writes to them. */
  readonly id: string = `${process.pid}-${randomBytes(4).toString('hex')}`
  readonly #options: SegmentWriterOptions
  #open: OpenSegment | undefined
  #lastTime = 0
  /** Segments that were begun until this time get no further items. */
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
   * Ends the current segment: further items go to a new segment. Returns a time: all segments so far were begun until
   * then.
   */
  leave(): number {
    this.#lastTime++
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
      bytes += version.text.length
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
    return new Segment(this.#options.directory, this.#lastTime, this.id)
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
