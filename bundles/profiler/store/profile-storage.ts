import type { Foundation } from '../../../kernel/bundle.ts'
import type { Profile, ProfileSummary } from '../profile/profile.ts'

/** A profile to be stored: its summary for the list, and all of it as one line of masked JSON. */
export interface SerializedProfile {
  readonly summary: ProfileSummary
  readonly text: string
}

/** A profile from the store. */
export interface StoredProfile {
  /** The profile, as it was parsed. */
  readonly profile: Profile
  /** Whether it is kept when others are removed. */
  readonly isPinned: boolean
}

/**
 * Makes the newer version of a stored profile; `undefined` when nothing changes. It must not change the profile itself.
 */
export type ProfileChange = (profile: Profile) => SerializedProfile | undefined

/** The fields of a summary that all profiles have. */
export type SummaryField = {
  [Field in keyof ProfileSummary]-?: undefined extends ProfileSummary[Field] ? never : Field
}[keyof ProfileSummary]

/**
 * A condition on a field. `contains` and `lacks` look for a text in the field as text (`null` is an empty text), and
 * distinguish upper and lower case; `from` and `until` are inclusive bounds of a number; `among` is a set of texts of
 * which the field must be one.
 */
export type ProfileFilter =
  | { readonly field: SummaryField; readonly test: 'contains' | 'lacks'; readonly value: string }
  | { readonly field: SummaryField; readonly test: 'from' | 'until'; readonly value: number }
  | { readonly field: SummaryField; readonly test: 'among'; readonly value: ReadonlySet<string> }

/** A search. All conditions of its filters must hold. */
export interface ProfileQuery {
  readonly filters?: readonly ProfileFilter[]
  /**
   * By default, and among equals, the profile that was appended last comes first. Texts are in the order of their code
   * units; `null` is last in both directions.
   */
  readonly sort?: { readonly field: SummaryField; readonly direction: 'ascending' | 'descending' }
  /** The number of profiles at the beginning of the sorted list that are left out. */
  readonly offset?: number
  /** The pages ask for 100,000 without filters and without a sort: they count, group and filter them themselves. */
  readonly limit: number
}

/** A page of the profiles that a search found. */
export interface ProfileSearchResult {
  /** The found profiles, in the order of the query. */
  readonly summaries: readonly ProfileSummary[]
  /** How many profiles match, on all pages together. */
  readonly total: number
  /** Tokens of this page whose profiles are only in memory, because writing fails; absent when writing works. */
  readonly unstored?: ReadonlySet<string>
}

/** What a store contains, and what it lost. */
export interface StorageUsage {
  readonly profiles: number
  /** The size of all of them. */
  readonly bytes: number
  /** Profiles that were dropped since the process began: the disk was full or too slow, or a profile was too long. */
  readonly dropped: number
  /** Why the last profile was dropped. */
  readonly problem: string | undefined
}

/** The limits of a storage. The oldest profiles are removed when it is larger. */
export interface StoreLimits {
  readonly bytes: number
  /** Profiles. */
  readonly count: number
  /** Milliseconds. */
  readonly age: number
}

/**
 * Messages and tasks may take a tenth of what is stored, so that chatty sockets and timers push out no requests.
 * `limits` are those of a storage, or of a part of it.
 */
export function limitMessages<Limits extends { readonly bytes: number }>(limits: Limits): Limits {
  const tenths = Object.entries(limits).map(([name, limit]) => [name, name === 'age' ? limit : Math.ceil(limit / 10)])
  // The same fields with other numbers.
  return Object.fromEntries(tenths) as Limits
}

/** The default limits of a storage. */
export const defaultLimits: StoreLimits = { bytes: 200_000_000, count: 10_000, age: 48 * 3_600_000 }

/** The number of profiles that lists and pages read: the newest. They search these themselves, in one pass. */
export const readLimit = 100_000

/**
 * Stores profiles within limits. No method throws or rejects because of the state of the disk: a
 * damaged profile is treated as missing. Processes that use the same storage see one list.
 */
export interface ProfileStorage {
  /**
   * Whether several machines use it: then tokens have 12 digits instead of 6, and profiles have
   * the name of their machine.
   */
  readonly isShared?: boolean
  /**
   * Stores a profile, or a newer version of a profile that this process has appended: the newer version takes the
   * position of the first. Returns at once; `find` and `search` know the profile from then on. `facts` is the JSON text
   * of the data about the process; it is stored once for all profiles with the same text.
   */
  append(profile: SerializedProfile, facts: string): void
  /**
   * Changes a profile of any process, at its position: of changes at the same time, each sees the result of the one
   * before. False when the profile is not known, or was dropped.
   */
  amend(token: string, change: ProfileChange): Promise<boolean>
  /**
   * Pins or unpins a profile: limits and `purge` do not remove a pinned profile. False when it is not known, or cannot
   * be written.
   */
  pin(token: string, isPinned: boolean): Promise<boolean>
  /** The tokens of all pinned profiles. */
  pinned(): Promise<ReadonlySet<string>>
  /** Whether this process knows a profile with this token. It does not look for new profiles of other processes. */
  has(token: string): boolean
  /** Finds a profile. For an unknown token, waits up to a second for another process to write its profile. */
  find(token: string): Promise<StoredProfile | undefined>
  /** Searches the profiles that are known within two seconds. */
  search(query: ProfileQuery): Promise<ProfileSearchResult>
  /** Resolves when all profiles of other processes are known, however long that takes. */
  load(): Promise<void>
  /**
   * Calls the listener with the summary of each profile that any process appends, until the returned function is
   * called.
   */
  tail(listener: (summary: ProfileSummary) => void): () => void
  /** Removes all profiles that are not pinned. */
  purge(): Promise<void>
  /** The number of stored profiles, and their size. */
  usage(): Promise<StorageUsage>
  /** Resolves when all profiles that were appended are written or dropped. */
  flush(): Promise<void>
  /** Writes all profiles that were appended before it returns: for a process that ends at once. */
  flushNow(): void
  /** Rejects if no profile can be stored now, and leaves no data. The application calls it at its start. */
  check?(): Promise<void>
  /** Flushes, and closes files. Profiles that are appended later are ignored. */
  close(): Promise<void>
}

/** Creates the storage of an application. */
export type CreateProfileStorage = (foundation: Pick<Foundation, 'logger'>) => ProfileStorage
