import { constants } from 'node:fs'
import { mkdir, open, rename, rm } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { type Profile, type ProfileSummary, parseProfile } from '../profile/profile.ts'
import { isToken } from '../profile/schema.ts'
import { parseReceivedSpan, type ReceivedSpan } from '../profile/span-data.ts'
import { type FileProfileStorageOptions, readOptions } from './file-storage-options.ts'
import { directoryMode, type FileSystem, fileMode, nodeFileSystem, readBytes, readFile } from './file-system.ts'
import { Pins } from './pins.ts'
import { type IndexEntry, ProfileIndex } from './profile-index.ts'
import type {
  ProfileChange,
  ProfileQuery,
  ProfileSearchResult,
  ProfileStorage,
  SerializedProfile,
  StorageUsage,
  StoredProfile,
} from './profile-storage.ts'
import { ProfileTail } from './profile-tail.ts'
import { searchSummaries } from './search-summaries.ts'
import { readTexts, type Segment, type StoredTexts } from './segment.ts'
import { SegmentDirectory, type StoreLimits } from './segment-directory.ts'
import { type SegmentSize, SegmentWriter } from './segment-writer.ts'
import { foundLimit, type SpanStorage } from './span-storage.ts'
import { coalesce, limitReports, within } from './waiting.ts'
import { WriteQueue } from './write-queue.ts'

/** Milliseconds that a caller waits for the disk, and for another process to write a profile. */
const timeouts = { disk: 2000, writer: 1000 } as const

/** Milliseconds between two readings of the directory: for a token, and for listeners to new profiles. */
const intervals = { find: 20, tail: 200 } as const

/**
 * Stores profiles in a directory that any number of processes share. Each process appends to segments of its own; the
 * oldest segments are removed when a limit is reached.
 */
export class FileProfileStorage implements ProfileStorage {
  readonly spans: SpanStorage
  readonly #fileSystem: FileSystem
  readonly #report: FileProfileStorageOptions['onProblem']
  readonly #clock: () => number
  readonly #limits: StoreLimits
  readonly #size: SegmentSize
  readonly #index = new ProfileIndex()
  readonly #writer: SegmentWriter
  readonly #queue: WriteQueue
  readonly #segments: SegmentDirectory
  readonly #pins: Pins
  readonly #tail: ProfileTail
  /** Reads what other processes have written and removed. Never rejects. */
  readonly #refresh: () => Promise<void> = coalesce(() => this.#readChanges())
  /** Removes the segments that are over the limits. */
  readonly #retain: () => Promise<void> = coalesce(() => this.#removeExpired())
  #lastRetention: Promise<void> = Promise.resolve()
  #lastPin: Promise<boolean> = Promise.resolve(false)
  #lastChange: Promise<boolean> = Promise.resolve(false)
  #closed: Promise<void> | undefined
  #timer: NodeJS.Timeout | undefined

  constructor(options: FileProfileStorageOptions) {
    const { clock, directory, fileSystem, limits, queueLength, size } = readOptions(options)
    this.#fileSystem = fileSystem
    this.#report = limitReports(options.onProblem, clock)
    this.spans = new SpanFiles({ directory: path.join(directory, 'spans'), onProblem: this.#report })
    this.#clock = clock
    this.#limits = limits
    this.#size = size
    this.#writer = new SegmentWriter({ directory, fileSystem, clock, size, onBegin: segment => this.#onBegin(segment) })
    this.#queue = new WriteQueue({
      index: this.#index,
      writer: this.#writer,
      limit: queueLength,
      clock,
      onDrop: this.#report,
    })
    this.#segments = new SegmentDirectory(directory, fileSystem, this.#writer.id)
    this.#pins = new Pins(path.join(directory, 'pinned'), fileSystem)
    this.#tail = new ProfileTail(error => this.#report('A listener to new profiles has failed.', error))
  }

  append(profile: SerializedProfile, facts: string): void {
    this.#push(profile, facts)
  }

  amend(token: string, change: ProfileChange): Promise<boolean> {
    // One after another, so that no change is lost.
    const amended = this.#lastChange.then(() => this.#amend(token, change))
    this.#lastChange = amended.catch(() => false)
    return amended
  }

