import { setImmediate as nextTurn } from 'node:timers/promises'
import { IndexEntry, type ProfileIndex } from './profile-index.ts'
import type { SerializedProfile } from './profile-storage.ts'
import { lineLimits, type Place, type WriteItem } from './segment.ts'
import type { SegmentWriter } from './segment-writer.ts'

/** A version of a profile in the queue. */
interface QueueItem extends WriteItem {
  readonly entry: IndexEntry
  /** Whether it was written, dropped or discarded. */
  isSettled: boolean
  /** Called when it is settled. */
  readonly callbacks: (() => void)[]
}

/** The objects that a queue calls, and its limit. */
export interface WriteQueueOptions {
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
  push({ summary, text }: SerializedProfile, facts: string, other?: IndexEntry): boolean {
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
    if (known === undefined) index.push(entry)
    else known.update(version)
    this.length += text.length
    this.#waiting.push({ entry, version, isSettled: false, callbacks: [] })
    this.#timer?.ref()
    if (!this.#isRunning) void this.#run()
    return true
  }

  /** Whether no version of the profile is written yet. */
  isWaiting(token: string): boolean {
    const entry = this.#options.index.find(token, this.#options.writer.id)
    return entry !== undefined && entry.stored === undefined
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
