import path from 'node:path'
import { checkFolder } from '../../../lib/folders.ts'
import { guard } from '../../../lib/guard.ts'
import { nextTurn, readTime, startTimer, stopTimer, within } from '../../../lib/own-globals.ts'
import { frequentTypes } from '../profile/units.ts'
import {
  BaseProfileStorage,
  coalesce,
  type FoundProfile,
  limitReports,
  ProfileQueue,
  timeout,
} from './base-profile-storage.ts'
import { type FileSystem, nodeFileSystem } from './file-system.ts'
import { IndexEntry, ProfileIndex } from './profile-index.ts'
import { defaultLimits, limitMessages, type SerializedProfile, type StoreLimits } from './profile-storage.ts'
import {
  drawWriterId,
  lineLimits,
  loadParsers,
  type Place,
  readTexts,
  type Segment,
  type SegmentSize,
  SegmentWriter,
  type StoredTexts,
  type WriteItem,
} from './segment.ts'
import { Pins, SegmentDirectory } from './segment-directory.ts'

/** Where profiles are stored, and how many. */
export interface FileProfileStorageOptions {
  /** Created with the first profile, for this user only. */
  readonly directory: string
  /** Called with each kind of problem at most once a minute. */
  readonly onProblem: (message: string, error: unknown) => void
  /** 200 MB, 10,000 profiles and 48 hours by default. */
  readonly limits?: Partial<StoreLimits>
  /** Bytes of a full segment; a twentieth of the limit by default. */
  readonly segmentBytes?: number
  /** Milliseconds until a segment is full; a twentieth of the limit by default. */
  readonly segmentAge?: number
  /** Characters of profiles that are not written yet; 16 million by default. */
  readonly queueLength?: number
  /** Milliseconds since 1970. */
  readonly clock?: () => number
  readonly fileSystem?: FileSystem
}

/** Milliseconds from the begin of a segment. */
const retentionDelay = 1000

/** About this many full segments reach a limit. Retention removes whole segments. */
const segmentsInLimit = 20

/** A profile, and where it is. */
interface LocatedProfile extends FoundProfile {
  readonly entry: IndexEntry
  readonly text: string
}

/**
 * Stores profiles in a directory that any number of processes share. Each process appends to segments of its own; the
 * oldest segments are removed when a limit is reached.
 */
export class FileProfileStorage extends BaseProfileStorage<LocatedProfile> {
  protected readonly unwritten: WriteQueue
  readonly #directories: readonly string[]
  readonly #fileSystem: FileSystem
  readonly #clock: () => number
  readonly #limits: StoreLimits
  readonly #size: SegmentSize
  readonly #index = new ProfileIndex()
  /** The id of this store. */
  readonly #id = drawWriterId()
  readonly #writers: Writers
  readonly #segments: SegmentDirectory
  readonly #pins: Pins
  /** Removes the segments that are over the limits. */
  readonly #retain: () => Promise<void> = coalesce(() => this.#removeExpired())
  readonly #readOnce: () => Promise<void> = coalesce(() => this.#readChanges())
  #retention: NodeJS.Timeout | undefined