  pin(token: string, isPinned: boolean): Promise<boolean> {
    // One after another, so that the last call decides.
    this.#lastPin = this.#lastPin
      .then(() => (isPinned ? this.#pin(token) : this.#unpin(token)))
      .catch(error => {
        this.#report('Profiles cannot be pinned or unpinned.', error)
        return false
      })
    return this.#lastPin
  }

  async pinned(): Promise<ReadonlySet<string>> {
    await within(timeouts.disk, this.#refresh())
    return new Set(this.#pins.all.map(({ version }) => version.summary.token))
  }

  has(token: string): boolean {
    return this.#index.find(token) !== undefined
  }

  async find(token: string): Promise<StoredProfile | undefined> {
    const found = await this.#find(token)
    if (found === undefined) return undefined
    const { entry, profile } = found
    return { profile, isPinned: this.#pins.find(entry) !== undefined }
  }

  async search(query: ProfileQuery): Promise<ProfileSearchResult> {
    await within(timeouts.disk, this.#refresh())
    const result = searchSummaries(this.#index.entries, query)
    if (!this.#queue.isFailing) return result
    const tokens = result.summaries.map(({ token }) => token)
    return { ...result, unstored: new Set(tokens.filter(token => this.#queue.isWaiting(token))) }
  }

  load(): Promise<void> {
    return this.#refresh()
  }

  tail(listener: (summary: ProfileSummary) => void): () => void {
    const since = Math.max(this.#clock(), this.#index.newest)
    const remove = this.#tail.add(listener, since, this.#refresh())
    this.#timer ??= setInterval(this.#refresh, intervals.tail).unref()
    return () => {
      remove()
      if (!this.#tail.hasListeners) this.#stopTimer()
    }
  }

  /** Also removes the segments that other processes write; each process then begins another segment. */
  async purge(): Promise<void> {
    const end = this.#queue.discard()
    this.#index.remove(entry => {
      entry.waiting = undefined
      return !entry.replaceStored(this.#pins.find(entry)?.version)
    })
    // The profiles that are being written are removed with their segment.
    await this.#queue.flush()
    await this.#refresh()
    const isPurged = ({ time, writer }: Segment) => writer !== this.#writer.id || time <= end
    await Promise.all([this.#remove(this.#segments.all.filter(isPurged)), this.spans.purge()])
  }

  async usage(): Promise<StorageUsage> {
    await within(timeouts.disk, this.#refresh())
    const { dropped, length, problem } = this.#queue
    const bytes = [...this.#segments.all, ...this.#pins.all].reduce((sum, file) => sum + file.bytes, length)
    return { profiles: this.#index.entries.length, bytes, dropped, problem }
  }

  async flush(): Promise<void> {
    await this.#queue.flush()
    await this.#lastRetention
  }

  flushNow(): void {
    this.#queue.flushNow()
  }

  /** Waits at most two seconds for the disk. */
  close(): Promise<void> {
    this.#closed ??= this.#close()
    return this.#closed
  }

  async #amend(token: string, change: ProfileChange): Promise<boolean> {
    const found = await this.#find(token)
    if (found === undefined) return false
    const changed = change(found.profile)
    return changed === undefined || this.#push(changed, found.texts.facts, found.entry)
  }

  /** `known` is the entry of a profile that may be of another process. False when the profile was dropped. */
  #push(profile: SerializedProfile, facts: string, known?: IndexEntry): boolean {
    if (this.#closed !== undefined || !this.#queue.push(profile, facts, known)) return false
    this.#tail.pass(profile.summary)
    const { token } = profile.summary
    const entry = known ?? this.#index.find(token)
    // The copy of a pinned profile gets the newer version, too.
    if (entry !== undefined && this.#pins.find(entry) !== undefined) void this.pin(token, true)
    return true
  }

  #stopTimer(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  async #close(): Promise<void> {
    this.#stopTimer()
    await within(
      timeouts.disk,
      this.flush().then(() => this.#writer.close()),
    )
  }

  /** The newest profile with a token; `undefined` when there is none, or when it is damaged. */
  async #find(token: string): Promise<{ entry: IndexEntry; profile: Profile; texts: StoredTexts } | undefined> {
    if (!isToken(token)) return undefined
    const known = this.#index.find(token)
    const own = known?.writer === this.#writer.id ? await this.#read(known) : undefined
    if (own !== undefined) return own
    const entry = await this.#locate(token)
    return entry && this.#read(entry)
  }

  /** The entry of a token, also when another process is about to write the profile. */
  async #locate(token: string): Promise<IndexEntry | undefined> {
    await within(timeouts.disk, this.#refresh())
    const end = performance.now() + timeouts.writer
    while (!this.has(token) && this.#segments.hasOtherWriters && performance.now() < end) {
      await wait(intervals.find)
      await within(timeouts.disk, this.#refresh())
    }
    return this.#index.find(token)
  }

  async #read(entry: IndexEntry): Promise<{ entry: IndexEntry; profile: Profile; texts: StoredTexts } | undefined> {
    const texts = entry.waiting ?? (await this.#readStored(entry))
    const profile = texts && parseProfile(texts.text, texts.facts)
    // A damaged file may have another profile at this place.
    return texts && profile?.summary.token === entry.token ? { entry, profile, texts } : undefined
  }

  async #readStored({ stored }: IndexEntry): Promise<StoredTexts | undefined> {
    return stored && within(timeouts.disk, readTexts(this.#fileSystem, stored.place))
  }

  async #pin(token: string): Promise<boolean> {
    const found = await this.#find(token)
    if (found !== undefined) await this.#pins.add(found.entry, found.texts)
    return found !== undefined
  }

  async #unpin(token: string): Promise<boolean> {
    const entry = isToken(token) ? await this.#locate(token) : undefined
    const pin = entry && this.#pins.find(entry)
    if (pin === undefined) return entry !== undefined
    await this.#pins.remove(pin)
    this.#forget([pin])
    return true
  }

  #onBegin(segment: Segment): void {
    this.#segments.add(segment)
    this.#lastRetention = this.#retain()
  }

  async #readChanges(): Promise<void> {
    const { entries, gone } = await this.#segments.refresh()
    const { added, removed } = await this.#pins.refresh()
    const found = this.#index.add(entries)
    this.#index.add(added.filter(({ token, writer }) => this.#index.find(token, writer) === undefined))
    this.#forget([...gone, ...removed])
    // Profiles that are written to a segment that was removed or moved away are lost.
    if (gone.some(segment => segment === this.#writer.current)) this.#writer.leave()
    this.#tail.passFound(found)
  }

  async #removeExpired(): Promise<void> {
    await this.#refresh()
    await this.#remove(this.#segments.selectExpired(this.#limits, this.#size, this.#clock(), this.#writer.current))
  }

  async #remove(segments: readonly Segment[]): Promise<void> {
    const onError = (error: unknown) => this.#report('Old profiles cannot be removed.', error)
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

/** Bytes of the newer file after which it becomes the older one. */
const sizeLimit = 4 * 1024 * 1024

/**
 * Stores spans in two files: the newer one replaces the older one when it is full. All processes of an application use the
 * same files, and a restart keeps them.
 */
export class SpanFiles implements SpanStorage {
  readonly #directory: string
  readonly #onProblem: (message: string, error: unknown) => void
  readonly #sizeLimit: number
  #writing: Promise<boolean> = Promise.resolve(true)

  constructor(options: {
    readonly directory: string
    readonly onProblem: (message: string, error: unknown) => void
    /** Bytes of the newer file after which it becomes the older one; 4 MiB by default. */
    readonly sizeLimit?: number
  }) {
    this.#directory = options.directory
    this.#onProblem = options.onProblem
    this.#sizeLimit = options.sizeLimit ?? sizeLimit
  }

  append(spans: readonly ReceivedSpan[]): Promise<boolean> {
    this.#writing = this.#writing.then(() => this.#append(spans))
    return this.#writing
  }

  async find(traceId: string): Promise<ReceivedSpan[]> {
    const found = new Map<string, ReceivedSpan>()
    for (const name of [older, newer]) {
      for (const line of await this.#findLines(name, `${traceId} `)) {
        const span = parseLine(line)
        if (span !== undefined) found.set(span.spanId, span)
      }
    }
    return [...found.values()].slice(-foundLimit)
  }

  async purge(): Promise<void> {
    await Promise.all([newer, older].map(name => rm(this.#pathOf(name), { force: true }).catch(() => undefined)))
  }

  async #append(spans: readonly ReceivedSpan[]): Promise<boolean> {
    const lines = Buffer.from(spans.map(span => `${span.traceId} ${JSON.stringify(span)}\n`).join(''))
    try {
      await mkdir(this.#directory, { recursive: true, mode: directoryMode })
      const file = await open(this.#pathOf(newer), appendFlags, fileMode)
      try {
        await file.appendFile(lines)
        const { size } = await file.stat()
        // Another process may do the same at this moment. Then the older file is replaced twice, and some spans are lost.
        if (size >= this.#sizeLimit) await rename(this.#pathOf(newer), this.#pathOf(older))
      } finally {
        await file.close()
      }
      return true
    } catch (error) {
      this.#onProblem('Spans of other services cannot be stored.', error)
      return false
    }
  }

  /** The lines of a file that begin with a text. */
  async #findLines(name: string, beginning: string): Promise<string[]> {
    const read = readFile(nodeFileSystem, this.#pathOf(name), (file, { size }) => readBytes(file, 0, size))
    const content = (await read) ?? Buffer.alloc(0)
    const lines: string[] = []
    let at = content.indexOf(beginning)
    while (at !== -1) {
      const end = content.indexOf('\n', at)
      // The last line may be incomplete: another process is writing it.
      if (end === -1) break
      if (at === 0 || content[at - 1] === lineFeed) lines.push(content.toString('utf8', at, end))
      at = content.indexOf(beginning, end)
    }
    return lines
  }

  #pathOf(name: string): string {
    return path.join(this.#directory, name)
  }
}

const newer = 'spans.jsonl'
const older = 'spans-older.jsonl'
const lineFeed = 0x0a

/** A link is not followed. */
const appendFlags = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NOFOLLOW

function parseLine(line: string): ReceivedSpan | undefined {
  try {
    return parseReceivedSpan(JSON.parse(line.slice(line.indexOf(' '))))
  } catch {
    return undefined
  }
}
