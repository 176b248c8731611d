import { AsyncResource } from 'node:async_hooks'
import { createHash, randomBytes } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import { promisify } from 'node:util'
import { deflateRaw, inflateRaw } from 'node:zlib'
import { RedisError } from '../../../../lib/redis/errors.ts'
import { RedisConnection, type RedisReply, type RedisScript } from '../../../../lib/redis/redis-connection.ts'
import { parseProfile, sizeLimit } from '../../profile/parse-profile.ts'
import type { Profile, ProfileSummary } from '../../profile/profile.ts'
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
import { RedisQueue, type WaitingProfile } from './redis-queue.ts'
import { RedisReader } from './redis-reader.ts'
import { RedisSpans } from './redis-spans.ts'
import { asList, readAppendReply } from './replies.ts'
import { appendScript, factsScript, pinScript, readScript, trimScript } from './scripts.ts'
import { writeInOtherProcess } from './write-in-other-process.ts'

const compress = promisify(deflateRaw)
const decompress = promisify(inflateRaw)

/** Milliseconds that a caller waits for Redis, and for another process to write a profile; between two looks for that. */
const timeouts = { redis: 2000, writer: 1000, look: 50 } as const

/** Milliseconds between two looks for new profiles while there are listeners. */
const tailInterval = 200

/** How often a change is tried again because another process has changed the same profile. */
const changeLimit = 20

/** A profile as it was read. */
interface ReadProfile {
  readonly profile: Profile
  readonly facts: string
  readonly isPinned: boolean
  readonly version: string
}

/**
 * Stores profiles in a Redis that the processes of any number of hosts share. Redis has all data; a process also keeps the summaries
 * that it knows in memory, and searches there. While Redis is gone, new profiles wait in memory, within a limit.
 */
export class RedisProfileStorage implements ProfileStorage {
  readonly tokenDigits = 12
  readonly spans: SpanStorage
  readonly #options: ReadRedisOptions
  readonly #connection: RedisConnection
  readonly #report: (message: string, error: unknown) => void
  readonly #writer = randomBytes(6).toString('hex')
  readonly #index = new RedisIndex()
  readonly #reader: RedisReader
  readonly #queue: RedisQueue
  readonly #tail: ProfileTail
  readonly #compressed = new WeakMap<WaitingProfile, Buffer>()
  /** Runs a script outside of the context of the request: its commands are none of the request's cache calls. */
  readonly #run: (script: RedisScript, args: readonly (string | number | Buffer)[]) => Promise<RedisReply>
  #facts: { readonly text: string; readonly id: string } | undefined
  #lastChange: Promise<unknown> = Promise.resolve()
  #closed: Promise<void> | undefined
  #timer: NodeJS.Timeout | undefined