  constructor(options: FileProfileStorageOptions) {
    const { clock = readTime, directory, fileSystem = nodeFileSystem, queueLength: limit = 16_000_000 } = options
    const limits = { ...defaultLimits, ...options.limits }
    super(limitReports(options.onProblem, clock))
    this.#fileSystem = fileSystem
    this.#clock = clock
    this.#limits = limits
    this.#size = {
      bytes: options.segmentBytes ?? limits.bytes / segmentsInLimit,
      profiles: Math.max(1, Math.floor(limits.count / segmentsInLimit)),
      age: options.segmentAge ?? limits.age / segmentsInLimit,
    }
    const pinned = path.join(directory, 'pinned')
    this.#directories = [directory, pinned]
    const onBegin = (segment: Segment) => this.#onBegin(segment)
    const parts = { id: this.#id, directory, fileSystem, clock, onBegin }
    this.#writers = [
      new SegmentWriter({ ...parts, isOfMessages: false, size: this.#size }),
      new SegmentWriter({ ...parts, isOfMessages: true, size: limitMessages(this.#size) }),
    ]
    const queue = { index: this.#index, id: this.#id, writers: this.#writers, limit, clock, onDrop: this.report }
    this.unwritten = new WriteQueue(queue)
    this.#segments = new SegmentDirectory(directory, fileSystem, this.#id)
    this.#pins = new Pins(pinned, fileSystem)
  }

  protected get known(): readonly IndexEntry[] {
    return this.#index.entries
  }

  protected get writtenBytes(): number {
    return [...this.#segments.all, ...this.#pins.all].reduce((sum, { bytes }) => sum + bytes, 0)
  }

  protected get pinnedTokens(): readonly string[] {
    return this.#pins.all.map(({ version }) => version.summary.token)
  }

  has(token: string): boolean {
    return this.#index.find(token) !== undefined
  }

  /** Also removes the segments that other processes write; each process then begins another segment. */
  async purge(): Promise<void> {
    const end = this.unwritten.discard()
    this.#index.remove(entry => {
      entry.waiting = undefined
      return !entry.replaceStored(this.#pins.find(entry)?.version)
    })
    // The profiles that are being written are removed with their segment.
    await this.unwritten.flush()
    await this.refresh()
    const isPurged = ({ time, writer }: Segment) => writer !== this.#id || time <= end
    await this.#remove(this.#segments.all.filter(isPurged))
  }

  override async flush(): Promise<void> {
    await super.flush()
    if (this.#retention !== undefined) await this.#retainNow()
  }

  flushNow(): void {
    this.unwritten.flushNow()
  }

  async check(): Promise<void> {
    for (const directory of this.#directories) await checkFolder(directory)
  }

  protected refresh(): Promise<void> {
    return this.#readOnce()
  }

  protected async look(token: string): Promise<LocatedProfile | 'expected' | undefined> {
    const known = this.#index.find(token)
    const own = known?.writer === this.#id ? await this.#read(known) : undefined
    if (own !== undefined) return own
    await within(timeout, this.refresh())
    const entry = this.#index.find(token)
    if (entry === undefined) return this.#segments.hasOtherWriters ? 'expected' : undefined
    return this.#read(entry)
  }

  protected add(profile: SerializedProfile, facts: string, older?: LocatedProfile): boolean {
    if (!this.unwritten.add(profile, facts, older?.entry)) return false
    const { token } = profile.summary
    const entry = older?.entry ?? this.#index.find(token)
    // The copy of a pinned profile gets the newer version, too.
    if (entry !== undefined && this.#pins.find(entry) !== undefined) void this.pin(token, true)
    return true
  }

  protected async setPin(token: string, isPinned: boolean): Promise<boolean> {
    if (isPinned) {
      const found = await this.locate(token)
      if (found !== undefined) await this.#pins.add(found.entry, found)
      return found !== undefined
    }
    await within(timeout, this.refresh())
    const entry = this.#index.find(token)
    const pin = entry && this.#pins.find(entry)
    if (pin === undefined) return entry !== undefined
    await this.#pins.remove(pin)
    this.#forget([pin])
    return true
  }

  protected override isUnwritten(token: string): boolean {
    const entry = this.#index.find(token, this.#id)
    return entry !== undefined && entry.stored === undefined
  }

  protected override get tailStart(): number {
    return Math.max(this.#clock(), this.#index.newest)
  }

  protected override async release(): Promise<void> {
    for (const writer of this.#writers) await writer.close()
  }

  async #read(entry: IndexEntry): Promise<LocatedProfile | undefined> {
    const texts = entry.waiting ?? (await this.#readStored(entry))
    const { parseProfile } = await loadParsers()
    const profile = texts && parseProfile(texts.text, texts.facts)
    // A damaged file may have another profile at this place.
    if (texts === undefined || profile?.summary.token !== entry.token) return undefined
    return { entry, profile, text: texts.text, facts: texts.facts, isPinned: this.#pins.find(entry) !== undefined }
  }

  async #readStored({ stored }: IndexEntry): Promise<StoredTexts | undefined> {
    return stored && within(timeout, readTexts(this.#fileSystem, stored.place))
  }

  #onBegin(segment: Segment): void {
    this.#segments.add(segment)
    // It reads what other processes have written: one that ends soon does not wait for it.
    this.#retention ??= startTimer(this.#retainNow, retentionDelay).unref()
  }

  readonly #retainNow = guard('old profiles', async (): Promise<void> => {
    stopTimer(this.#retention)
    this.#retention = undefined
    await this.#retain()
  })

  async #readChanges(): Promise<void> {
    const { entries, gone } = await this.#segments.refresh()
    const { added, removed } = await this.#pins.refresh()
    const found = this.#index.add(entries)
    this.#index.add(added.filter(({ token, writer }) => this.#index.find(token, writer) === undefined))
    this.#forget([...gone, ...removed])
    // Profiles that are written to a segment that was removed or moved away are lost.
    for (const writer of this.#writers) if (gone.some(segment => segment === writer.current)) writer.leave()
    for (const { summary, time } of found) this.pass(summary, time)
  }

  async #removeExpired(): Promise<void> {
    await this.refresh()
    const current = this.#writers.map(writer => writer.current)
    await this.#remove(this.#segments.selectExpired(this.#limits, this.#size, this.#clock(), current))
  }

  async #remove(segments: readonly Segment[]): Promise<void> {
    const onError = (error: unknown) => this.report('Old profiles cannot be removed.', error)
    this.#forget(await this.#segments.remove(segments, onError))
  }

  /** Removes the profiles of removed files from the index, except pinned profiles. */
  #forget(files: readonly { readonly path: string; readonly newest: number }[]): void {
    if (files.length === 0) return
    const gone = new Set(files.map(({ path }) => path))
    const isIn = ({ stored }: IndexEntry) => stored !== undefined && gone.has(stored.place.file)
    const isGone = (entry: IndexEntry) => isIn(entry) && !entry.replaceStored(this.#pins.find(entry)?.version)
    this.#index.remove(isGone, Math.max(...files.map(({ newest }) => newest)))
  }
}

/** The writer of messages is the second one. */
type Writers = readonly [profiles: SegmentWriter, messages: SegmentWriter]

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
  /** The id of the store. */
  readonly id: string
  readonly writers: Writers
  /** Characters of profiles that are not written yet. */
  readonly limit: number
  /** Milliseconds since 1970. */
  readonly clock: () => number
  /** Called with a constant sentence when profiles are dropped. */
  readonly onDrop: (reason: string, error: unknown) => void
}

/**
 * Milliseconds between two groups, and until the next attempt after a write failed. Under load,
 * one write takes all profiles of a pause.
 */
const pauses = { group: 50, failure: 1000 } as const

/**
 * Adds profiles to the index at once and writes them in groups: immediately when nothing was written just before. It
 * never holds more than its limit. A profile that cannot be written is dropped, also from the index. The queue keeps
 * the process running only while a profile waits.
 */
class WriteQueue extends ProfileQueue {
  readonly #options: WriteQueueOptions
  #waiting: QueueItem[] = []
  #writing: readonly QueueItem[] = []
  #isRunning = false

  constructor(options: WriteQueueOptions) {
    super()
    this.#options = options
  }

  /** Adds a profile, or a newer version of a profile of this process or of `other`; false when it was dropped. */
  add({ summary, text }: SerializedProfile, facts: string, other?: IndexEntry): boolean {
    const { clock, id, index, limit } = this.#options
    // In UTF-8, a character of a JavaScript string has at most three bytes.
    if (3 * text.length > lineLimits.profile && Buffer.byteLength(text) > lineLimits.profile) {
      return this.drop('A profile was dropped because it is too long.')
    }
    if (this.length + text.length > limit) {
      return this.drop('Profiles are dropped because the disk is too slow.')
    }
    const version = { summary, text, facts }
    const known = other ?? index.find(summary.token, id)
    const entry = known ?? new IndexEntry(id, Math.max(Math.floor(clock()), index.newest), version)
    if (known === undefined) index.addNewest(entry)
    else known.update(version)
    this.length += text.length
    this.#waiting.push({ entry, version, isSettled: false, callbacks: [] })
    this.refPause()
    if (!this.#isRunning) void this.#run()
    return true
  }

  /** Resolves when all profiles in the queue are written or dropped. Ends the current pause. */
  override async flush(): Promise<void> {
    const last = this.#waiting.at(-1) ?? this.#writing.at(-1)
    if (last === undefined || last.isSettled) return
    this.endPause()
    await new Promise<void>(resolve => last.callbacks.push(resolve))
  }

  /** Writes all profiles in the queue before it returns, also those that are being written. */
  flushNow(): void {
    const items = [...this.#writing, ...this.#waiting].filter(({ isSettled }) => !isSettled)
    this.#waiting = []
    if (items.length === 0) return
    for (const [writer, own] of this.#split(items)) {
      try {
        const places = writer.writeNow(own)
        for (const [index, item] of own.entries()) this.#settle(item, places[index])
      } catch (error) {
        this.#dropAll(own, error)
      }
    }
  }

  /**
   * Drops the profiles that wait, and ends the current segments. Returns the latest time at which
   * a segment of this process was begun.
   */
  discard(): number {
    for (const item of this.#waiting.splice(0)) this.#settle(item)
    const end = Math.max(...this.#options.writers.map(writer => writer.leave()))
    for (const writer of this.#options.writers) writer.leave(end)
    return end
  }

  /** The items of each writer that has some. */
  #split(items: readonly QueueItem[]): [SegmentWriter, readonly QueueItem[]][] {
    const [profiles, messages] = this.#options.writers
    const isMessage = ({ version }: QueueItem) => frequentTypes.has(version.summary.type)
    if (!items.some(isMessage)) return [[profiles, items]]
    const others = items.filter(item => !isMessage(item))
    const split: [SegmentWriter, readonly QueueItem[]][] = [
      [profiles, others],
      [messages, items.filter(isMessage)],
    ]
    return split.filter(([, own]) => own.length > 0)
  }

  readonly #run = guard('the written profiles', async (): Promise<void> => {
    this.#isRunning = true
    try {
      // Profiles of the same turn belong to the same group.
      await nextTurn()
      while (this.#waiting.length > 0) {
        this.#writing = this.#waiting
        this.#waiting = []
        await this.#write(this.#writing)
        this.#writing = []
        // A caller of flush() does not wait for the pause.
        if (this.#waiting.some(({ callbacks }) => callbacks.length > 0)) continue
        await this.pause(this.isFailing ? pauses.failure : pauses.group, this.#waiting.length === 0)
      }
    } finally {
      this.#isRunning = false
    }
  })

  async #write(items: readonly QueueItem[]): Promise<void> {
    try {
      for (const [writer, own] of this.#split(items)) {
        for (let left = own; left.length > 0; ) {
          const places = await writer.write(left)
          for (const [index, place] of places.entries()) this.#settle(left[index], place)
          left = left.slice(places.length)
        }
      }
      this.isFailing = false
    } catch (error) {
      this.isFailing = true
      this.#dropAll(items, error)
    }
  }

  /**
   * Settles an item, once: flushNow() does not wait for a write that has begun, so two writes may
   * end with the same item.
   */
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
      this.drop('Profiles are dropped because they cannot be written.', error)
      if (!item.entry.drop(item.version)) gone.add(item.entry)
      this.#settle(item)
    }
    this.#options.index.remove(entry => gone.has(entry))
  }

  protected override drop(reason: string, error?: unknown): false {
    this.#options.onDrop(reason, error)
    return super.drop(reason, error)
  }
}
