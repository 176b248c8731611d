import { isToken } from '../profile/schema.ts'
import { DirectoryWatch } from './directory-watch.ts'
import { type FileSystem, nodeFileSystem } from './file-system.ts'
import type { IndexEntry } from './index-entry.ts'
import { type OnProblem, ProblemReporter } from './problem-reporter.ts'
import { ProfileCatalog } from './profile-catalog.ts'
import { diskPatience, ProfileFinder } from './profile-finder.ts'
import type {
  ProfileQuery,
  ProfileRecord,
  ProfileSearchResult,
  ProfileStorage,
  StorageUsage,
  StoredProfile,
} from './profile-storage.ts'
import { ProfileTail, type TailListener } from './profile-tail.ts'
import { Recorder } from './recorder.ts'
import { Retention } from './retention.ts'
import { searchSummaries } from './search-summaries.ts'
import type { Segment } from './segment.ts'
import { endings, parseSegmentName } from './segment-name.ts'
import { SegmentWriter } from './segment-writer.ts'
import type { StoreLimits } from './select-expired.ts'
import { within } from './within.ts'

/** Where and how much is kept. */
export interface FileProfileStorageOptions {
  /** Made, for the owner alone, with the first profile. */
  readonly directory: string
  /** Told of each kind of problem at most once a minute. */
  readonly onProblem: OnProblem
  /** 200 MB, 10,000 profiles and 48 hours unless told else. */
  readonly limits?: Partial<StoreLimits>
  /** Bytes after which a segment is closed; a twentieth of the limit unless told else. */
  readonly segmentBytes?: number
  /** Milliseconds after which it is; a twentieth of the limit unless told else. */
  readonly segmentAge?: number
  /** Characters of profiles that may wait to be written; 16 million unless told else. */
  readonly queueBytes?: number
  /** Milliseconds since 1970. */
  readonly clock?: () => number
  readonly fileSystem?: FileSystem
}

const defaultLimits: StoreLimits = { bytes: 200_000_000, count: 10_000, age: 48 * 3_600_000 }

/** What is too much is removed by whole segments: the store holds this many of them, and varies by one. */
const segmentsInLimit = 20

/**
 * Keeps profiles in a directory that any number of processes share: each appends to segments of its own, which are
 * removed whole, oldest first, when there is too much.
 */
export class FileProfileStorage implements ProfileStorage {
  readonly #clock: () => number
  readonly #problems: ProblemReporter
  readonly #writer: SegmentWriter
  readonly #catalog: ProfileCatalog
  readonly #recorder: Recorder
  readonly #finder: ProfileFinder
  readonly #retention: Retention
  readonly #tail: ProfileTail
  readonly #watch: DirectoryWatch
  #retained: Promise<void> = Promise.resolve()
  #pinned: Promise<boolean> = Promise.resolve(false)
  #hasLooked = false
  #closed: Promise<void> | undefined

