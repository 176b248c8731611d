import { guard } from '../../../lib/guard.ts'
import type { Logger } from '../../../lib/log/logger.ts'
import { pause, readClock, startInterval, startTimer, stopTimer, within } from '../../../lib/own-globals.ts'
import { isToken } from '../profile/json.ts'
import type { ProfileSummary } from '../profile/profile.ts'
import type {
  ProfileChange,
  ProfileFilter,
  ProfileQuery,
  ProfileSearchResult,
  ProfileStorage,
  SerializedProfile,
  StorageUsage,
  StoredProfile,
} from './profile-storage.ts'

/** A version of a profile that is not written yet. `facts` is the text of the facts about its process. */
export interface WaitingProfile extends SerializedProfile {
  readonly facts: string
}

/** A stored profile, and the text of its facts: all that a newer version is made of. */
export interface FoundProfile extends StoredProfile {
  readonly facts: string
}

/** The profiles that are not written yet: the counts, and the pauses between two groups of them. */
export class ProfileQueue {
  /** How many profiles were dropped. */
  dropped = 0
  /** Why the last one was dropped. */
  problem: string | undefined
  /** Whether the last write failed. */
  isFailing = false
  /** Characters. */
  length = 0
  #pause: NodeJS.Timeout | undefined
  #endPause: (() => void) | undefined

  /** Resolves when all of them are written or dropped. */
  async flush(): Promise<void> {}

  /** Waits before the next group. If `isIdle`, the pause does not keep the process running. */
  protected async pause(milliseconds: number, isIdle: boolean): Promise<void> {
    await new Promise<void>(resolve => {
      this.#endPause = resolve
      this.#pause = startTimer(resolve, milliseconds)
      if (isIdle) this.#pause.unref()
    })
    stopTimer(this.#pause)
    this.#pause = undefined
    this.#endPause = undefined
  }

  /** From now on the current pause keeps the process running: a profile waits. */
  protected refPause(): void {
    this.#pause?.ref()
  }

  protected endPause(): void {
    this.#endPause?.()
  }

  /** Counts a dropped profile. Returns false. */
  protected drop(reason: string, error?: unknown): false {
    this.dropped++
    this.problem = error instanceof Error ? error.message : reason
    return false
  }
}

/** Reports a problem with a constant sentence. */
export type ReportProblem = (message: string, error: unknown) => void

/** Reports the problems of a storage as warnings. */
export function warnBy(logger: Pick<Logger, 'warning'>): ReportProblem {
  return (message, exception) => logger.warning(message, { exception })
}

/** Milliseconds that a caller waits for the disk or the server. */
export const timeout = 2000

/** Milliseconds that a caller waits for another process to write a profile, and between two looks. */
const otherWriters = { limit: 1000, look: 20 } as const

/** Milliseconds between two looks for new profiles while there are listeners. */
const tailInterval = 200

/** How often a change is tried again because another process has changed the same profile. */
const changeLimit = 20

/**
 * What all storages have in common: the order of changes and of pins, the wait for another
 * process, the search in the known summaries, the listeners, and the bounds of each wait.
 */
export abstract class BaseProfileStorage<Found extends FoundProfile> implements ProfileStorage {
  protected readonly report: ReportProblem
  #listeners: readonly { readonly listener: (summary: ProfileSummary) => void; since: number }[] = []
  #lastChange: Promise<boolean> = Promise.resolve(false)
  #lastPin: Promise<boolean> = Promise.resolve(false)
  #closed: Promise<unknown> | undefined
  #timer: NodeJS.Timeout | undefined

  constructor(report: ReportProblem) {
    this.report = report
  }

  /** All known profiles, oldest first, also those that are not written yet. */
  protected abstract readonly known: readonly { readonly summary: ProfileSummary }[]
  protected abstract readonly unwritten: ProfileQueue
  /** Bytes of all written profiles. */
  protected abstract readonly writtenBytes: number
  protected abstract readonly pinnedTokens: Iterable<string>

  /** Reads what other processes have added, changed and removed. Never rejects. */
  protected abstract refresh(): Promise<void>

  /** Looks for the newest profile with a token; `'expected'` when another process may be about to write it. */
  protected abstract look(token: string): Promise<Found | 'expected' | undefined>

