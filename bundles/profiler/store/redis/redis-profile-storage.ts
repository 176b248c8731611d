import { AsyncResource } from 'node:async_hooks'
import { RedisError } from '../../../../lib/redis/errors.ts'
import { RedisConnection } from '../../../../lib/redis/redis-connection.ts'
import { type ProfileSummary, parseProfile } from '../../profile/profile.ts'
import { isToken } from '../../profile/schema.ts'
import type {
  ProfileChange,
  ProfileQuery,
  ProfileSearchResult,
  ProfileStorage,
  SerializedProfile,
  StorageUsage,
  StoredProfile,
} from '../profile-storage.ts'
import { ProfileTail } from '../profile-tail.ts'
import { searchSummaries } from '../search-summaries.ts'
import type { SpanStorage } from '../span-storage.ts'
import { limitReports, within } from '../waiting.ts'
import { RedisIndex } from './redis-index.ts'
import { type ReadRedisOptions, type RedisStorageOptions, readRedisOptions } from './redis-options.ts'
import { type ReadProfile, RedisProfiles } from './redis-profiles.ts'
import { RedisQueue, type WaitingProfile } from './redis-queue.ts'
import { RedisReader } from './redis-reader.ts'
import { RedisSpans } from './redis-spans.ts'
import type { RunScript } from './scripts.ts'
import { writeInOtherProcess } from './write-in-other-process.ts'

/** Milliseconds that a caller waits for Redis. */
const timeout = 2000

/** Milliseconds between two looks for new profiles while there are listeners. */
const tailInterval = 200

/** How often a change is tried again because another process has changed the same profile. */
const changeLimit = 20

/**
 * Stores profiles in a Redis that the processes of any number of machines share. Redis has all data; a process also keeps the summaries
 * that it knows in memory, and searches there. While Redis is gone, new profiles wait in memory, within a limit.
 */
export class RedisProfileStorage implements ProfileStorage {
  readonly isShared = true
  readonly spans: SpanStorage
  readonly #options: ReadRedisOptions
  readonly #connection: RedisConnection
  readonly #report: (message: string, error: unknown) => void
  readonly #profiles: RedisProfiles
  readonly #index = new RedisIndex()
  readonly #reader: RedisReader
  readonly #queue: RedisQueue
  readonly #tail: ProfileTail
  #lastChange: Promise<unknown> = Promise.resolve()
  #closed: Promise<void> | undefined
  #timer: NodeJS.Timeout | undefined

