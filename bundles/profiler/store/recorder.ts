import { CommitQueue } from './commit-queue.ts'
import { IndexEntry, Version } from './index-entry.ts'
import { lineLimits } from './line-limits.ts'
import type { ProfileIndex } from './profile-index.ts'
import type { ProfileRecord } from './profile-storage.ts'
import type { PlacedItem, QueueItem } from './segment-encoder.ts'
import type { SegmentWriter } from './segment-writer.ts'

/** What profiles are recorded with. */
export interface RecorderOptions {
  readonly index: ProfileIndex
  readonly writer: SegmentWriter
  /** Characters that may wait to be written. */
  readonly queueBytes: number
  /** Milliseconds since 1970. */
  readonly clock: () => number
  /** Told, with a constant sentence, when profiles are dropped. */
  readonly onDrop: (reason: string, error: unknown) => void
}

/** Takes profiles into the index at once and to the disk soon; what the disk does not take is dropped from both. */
export class Recorder {
  /** How many profiles were dropped. */
  dropped = 0
  /** Why the last one was. */
  problem: string | undefined
  /** Whether the last write has failed. */
  isFailing = false
  readonly #options: RecorderOptions
  readonly #queue: CommitQueue<QueueItem>

  constructor(options: RecorderOptions) {
    this.#options = options
    this.#queue = new CommitQueue({ limit: options.queueBytes, commit: group => this.#commit(group) })
  }

  /** Characters that wait to be written. */
  get waiting(): number {
    return this.#queue.length
  }

  /** Takes a profile, or a newer version of it; false when it was dropped. */
  keep({ summary, text }: ProfileRecord, facts: string): boolean {
    const { clock, index, writer } = this.#options
    if (isTooLong(text)) return this.#drop(1, 'A profile was dropped because it is too long.')
    const known = index.find(summary.token, writer.id)
    const texts = { record: text, facts }
    const version = new Version(summary, texts, undefined, known?.version)
    const entry = known ?? new IndexEntry(writer.id, Math.max(Math.floor(clock()), index.newest), version)
    if (!this.#queue.push({ entry, version, text: texts, length: text.length })) {
      return this.#drop(1, 'Profiles are dropped because they come faster than the disk takes them.')
    }
    if (known === undefined) index.push(entry)
    else known.show(version)
    return true
  }

  /** Whether no version of the profile was written yet. */
  isWaiting(token: string): boolean {
    const { index, writer } = this.#options
    const entry = index.find(token, writer.id)
    let version = entry?.version
    while (version !== undefined && version.place === undefined) version = version.previous
    return entry !== undefined && version === undefined
  }

  /** Resolves when everything kept so far was written or dropped. */
  flush(): Promise<void> {
    return this.#queue.flush()
  }

  /** Writes everything kept so far before it returns. */
  flushNow(): void {
    const items = this.#queue.takeAll().filter(isWaiting)
    if (items.length === 0) return
    try {
      this.#options.writer.writeNow(items).forEach(settle)
    } catch (error) {
      this.#withdraw(items, error)
    }
  }

  /** Forgets what waits to be written; gives the time before which the segments were begun that it could have been written to. */
  discard(): number {
    this.#queue.takeWaiting()
    return this.#options.writer.leave()
  }

  async #commit(group: readonly QueueItem[]): Promise<boolean> {
    try {
      await this.#options.writer.write(group, settle)
      this.isFailing = false
      return true
    } catch (error) {
      this.isFailing = true
      this.#withdraw(group.filter(isWaiting), error)
      return false
    }
  }

  /** What was not written is dropped: of an amended profile the version before counts again. */
  #withdraw(items: readonly QueueItem[], error: unknown): void {
    const gone = new Set<IndexEntry>()
    for (const { entry, version } of items) {
      version.text = undefined
      version.isLost = true
      if (!restore(entry)) gone.add(entry)
    }
    this.#options.index.remove(entry => gone.has(entry))
    this.#drop(items.length, 'Profiles are dropped because they cannot be written.', error)
  }

  #drop(count: number, reason: string, error?: unknown): false {
    this.dropped += count
    this.problem = error instanceof Error ? error.message : reason
    this.#options.onDrop(reason, error)
    return false
  }
}

/** In UTF-8 a character takes three bytes at the most. */
function isTooLong(text: string): boolean {
  const { record } = lineLimits
  return text.length * 3 > record && Buffer.byteLength(text) > record
}

/** Not if it was written, or given up, in another way meanwhile. */
function isWaiting({ version }: QueueItem): boolean {
  return version.place === undefined && !version.isLost
}

function settle({ item: { entry, version }, place }: PlacedItem): void {
  version.place = place
  version.text = undefined
  version.previous = undefined
  place.file.newest = Math.max(place.file.newest, entry.keptAt)
}

/** Makes the newest version that is not lost the present one; false when there is none. */
function restore(entry: IndexEntry): boolean {
  let version: Version | undefined = entry.version
  while (version?.isLost) version = version.previous
  if (version !== undefined) entry.show(version)
  return version !== undefined
}