  /** Adds a profile, or a newer version of it, to those that are to be written. False when it is dropped. */
  protected abstract add(profile: SerializedProfile, facts: string, older?: Found): boolean

  /** Pins or unpins a profile. False when it is not known. May reject. */
  protected abstract setPin(token: string, isPinned: boolean): Promise<boolean>

  /** Whether no version of a known profile is written; absent where no write can fail. */
  protected isUnwritten?(token: string): boolean

  abstract has(token: string): boolean
  abstract purge(): Promise<void>
  abstract flushNow(): void

  append(profile: SerializedProfile, facts: string): void {
    this.accept(profile, facts)
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
      .then(() => isToken(token) && this.setPin(token, isPinned))
      .catch(error => {
        this.report('Profiles cannot be pinned or unpinned.', error)
        return false
      })
    return this.#lastPin
  }

  async pinned(): Promise<ReadonlySet<string>> {
    await within(timeout, this.refresh())
    return new Set(this.pinnedTokens)
  }

  async find(token: string): Promise<StoredProfile | undefined> {
    const found = await this.locate(token)
    return found && { profile: found.profile, isPinned: found.isPinned }
  }

  async search(query: ProfileQuery): Promise<ProfileSearchResult> {
    await within(timeout, this.refresh())
    const result = searchSummaries(this.known, query)
    if (!this.unwritten.isFailing) return result
    const tokens = result.summaries.map(({ token }) => token)
    return { ...result, unstored: new Set(tokens.filter(token => this.isUnwritten?.(token))) }
  }

  load(): Promise<void> {
    return this.refresh()
  }

  tail(listener: (summary: ProfileSummary) => void): () => void {
    // Until all is read, profiles of other processes may be old.
    const added = { listener, since: this.tailStart }
    this.#listeners = [...this.#listeners, added]
    const refresh = guard('profiles of other processes', async () => {
      await this.refresh()
      added.since = 0
    })
    void refresh()
    this.#timer ??= startInterval(refresh, tailInterval).unref()
    return () => {
      this.#listeners = this.#listeners.filter(each => each !== added)
      if (this.#listeners.length === 0) this.#stopTimer()
    }
  }

  async usage(): Promise<StorageUsage> {
    await within(timeout, this.refresh())
    const { dropped, length, problem } = this.unwritten
    return { profiles: this.known.length, bytes: this.writtenBytes + length, dropped, problem }
  }

  flush(): Promise<void> {
    return this.unwritten.flush()
  }

  /** Waits at most two seconds. */
  async close(): Promise<void> {
    this.#stopTimer()
    this.#closed ??= within(
      timeout,
      this.flush().then(() => this.release()),
    )
    await this.#closed
  }

  /**
   * A new listener gets no profiles of other processes that were appended before this time, in milliseconds since 1970.
   */
  protected get tailStart(): number {
    return 0
  }

  /** Called when all is written: closes files. */
  protected async release(): Promise<void> {}

  /** Adds a profile, and passes it to the listeners. False when it is dropped. */
  protected accept(profile: SerializedProfile, facts: string, older?: Found): boolean {
    if (this.#closed !== undefined || !this.add(profile, facts, older)) return false
    this.pass(profile.summary)
    return true
  }

  /** Replaces a version of a profile; `undefined` when it is no longer the newest one. */
  protected async replace(older: Found, newer: SerializedProfile): Promise<boolean | undefined> {
    return this.accept(newer, older.facts, older)
  }

  /** Passes a profile to the listeners. `time` is when another process has appended it, in milliseconds since 1970. */
  protected pass(summary: ProfileSummary, time: number = Number.POSITIVE_INFINITY): void {
    for (const { listener, since } of this.#listeners) {
      try {
        if (time >= since) listener(summary)
      } catch (error) {
        this.report('A listener to new profiles has failed.', error)
      }
    }
  }

  /** Finds a profile, also when another process is about to write it. */
  protected async locate(token: string): Promise<Found | undefined> {
    if (!isToken(token)) return undefined
    const end = readClock() + otherWriters.limit
    for (;;) {
      const found = await this.look(token)
      if (found !== 'expected') return found
      if (readClock() >= end) return undefined
      await pause(otherWriters.look)
    }
  }

  async #amend(token: string, change: ProfileChange): Promise<boolean> {
    for (let attempt = 0; attempt < changeLimit; attempt++) {
      const found = await this.locate(token)
      const changed = found && change(found.profile)
      if (found === undefined || changed === undefined) return found !== undefined
      const isReplaced = await this.replace(found, changed)
      if (isReplaced !== undefined) return isReplaced
    }
    return false
  }

