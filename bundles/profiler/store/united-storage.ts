import { guard } from '../../../lib/guard.ts'
import { readTime, startInterval, stopTimer } from '../../../lib/own-globals.ts'
import type { ProfileSummary } from '../profile/profile.ts'
import { selectSorted } from './base-profile-storage.ts'
import type {
  ProfileChange,
  ProfileQuery,
  ProfileSearchResult,
  ProfileStorage,
  SerializedProfile,
  StorageUsage,
  StoredProfile,
} from './profile-storage.ts'

/** A program of this user, and its profiles. */
export interface ProgramStore {
  /** Relative names of files in its profiles start there. */
  readonly directory: string
  readonly storage: ProfileStorage
  /** The secret by which it knows the replays of the profiler; absent if its requests cannot be sent again. */
  readonly replaySecret?: string | undefined
}

/** The other programs whose profiles are shown. */
export interface OtherPrograms {
  /** The program that has a known profile; `undefined` if it is this one. */
  ownerOf(token: string): ProgramStore | undefined
  list(): readonly ProgramStore[]
}

export const noOtherPrograms: OtherPrograms = { ownerOf: () => undefined, list: () => [] }

/** Milliseconds between two looks for other programs while there are listeners. */
const lookInterval = 1000

/** The most profiles of a program that are new when it is found. */
const newLimit = 100

/**
 * The profiles of several programs as one list. What this program records goes to its own storage; a pin goes to the storage that
 * has the profile. If two storages have a profile with the same token, the first one is shown: folders of programs are copied.
 */
export class UnitedStorage implements ProfileStorage, OtherPrograms {
  readonly #own: ProfileStorage
  readonly list: () => readonly ProgramStore[]

  constructor(own: ProfileStorage, listOthers: () => readonly ProgramStore[] = () => []) {
    this.#own = own
    this.list = listOthers
  }

  get #all(): readonly ProfileStorage[] {
    return [this.#own, ...this.list().map(({ storage }) => storage)]
  }

  ownerOf(token: string): ProgramStore | undefined {
    return this.#own.has(token) ? undefined : this.list().find(({ storage }) => storage.has(token))
  }

  append(profile: SerializedProfile, facts: string): void {
    this.#own.append(profile, facts)
  }

  amend(token: string, change: ProfileChange): Promise<boolean> {
    return this.#storageOf(token).amend(token, change)
  }

  pin(token: string, isPinned: boolean): Promise<boolean> {
    return this.#storageOf(token).pin(token, isPinned)
  }

  async pinned(): Promise<ReadonlySet<string>> {
    const pinned = await Promise.all(this.#all.map(storage => storage.pinned()))
    return new Set(pinned.flatMap(tokens => [...tokens]))
  }

  has(token: string): boolean {
    return this.#all.some(storage => storage.has(token))
  }

  async find(token: string): Promise<StoredProfile | undefined> {
    const known = this.#all.find(storage => storage.has(token))
    if (known !== undefined) return known.find(token)
    const found = await Promise.all(this.#all.map(storage => storage.find(token)))
    return found.find(stored => stored !== undefined)
  }

  async search(query: ProfileQuery): Promise<ProfileSearchResult> {
    const all = this.#all
    if (all.length === 1) return this.#own.search(query)
    const { limit, offset = 0, sort } = query
    const end = offset + limit
    const results = await Promise.all(all.map(storage => storage.search({ ...query, offset: 0, limit: end })))
    const merged = mergeByTime(results.map(({ summaries }) => summaries))
    const sorted = sort === undefined ? merged : selectSorted(merged, summary => summary, end, sort)
    const unstored = results.flatMap(result => [...(result.unstored ?? [])])
    return {
      summaries: sorted.slice(offset, end),
      total: results.reduce((sum, { summaries, total }) => sum + total - summaries.length, merged.length),
      ...(unstored.length > 0 && { unstored: new Set(unstored) }),
    }
  }

  async load(): Promise<void> {
    await Promise.all(this.#all.map(storage => storage.load()))
  }

  /** Also listens to programs that begin later. */
  tail(listener: (summary: ProfileSummary) => void): () => void {
    const began = readTime()
    const stops = new Map<ProfileStorage, () => void>()
    const add = (storage: ProfileStorage) => stops.set(storage, storage.tail(listener))
    // A program may have stored profiles before it was found.
    const report = async (storage: ProfileStorage) => {
      const { summaries } = await storage.search({ limit: newLimit })
      for (const summary of summaries.toReversed()) if (summary.time >= began) listener(summary)
    }
    for (const storage of this.#all) add(storage)
    const look = guard('the programs of the list', () => {
      for (const storage of this.#all.filter(storage => !stops.has(storage))) {
        add(storage)
        void report(storage)
      }
    })
    const timer = startInterval(look, lookInterval).unref()
    return () => {
      stopTimer(timer)
      for (const stop of stops.values()) stop()
    }
  }

  async purge(): Promise<void> {
    await Promise.all(this.#all.map(storage => storage.purge()))
  }

  async usage(): Promise<StorageUsage> {
    const [own, ...others] = await Promise.all(this.#all.map(storage => storage.usage()))
    const sum = (field: 'bytes' | 'profiles') => others.reduce((sum, usage) => sum + usage[field], own?.[field] ?? 0)
    return { dropped: 0, problem: undefined, ...own, profiles: sum('profiles'), bytes: sum('bytes') }
  }

  flush(): Promise<void> {
    return this.#own.flush()
  }

  flushNow(): void {
    this.#own.flushNow()
  }

  async close(): Promise<void> {
    await Promise.all(this.#all.map(storage => storage.close()))
  }

  #storageOf(token: string): ProfileStorage {
    return this.ownerOf(token)?.storage ?? this.#own
  }
}

/** Merges lists, each with the newest first, to one list in which each token is once. The order within a list stays. */
function mergeByTime(lists: readonly (readonly ProfileSummary[])[]): ProfileSummary[] {
  const places = lists.map(() => 0)
  const seen = new Set<string>()
  const merged: ProfileSummary[] = []
  for (;;) {
    let newest = -1
    let time = Number.NEGATIVE_INFINITY
    for (const [index, list] of lists.entries()) {
      const head = list[places[index] ?? 0]
      if (head !== undefined && head.time > time) [newest, time] = [index, head.time]
    }
    const head = lists[newest]?.[places[newest] ?? 0]
    if (head === undefined) return merged
    places[newest] = (places[newest] ?? 0) + 1
    if (seen.has(head.token)) continue
    seen.add(head.token)
    merged.push(head)
  }
}