  constructor(options: FileProfileStorageOptions) {
    const { clock = Date.now, directory, fileSystem = nodeFileSystem, queueBytes = 16_000_000 } = options
    const limits = { ...defaultLimits, ...options.limits }
    const size = {
      bytes: options.segmentBytes ?? limits.bytes / segmentsInLimit,
      records: Math.max(1, Math.floor(limits.count / segmentsInLimit)),
      age: options.segmentAge ?? limits.age / segmentsInLimit,
    }
    this.#clock = clock
    const problems = new ProblemReporter(options.onProblem, clock)
    this.#problems = problems
    const writer = new SegmentWriter({ directory, fileSystem, clock, size, onBegin: segment => this.#begin(segment) })
    this.#writer = writer
    const catalog = new ProfileCatalog(directory, fileSystem, writer.id, (...look) => this.#onRefreshed(...look))
    this.#catalog = catalog
    const onDrop = (reason: string, error: unknown) => problems.report(reason, error)
    this.#recorder = new Recorder({ index: catalog.index, writer, queueBytes, clock, onDrop })
    this.#finder = new ProfileFinder(catalog, fileSystem, writer.id)
    const onError = (error: unknown) => problems.report('Old profiles cannot be removed.', error)
    this.#retention = new Retention({ directory, fileSystem, catalog, writer, limits, size, clock, onError })
    this.#tail = new ProfileTail(error => problems.report('Who listens to new profiles has failed.', error))
    const isNews = (file: string) => this.#isForeign(file)
    this.#watch = new DirectoryWatch({ directory, fileSystem, isNews, onNews: () => void catalog.refresh() })
  }

  append(record: ProfileRecord, facts: string): void {
    if (this.#closed !== undefined || !this.#recorder.keep(record, facts)) return
    this.#tail.tell(record.summary)
  }

  amend(record: ProfileRecord, facts: string): void {
    this.append(record, facts)
    const { token } = record.summary
    const entry = this.#catalog.index.find(token)
    // The copy is to be the newest version, too.
    if (entry !== undefined && this.#catalog.pins.find(entry) !== undefined) void this.pin(token, true)
  }

  pin(token: string, isPinned: boolean): Promise<boolean> {
    // One after the other: the copy that was asked for last is to be the one that stays.
    this.#pinned = this.#pinned
      .then(() => (isPinned ? this.#pin(token) : this.#unpin(token)))
      .catch(error => {
        this.#problems.report('Profiles cannot be pinned or unpinned.', error)
        return false
      })
    return this.#pinned
  }

  async pinned(): Promise<ReadonlySet<string>> {
    await within(diskPatience, this.#catalog.refresh())
    return new Set(this.#catalog.pins.pins.map(({ line }) => line.summary.token))
  }

  has(token: string): boolean {
    return this.#catalog.index.find(token) !== undefined
  }

  async find(token: string): Promise<StoredProfile | undefined> {
    const found = await this.#finder.find(token)
    if (found === undefined) return undefined
    const { entry, profile } = found
    return { profile, facts: profile.processData, isPinned: this.#catalog.pins.find(entry) !== undefined }
  }

  async search(query: ProfileQuery): Promise<ProfileSearchResult> {
    await within(diskPatience, this.#catalog.refresh())
    const result = searchSummaries(this.#catalog.index.entries, query)
    if (!this.#recorder.isFailing) return result
    const tokens = result.summaries.map(({ token }) => token)
    return { ...result, unstored: new Set(tokens.filter(token => this.#recorder.isWaiting(token))) }
  }

  async load(onProgress: (done: number, total: number) => void): Promise<void> {
    const { folder, refresh } = this.#catalog
    const end = folder.observe(onProgress)
    await refresh()
    end()
  }

  tail(listener: TailListener): () => void {
    const remove = this.#tail.add(listener, Math.max(this.#clock(), this.#catalog.index.newest))
    this.#watch.start()
    void this.#catalog.refresh()
    return () => {
      remove()
      if (!this.#tail.isHeard) this.#watch.stop()
    }
  }

  /** Also segments that other processes are writing are removed: each then begins a new one. */
  async purge(): Promise<void> {
    const { folder, refresh } = this.#catalog
    const end = this.#recorder.discard()
    this.#catalog.forgetAll()
    // What is being written is to be removed as well.
    await this.#recorder.flush()
    await refresh()
    const isPurged = ({ name: { time, writer } }: Segment) => writer !== this.#writer.id || time <= end
    await this.#retention.remove(folder.segments.filter(isPurged))
  }

  async usage(): Promise<StorageUsage> {
    await within(diskPatience, this.#catalog.refresh())
    const { folder, index, pins } = this.#catalog
    const { dropped, problem, waiting } = this.#recorder
    const bytes = [...folder.segments, ...pins.pins].reduce((sum, file) => sum + file.bytes, waiting)
    return { profiles: index.entries.length, bytes, dropped, problem }
  }

  async flush(): Promise<void> {
    await this.#recorder.flush()
    await this.#retained
  }

  flushNow(): void {
    this.#recorder.flushNow()
  }

  /** Waits two seconds for the disk, at most. */
  close(): Promise<void> {
    this.#closed ??= this.#close()
    return this.#closed
  }

  async #close(): Promise<void> {
    this.#watch.stop()
    const done = this.flush().then(() => this.#writer.close())
    await within(diskPatience, done)
  }

  async #pin(token: string): Promise<boolean> {
    const found = await this.#finder.find(token)
    if (found !== undefined) await this.#catalog.pins.add(found.entry, found.text)
    return found !== undefined
  }

  async #unpin(token: string): Promise<boolean> {
    const entry = isToken(token) ? await this.#finder.locate(token) : undefined
    const pin = entry && this.#catalog.pins.find(entry)
    if (pin === undefined) return entry !== undefined
    await this.#catalog.pins.remove(pin)
    this.#catalog.forget([pin])
    return true
  }

  #begin(segment: Segment): void {
    this.#catalog.folder.add(segment)
    this.#retained = this.#retention.run()
    // The directory may be a new one.
    if (this.#tail.isHeard) this.#watch.start()
  }

  #onRefreshed(found: readonly IndexEntry[], gone: readonly Segment[]): void {
    // Whether it was removed or moved away: what is written to it now is lost.
    if (gone.some(segment => segment === this.#writer.current)) this.#writer.leave()
    if (this.#hasLooked) for (const { summary } of found) this.#tail.tell(summary)
    else this.#tail.tellPerhaps(found)
    this.#hasLooked = true
  }

  #isForeign(file: string): boolean {
    const name = parseSegmentName(file, endings.index)
    return name !== undefined && name.writer !== this.#writer.id
  }
}