  #stopTimer(): void {
    stopTimer(this.#timer)
    this.#timer = undefined
  }
}

/** Reports each message at most once a minute. */
export function limitReports(report: ReportProblem, clock: () => number): ReportProblem {
  const reported = new Map<string, number>()
  return (message, error) => {
    const now = clock()
    const last = reported.get(message)
    // Also a clock that was set back ends the minute.
    if (last !== undefined && Math.abs(now - last) < 60_000) return
    reported.set(message, now)
    report(message, error)
  }
}

/**
 * Returns a function that runs a task once for all of its callers at the same time. A call during a run waits for one
 * more run, because the current run may have begun too early. The task must not reject.
 */
export function coalesce(task: () => Promise<void>): () => Promise<void> {
  let last: Promise<void> | undefined
  let waiting: Promise<void> | undefined
  const runAfter = async (earlier: Promise<void> | undefined): Promise<void> => {
    try {
      await earlier
    } catch {
      // Its own callers have the error.
    }
    waiting = undefined
    await task()
  }
  return () => {
    waiting ??= last = runAfter(last)
    return waiting
  }
}

/** Searches profiles that are in the order in which they were appended. */
export function searchSummaries(
  profiles: readonly { readonly summary: ProfileSummary }[],
  { filters = [], limit, offset = 0, sort }: ProfileQuery,
): ProfileSearchResult {
  const end = offset + limit
  // The usual search does not read all profiles.
  if (filters.length === 0 && sort === undefined) {
    const page = profiles.slice(Math.max(0, profiles.length - end), Math.max(0, profiles.length - offset))
    return { summaries: page.reverse().map(({ summary }) => summary), total: profiles.length }
  }
  const tests = filters.map(matchFilter)
  const found: ProfileSummary[] = []
  for (const { summary } of profiles) if (tests.every(test => test(summary))) found.push(summary)
  found.reverse()
  const sorted = sort === undefined ? found : selectSorted(found, summary => summary, end, sort)
  return { summaries: sorted.slice(offset, end), total: found.length }
}

/** Creates the function that tests whether a summary meets a condition. `null` counts as an empty text. */
export function matchFilter({ field, test, value }: ProfileFilter): (summary: ProfileSummary) => boolean {
  if (typeof value === 'object') return summary => value.has(toText(summary[field]))
  if (typeof value === 'string') {
    const isWanted = test === 'contains'
    return summary => toText(summary[field]).includes(value) === isWanted
  }
  // Comparisons with NaN are false.
  if (test === 'from') return summary => toNumber(summary[field]) >= value
  return summary => toNumber(summary[field]) <= value
}

function toText(value: string | number | boolean | null): string {
  return typeof value === 'string' ? value : String(value ?? '')
}

function toNumber(value: string | number | boolean | null): number {
  return typeof value === 'number' ? value : Number.NaN
}

type Compare = (one: ProfileSummary, other: ProfileSummary) => number

/** `null` is last in both directions. */
function compareBy({ direction, field }: NonNullable<ProfileQuery['sort']>): Compare {
  const less = direction === 'ascending' ? -1 : 1
  return (one, other) => {
    const value = one[field]
    const otherValue = other[field]
    if (value === otherValue) return 0
    if (value === null) return 1
    if (otherValue === null) return -1
    return value < otherValue ? less : -less
  }
}

/**
 * Selects the first items in the order of their summaries. Sorting all of 100,000 would take longer than a search may.
 */
export function selectSorted<item>(
  items: readonly item[],
  summaryOf: (item: item) => ProfileSummary,
  count: number,
  sort: NonNullable<ProfileQuery['sort']>,
): item[] {
  const compareSummaries = compareBy(sort)
  const compare = (one: item, other: item) => compareSummaries(summaryOf(one), summaryOf(other))
  let first: item[] = []
  let last: item | undefined
  for (const item of items) {
    if (last !== undefined && compare(item, last) >= 0) continue
    first.push(item)
    if (first.length < count + 1000) continue
    first = first.sort(compare).slice(0, count)
    last = first.at(-1)
  }
  return first.sort(compare).slice(0, count)
}
