import type { ProfileSummary } from '../profile/profile.ts'
import type { WaitingProfile } from './base-profile-storage.ts'
import type { Place, StoredVersion } from './segment.ts'

/** A profile in the index. Its token alone does not identify it: two processes may draw the same token. */
export class IndexEntry {
  readonly token: string
  readonly writer: string
  /** When it was appended, in milliseconds since 1970; never before the profile before it. The list has this order. */
  readonly time: number
  /** The summary of the newest version. */
  summary: ProfileSummary
  /** The newest version, until it is written or dropped. */
  waiting: WaitingProfile | undefined
  /** The newest version in a file. It counts again when `waiting` is dropped. */
  stored: StoredVersion | undefined

  constructor(writer: string, time: number, version: WaitingProfile | StoredVersion) {
    this.token = version.summary.token
    this.writer = writer
    this.time = time
    this.summary = version.summary
    this.update(version)
  }

  /** Adds a newer version. */
  update(version: WaitingProfile | StoredVersion): void {
    if ('place' in version) this.stored = version
    else this.waiting = version
    this.summary = version.summary
  }

  /** Moves a version that was written. */
  settle(version: WaitingProfile, place: Place): void {
    this.stored = { summary: version.summary, place }
    if (this.waiting === version) this.waiting = undefined
  }

  /** Removes a version that cannot be written. Returns whether another version is left. */
  drop(version: WaitingProfile): boolean {
    if (this.waiting === version) this.waiting = undefined
    return this.#hasVersion()
  }

  /** Replaces the stored version, whose file was removed, with its copy. Returns whether a version is left. */
  replaceStored(copy: StoredVersion | undefined): boolean {
    this.stored = copy
    return this.#hasVersion()
  }

  #hasVersion(): boolean {
    const version = this.waiting ?? this.stored
    if (version !== undefined) this.summary = version.summary
    return version !== undefined
  }
}

/** The known profiles, in memory: in the order in which they were appended, and by token. */
export class ProfileIndex {
  #entries: IndexEntry[] = []
  /** The profiles of each token, oldest first. */
  readonly #byToken = new Map<string, readonly IndexEntry[]>()

  /** Oldest first. */
  get entries(): readonly IndexEntry[] {
    return this.#entries
  }

  /** When the last profile was appended; 0 when there are none. */
  get newest(): number {
    return this.#entries.at(-1)?.time ?? 0
  }

  /** The newest profile with a token, or the profile of this writer. */
  find(token: string, writer?: string): IndexEntry | undefined {
    return this.#byToken.get(token)?.findLast(entry => writer === undefined || entry.writer === writer)
  }

  /**
   * Adds entries that were read from files, in the order in which they were written. Of several versions of a profile
   * the last version counts, at the position of the first. Returns the new entries.
   */
  add(read: readonly IndexEntry[]): IndexEntry[] {
    const { newest } = this
    const added = read.filter(entry => {
      const known = this.find(entry.token, entry.writer)
      if (known === undefined) this.#link(entry)
      else if (entry.stored !== undefined) known.update(entry.stored)
      return known === undefined
    })
    for (const entry of added) this.#entries.push(entry)
    if (added.some(({ time }, index) => time < (added[index - 1]?.time ?? newest))) sortByTime(this.#entries)
    return added
  }

  /** Adds an entry that is newer than all others. */
  addNewest(entry: IndexEntry): void {
    this.#link(entry)
    this.#entries.push(entry)
  }

  /** Removes the entries for which `isGone` is true, of those that were appended at the time `until` or before. */
  remove(isGone: (entry: IndexEntry) => boolean, until: number = Number.POSITIVE_INFINITY): void {
    const end = this.#entries.findIndex(({ time }) => time > until)
    const later = end === -1 ? [] : this.#entries.splice(end)
    this.#entries = this.#entries.filter(entry => {
      const isLeft = !isGone(entry)
      if (!isLeft) this.#unlink(entry)
      return isLeft
    })
    this.#entries = this.#entries.concat(later)
  }

  #link(entry: IndexEntry): void {
    const known = this.#byToken.get(entry.token)
    // Copying an empty list would reserve memory for many entries.
    this.#byToken.set(entry.token, known === undefined ? [entry] : sortByTime([...known, entry]))
  }

  #unlink({ token, writer }: IndexEntry): void {
    const left = this.#byToken.get(token)?.filter(entry => entry.writer !== writer)
    if (left === undefined || left.length === 0) this.#byToken.delete(token)
    else this.#byToken.set(token, left)
  }
}

/** Sorts a list in place. Entries of the same time keep their order. */
function sortByTime(entries: IndexEntry[]): IndexEntry[] {
  return entries.sort((one, other) => one.time - other.time)
}