  constructor(options: RedisStorageOptions) {
    const read = readRedisOptions(options)
    const { connection, limits, onProblem, onRecovery, prefix, queueLength, url } = read
    this.#options = read
    const report = limitReports(onProblem, Date.now)
    this.#report = (message, error) => {
      // The outage is reported already.
      if (!(error instanceof RedisError && error.isPassing)) report(message, error)
    }
    this.#connection = new RedisConnection({
      ...connection,
      url,
      onOutage: error => onProblem('Redis does not answer. Profiles wait in memory.', error),
      onRecovery: () => onRecovery('Redis answers again.'),
    })
    // These commands run outside of the context of a request, so that its profile does not show them as cache calls.
    const run: RunScript = AsyncResource.bind((script, args) => this.#connection.run(script, [prefix], args))
    const onRemoved = (horizon: number) => this.#index.removeUntil(horizon)
    this.#profiles = new RedisProfiles({ run, limits, onRemoved })
    this.spans = new RedisSpans({ run, age: limits.age, onProblem: this.#report })
    this.#tail = new ProfileTail(error => this.#report('A listener to new profiles has failed.', error))
    this.#reader = new RedisReader({
      index: this.#index,
      run,
      isWaiting: token => this.#queue.find(token) !== undefined,
      onFound: summary => this.#tail.pass(summary),
      onProblem: this.#report,
    })
    this.#queue = new RedisQueue({
      limit: queueLength,
      prepare: async profile => void (await this.#profiles.compress(profile)),
      write: profile => this.#write(profile),
      onWritten: () => this.#trim(),
      onDrop: (profile, reason, error) => this.#onDrop(profile, reason, error),
    })
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

  async pin(token: string, isPinned: boolean): Promise<boolean> {
    if (!isToken(token)) return false
    if (this.#queue.find(token) !== undefined) await within(timeout, this.#queue.flush())
    const isKnown = await this.#try('Profiles cannot be pinned or unpinned.', () => this.#profiles.pin(token, isPinned))
    await this.#reader.refresh()
    return isKnown === true
  }

  async pinned(): Promise<ReadonlySet<string>> {
    await within(timeout, this.#reader.refresh())
    return new Set(this.#index.entries.filter(({ isPinned }) => isPinned).map(({ token }) => token))
  }

  has(token: string): boolean {
    return this.#index.find(token) !== undefined
  }

  async find(token: string): Promise<StoredProfile | undefined> {
    const found = await this.#find(token)
    return found && { profile: found.profile, isPinned: found.isPinned }
  }

  async search(query: ProfileQuery): Promise<ProfileSearchResult> {
    await within(timeout, this.#reader.refresh())
    const result = searchSummaries(this.#index.entries, query)
    if (!this.#queue.isFailing) return result
    const waiting = result.summaries.filter(({ token }) => this.#index.find(token)?.stamp === 0)
    return { ...result, unstored: new Set(waiting.map(({ token }) => token)) }
  }

  load(): Promise<void> {
    return this.#reader.refresh()
  }

  tail(listener: (summary: ProfileSummary) => void): () => void {
    const remove = this.#tail.add(listener)
    void this.#reader.refresh()
    this.#timer ??= setInterval(this.#reader.refresh, tailInterval).unref()
    return () => {
      remove()
      if (!this.#tail.hasListeners) this.#stopTimer()
    }
  }

  async purge(): Promise<void> {
    this.#index.remove(({ stamp }) => stamp === 0)
    await this.#queue.discard(async () => {
      await this.#try('Profiles cannot be removed.', () => this.#profiles.purge())
    })
    await this.spans.purge()
  }

  async usage(): Promise<StorageUsage> {
    await within(timeout, this.#reader.refresh())
    const { dropped, length, problem } = this.#queue
    return { profiles: this.#index.entries.length, bytes: this.#reader.bytes + length, dropped, problem }
  }

  /** Also resolves when Redis does not answer. */
  flush(): Promise<void> {
    return this.#queue.flush()
  }

  flushNow(): void {
    const profiles = this.#queue.all
    if (profiles.length === 0) return
    const { limits, prefix, url } = this.#options
    const error = writeInOtherProcess({ url, prefix, limits, profiles })
    if (error === undefined) this.#queue.clear()
    else this.#queue.end(error)
  }

  /** Waits at most two seconds for Redis. */
  close(): Promise<void> {
    this.#closed ??= this.#close()
    // A page that is still open may have read since.
    return this.#closed.then(() => this.#connection.close())
  }

  #push(profile: SerializedProfile, facts: string): boolean {
    if (this.#closed !== undefined || !this.#queue.push({ ...profile, facts })) return false
    const entry = this.#index.find(profile.summary.token)
    if (entry === undefined) this.#index.push(profile.summary)
    else entry.summary = profile.summary
    this.#tail.pass(profile.summary)
    return true
  }

  async #amend(token: string, change: ProfileChange): Promise<boolean> {
    for (let attempt = 0; attempt < changeLimit; attempt++) {
      const found = await this.#find(token)
      const changed = found && change(found.profile)
      if (found === undefined || changed === undefined) return found !== undefined
      // The profile or its newest version is still in the queue: the change is queued, too.
      if (found.version === '') return this.#push(changed, found.facts)
      const newer = { ...changed, facts: found.facts }
      const written = await this.#try('Profiles cannot be changed.', () => this.#profiles.write(newer, found.version))
      if (written === undefined) continue
      this.#reader.onWritten(changed.summary, written)
      this.#tail.pass(changed.summary)
      return true
    }
    return false
  }

  async #find(token: string): Promise<ReadProfile | undefined> {
    if (!isToken(token)) return undefined
    const own = this.#queue.find(token)
    if (own !== undefined) {
      const profile = parseProfile(own.text, own.facts)
      return profile && { profile, facts: own.facts, isPinned: this.#index.find(token)?.isPinned === true, version: '' }
    }
    return this.#try('A profile cannot be read.', () => this.#profiles.read(token))
  }

  /** Reports an error instead of throwing it. */
  async #try<result>(message: string, task: () => Promise<result>): Promise<result | undefined> {
    try {
      return await task()
    } catch (error) {
      this.#report(message, error)
      return undefined
    }
  }

  async #write(profile: WaitingProfile): Promise<void> {
    const reply = await this.#profiles.write(profile)
    if (reply !== undefined) this.#reader.onWritten(profile.summary, reply)
  }

  async #trim(): Promise<void> {
    // The next group tries again.
    if (!this.#queue.isFailing) await this.#try('Old profiles cannot be removed.', () => this.#profiles.trim())
  }

  #onDrop({ summary }: SerializedProfile, reason: string, error: unknown): void {
    this.#report(reason, error)
    const entry = this.#index.find(summary.token)
    if (entry?.stamp === 0) this.#index.remove(each => each === entry)
  }

  #stopTimer(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  async #close(): Promise<void> {
    this.#stopTimer()
    await within(timeout, this.#queue.flush())
    this.#queue.end()
  }
}
