import type { Profile, ProfileSummary } from '../profile/profile.ts'
import type { JsonObject } from '../profile/schema.ts'

/** A profile to be kept: its summary for the index, and all of it as one line of masked JSON. */
export interface ProfileRecord {
  readonly summary: ProfileSummary
  readonly text: string
}

/** A profile as it was kept, with the facts of the process that it was made in. */
export interface StoredProfile {
  readonly profile: Profile
  readonly facts: JsonObject
  readonly isPinned: boolean
}

/** The fields of a summary. */
export type SummaryField = keyof ProfileSummary

/**
 * One condition on a field. `contains` and `lacks` look for a text in the field written as text (`null` is an
 * empty one), with upper and lower case told apart; `from` and `until` are inclusive bounds of a number; `among` wants one
 * of several texts, exactly.
 */
export type ProfileFilter =
  | { readonly field: SummaryField; readonly test: 'contains' | 'lacks'; readonly value: string }
  | { readonly field: SummaryField; readonly test: 'from' | 'until'; readonly value: number }
  | { readonly field: SummaryField; readonly test: 'among'; readonly value: ReadonlySet<string> }

/** Which profiles are wanted: all conditions hold. */
export interface ProfileQuery {
  readonly filters?: readonly ProfileFilter[]
  /**
   * Newest first (the order in which they were kept, reversed) unless told else; so are equals. Texts are in the order of
   * their code units, and what is `null` stands last in both directions.
   */
  readonly sort?: { readonly field: SummaryField; readonly direction: 'ascending' | 'descending' }
  readonly offset?: number
  readonly limit: number
}

/** A page of what was found. */
export interface ProfileSearchResult {
  readonly summaries: readonly ProfileSummary[]
  /** How many match, on all pages together. */
  readonly total: number
  /** Tokens of this page whose profiles are only in memory, because the disk takes nothing; absent where there are none. */
  readonly unstored?: ReadonlySet<string>
}

/** What a store holds, and what it could not. */
export interface StorageUsage {
  readonly profiles: number
  readonly bytes: number
  /** Profiles that were dropped since the process began: the disk was full or slower than they came, or one was too long. */
  readonly dropped: number
  /** Why the last one was dropped. */
  readonly problem: string | undefined
}

/** Keeps profiles, within limits. Nothing here throws or rejects for a state of the disk: what is damaged does not exist. */
export interface ProfileStorage {
  /**
   * Keeps a profile; returns at once, and from then on `find` and `search` know it. Facts are kept once for all
   * profiles that are given the same text of them.
   */
  append(record: ProfileRecord, facts: string): void
  /** Keeps a newer version of a profile that was appended: the last one wins, in the place of the first. */
  amend(record: ProfileRecord, facts: string): void
  /** Lets a profile outlive all limits, or no longer; false when it is not known, or the disk does not allow it. */
  pin(token: string, isPinned: boolean): Promise<boolean>
  /** The tokens of all that is pinned. */
  pinned(): Promise<ReadonlySet<string>>
  /** Whether this process has kept a profile of this token, or knows of one. */
  has(token: string): boolean
  /** One that is not known yet is looked for in what other processes write, for up to a second. */
  find(token: string): Promise<StoredProfile | undefined>
  search(query: ProfileQuery): Promise<ProfileSearchResult>
  /**
   * Reads all that other processes have kept, however long it takes, and tells how far it has come: a search has only
   * seconds, and finds what is known by then.
   */
  load(onProgress: (done: number, total: number) => void): Promise<void>
  /** Tells of every profile, of all processes, from now on; returns what ends that. */
  tail(listener: (summary: ProfileSummary) => void): () => void
  /** Forgets everything but what is pinned, and what other processes that still run are about to write. */
  purge(): Promise<void>
  usage(): Promise<StorageUsage>
  /** Resolves when everything appended so far was written or dropped. */
  flush(): Promise<void>
  /** Writes what waits to be written, and what is being written, before it returns: for a process that is about to end. */
  flushNow(): void
  /** Flushes, and lets go of what is open. What is appended after that is not kept. */
  close(): Promise<void>
}