  constructor(options: RedisStorageOptions) {
    const read = readRedisOptions(options)
    const { age, connection, onProblem, onRecovery, prefix, queueLength, url } = read
    this.#options = read
    const report = limitReports(onProblem, Date.now)
    this.#report = (message, error) => {
      // The outage is reported already.
      if (!(error instanceof RedisError && error.code === undefined)) report(message, error)
    }
    this.#connection = new RedisConnection({
      ...connection,
      url,
      onOutage: error => onProblem('Redis does not answer. Profiles wait in memory.', error),
      onRecovery: () => onRecovery('Redis answers again.'),
    })
    this.#run = AsyncResource.bind((script, args) => this.#connection.run(script, [prefix], args))
    this.spans = new RedisSpans({ run: this.#run, age, onProblem: this.#report })
    this.#tail = new ProfileTail(error => this.#report('A listener to new profiles has failed.', error))
    this.#reader = new RedisReader({
      index: this.#index,
      run: this.#run,
      isWaiting: token => this.#queue.find(token) !== undefined,
      onFound: summary => this.#tail.pass(summary),
      onProblem: this.#report,
    })
    this.#queue = new RedisQueue({
      limit: queueLength,
      write: async profile => void (await this.#write(profile)),
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
    if (this.#queue.find(token) !== undefined) await within(timeouts.redis, this.#queue.flush())
    try {
      const known = await this.#run(pinScript, [token, isPinned ? 1 : 0, this.#options.age])
      await this.#reader.refresh()
      return known === 1
    } catch (error) {
      this.#report('Profiles cannot be pinned or unpinned.', error)
      return false
    }
  }

  async pinned(): Promise<ReadonlySet<string>> {
    await within(timeouts.redis, this.#reader.refresh())
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
    await within(timeouts.redis, this.#reader.refresh())
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
    await this.#queue.discard(() => this.#purge())
    await this.spans.purge()
  }

  async usage(): Promise<StorageUsage> {
    await within(timeouts.redis, this.#reader.refresh())
    const { all, dropped, length, problem } = this.#queue
    const added = all.filter(({ summary }) => this.#index.find(summary.token)?.stamp === 0)
    const { bytes, profiles } = this.#reader
    return { profiles: profiles + added.length, bytes: bytes + length, dropped, problem }
  }

  /** Also resolves when Redis does not answer. */
  flush(): Promise<void> {
    return this.#queue.flush()
  }

  flushNow(): void {
    const profiles = this.#queue.all
    if (profiles.length === 0) return
    const { limits, prefix, url } = this.#options
    this.#queue.clear()
    const error = writeInOtherProcess({ url, prefix, limits, profiles })
    if (error !== undefined) this.#report('Profiles are lost because Redis is gone.', error)
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
      // Nothing of it is stored yet, or its newest version is on its way.
      if (found.version === '') return this.#push(changed, found.facts)
      try {
        const isWritten = await this.#write({ ...changed, facts: found.facts }, found.version)
        if (isWritten) {
          this.#tail.pass(changed.summary)
          return true
        }
      } catch (error) {
        this.#report('Profiles cannot be changed.', error)
        return false
      }
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
    const end = performance.now() + timeouts.writer
    try {
      let reply = await this.#run(readScript, [token, this.#writer])
      while (typeof reply === 'number' && reply > 0 && performance.now() < end) {
        await wait(timeouts.look)
        reply = await this.#run(readScript, [token, this.#writer])
      }
      const [text, facts, isPinned, version] = asList(reply)
      if (!Buffer.isBuffer(text) || !Buffer.isBuffer(facts)) return undefined
      const [profileText, factsText] = await Promise.all([inflate(text), inflate(facts)])
      const profile = parseProfile(profileText, factsText)
      // Another profile at this key is damage.
      if (profile?.summary.token !== token) return undefined
      return { profile, facts: factsText, isPinned: isPinned === 1, version: String(version) }
    } catch (error) {
      this.#report('A profile cannot be read.', error)
      return undefined
    }
  }

  /** Writes a profile, by default whatever version is stored. False when the stored version is not `replaced`. */
  async #write(profile: WaitingProfile, replaced = ''): Promise<boolean> {
    const { age } = this.#options
    const { summary } = profile
    const text = this.#compressed.get(profile) ?? (await compress(profile.text, { level: 3 }))
    this.#compressed.set(profile, text)
    if (this.#facts?.text !== profile.facts) this.#facts = { text: profile.facts, id: hash(profile.facts) }
    const { id } = this.#facts
    const generation = randomBytes(8).toString('hex')
    const args = [summary.token, JSON.stringify(summary), text, id, age, this.#writer, replaced, generation]
    const reply = readAppendReply(await this.#run(appendScript, args))
    if (reply === undefined) return false
    if (!reply.hasFacts) await this.#run(factsScript, [id, await compress(profile.facts), age])
    this.#reader.onWritten(summary, reply)
    return true
  }

  async #trim(): Promise<void> {
    const { bytes, count } = this.#options.limits
    const { age } = this.#options
    try {
      for (let isMore = true; isMore; ) {
        const [more, , horizon] = asList(await this.#run(trimScript, [count, bytes, age * 1000, 0]))
        this.#index.removeUntil(Number(horizon))
        isMore = more === 1
      }
    } catch (error) {
      if (!this.#queue.isFailing) this.#report('Old profiles cannot be removed.', error)
    }
  }

  async #purge(): Promise<void> {
    try {
      let until = ''
      for (let isMore = true; isMore; ) {
        const [more, last, horizon] = asList(await this.#run(trimScript, [unlimited, unlimited, unlimited, until]))
        until = String(last)
        this.#index.removeUntil(Number(horizon))
        isMore = more === 1
      }
    } catch (error) {
      this.#report('Profiles cannot be removed.', error)
    }
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
    await within(timeouts.redis, this.#queue.flush())
    this.#queue.end()
  }
}

/** A text that is longer than a profile may be is damage. Facts that are gone cost only themselves. */
async function inflate(bytes: Buffer): Promise<string> {
  return bytes.length === 0 ? '' : String(await decompress(bytes, { maxOutputLength: 3 * sizeLimit }))
}

const unlimited = Number.MAX_SAFE_INTEGER

function hash(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 24)
}
