import { AsyncResource } from 'node:async_hooks'
import { spawnSync } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { checkOptions } from '../../../../lib/errors/arguments.ts'
import { RedisError } from '../../../../lib/redis/errors.ts'
import { RedisConnection, type RedisConnectionOptions } from '../../../../lib/redis/redis-connection.ts'
import { type ProfileSummary, parseProfile } from '../../profile/profile.ts'
import { BaseProfileStorage, limitReports, type ReportProblem, timeout, within } from '../base-profile-storage.ts'
import {
  type CreateProfileStorage,
  defaultLimits,
  type SerializedProfile,
  type SpanStorage,
  type StoreLimits,
} from '../profile-storage.ts'
import { type ReadProfile, RedisProfiles, RedisSpans } from './redis-commands.ts'
import { RedisQueue, type WaitingProfile } from './redis-queue.ts'
import { RedisIndex, RedisReader } from './redis-reader.ts'
import type { RunScript } from './scripts.ts'

/** Where the profiles of several machines are stored, and how many. */
export interface RedisProfileStorageOptions {
  /** Such as `redis://user:password@host:6379`, or `rediss://…` for TLS. */
  readonly url: string
  /** The beginning of all keys: each application needs its own. `sinfonietta:profiles:` by default. */
  readonly prefix?: string
  /** For all machines together; 200 MB, 10,000 profiles and 48 hours by default. */
  readonly limits?: Partial<StoreLimits>
}

/**
 * Stores profiles in Redis, for the option `storage` of the profiler: all machines with the same URL and prefix have one list. It
 * needs the package ioredis, and Redis 7 or Valkey. @throws REDIS_URL_INVALID
 */
export function createRedisProfileStorage(options: RedisProfileStorageOptions): CreateProfileStorage {
  checkOptions('createRedisProfileStorage()', options, { url: 'string', prefix: 'string', limits: 'object' })
  return ({ logger }) => {
    const log = logger.channel('profiler')
    return new RedisProfileStorage({
      ...options,
      onProblem: (message, error) => log.warning(message, { exception: error }),
      onRecovery: message => log.info(message),
    })
  }
}

/** The options of a storage in Redis, with what it reports. */
export interface RedisStorageOptions extends RedisProfileStorageOptions {
  /** Called with each kind of problem at most once a minute, and once for each outage. */
  readonly onProblem: ReportProblem
  readonly onRecovery: (message: string) => void
  /** Characters of profiles that are not written yet; 16 million by default. */
  readonly queueLength?: number
  readonly connection?: Pick<RedisConnectionOptions, 'load' | 'timeout'>
}

/**
 * Stores profiles in a Redis that the processes of any number of machines share. Redis has all data; a process also keeps the summaries
 * that it knows in memory, and searches there. While Redis is gone, new profiles wait in memory, within a limit.
 */
export class RedisProfileStorage extends BaseProfileStorage<ReadProfile> {
  readonly isShared = true
  readonly spans: SpanStorage
  protected readonly unwritten: RedisQueue
  readonly #place: Required<RedisProfileStorageOptions> & { readonly limits: StoreLimits }
  readonly #connection: RedisConnection
  readonly #profiles: RedisProfiles
  readonly #index = new RedisIndex()
  readonly #reader: RedisReader

  constructor(options: RedisStorageOptions) {
    const {
      connection,
      onProblem,
      onRecovery,
      prefix = 'sinfonietta:profiles:',
      queueLength = 16_000_000,
      url,
    } = options
    super(reportWithoutOutages(onProblem))
    const limits = boundLimits({ ...defaultLimits, ...options.limits })
    this.#place = { url, prefix, limits }
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
    this.spans = new RedisSpans({ run, age: limits.age, onProblem: this.report })
    this.#reader = new RedisReader({
      index: this.#index,
      run,
      isWaiting: token => this.unwritten.find(token) !== undefined,
      onFound: summary => this.pass(summary),
      onProblem: this.report,
    })
    this.unwritten = new RedisQueue({
      limit: queueLength,
      prepare: async profile => void (await this.#profiles.compress(profile)),
      write: profile => this.#write(profile),
      onWritten: () => this.#trim(),
      onDrop: (profile, reason, error) => this.#onDrop(profile, reason, error),
    })
  }

  protected get known(): readonly { readonly summary: ProfileSummary }[] {
    return this.#index.entries
  }

  protected get writtenBytes(): number {
    return this.#reader.bytes
  }

  protected get pinnedTokens(): readonly string[] {
    return this.#index.entries.filter(({ isPinned }) => isPinned).map(({ token }) => token)
  }

  has(token: string): boolean {
    return this.#index.find(token) !== undefined
  }

  async purge(): Promise<void> {
    this.#index.remove(({ stamp }) => stamp === 0)
    await this.unwritten.discard(async () => {
      await this.#try('Profiles cannot be removed.', () => this.#profiles.purge())
    })
    await this.spans.purge()
  }

  flushNow(): void {
    const profiles = this.unwritten.all
    if (profiles.length === 0) return
    const error = writeInOtherProcess({ ...this.#place, profiles })
    if (error === undefined) this.unwritten.clear()
    else this.unwritten.end(error)
  }

  override async close(): Promise<void> {
    await super.close()
    this.unwritten.end()
    // Also after an earlier call: a page that is still open may have read since.
    await this.#connection.close()
  }

  protected refresh(): Promise<void> {
    return this.#reader.refresh()
  }

  protected async look(token: string): Promise<ReadProfile | 'expected' | undefined> {
    const own = this.unwritten.find(token)
    if (own === undefined) return this.#try('A profile cannot be read.', () => this.#profiles.read(token))
    const profile = parseProfile(own.text, own.facts)
    return profile && { profile, facts: own.facts, isPinned: this.#index.find(token)?.isPinned === true, version: '' }
  }

  protected add(profile: SerializedProfile, facts: string): boolean {
    if (!this.unwritten.add({ ...profile, facts })) return false
    const entry = this.#index.find(profile.summary.token)
    if (entry === undefined) this.#index.addNewest(profile.summary)
    else entry.summary = profile.summary
    return true
  }

  protected override async replace(older: ReadProfile, newer: SerializedProfile): Promise<boolean | undefined> {
    // The profile or its newest version is still in the queue: the change is queued, too.
    if (older.version === '') return super.replace(older, newer)
    const profile = { ...newer, facts: older.facts }
    const written = await this.#try('Profiles cannot be changed.', () => this.#profiles.write(profile, older.version))
    if (written === undefined) return undefined
    this.#reader.onWritten(newer.summary, written)
    this.pass(newer.summary)
    return true
  }

  protected async setPin(token: string, isPinned: boolean): Promise<boolean> {
    if (this.unwritten.find(token) !== undefined) await within(timeout, this.unwritten.flush())
    const isKnown = await this.#profiles.pin(token, isPinned)
    await this.refresh()
    return isKnown
  }

  protected override isUnwritten(token: string): boolean {
    return this.#index.find(token)?.stamp === 0
  }

  /** Reports an error instead of throwing it. */
  async #try<result>(message: string, task: () => Promise<result>): Promise<result | undefined> {
    try {
      return await task()
    } catch (error) {
      this.report(message, error)
      return undefined
    }
  }

  async #write(profile: WaitingProfile): Promise<void> {
    const reply = await this.#profiles.write(profile)
    if (reply !== undefined) this.#reader.onWritten(profile.summary, reply)
  }

  async #trim(): Promise<void> {
    // The next group tries again.
    if (!this.unwritten.isFailing) await this.#try('Old profiles cannot be removed.', () => this.#profiles.trim())
  }

  #onDrop({ summary }: SerializedProfile, reason: string, error: unknown): void {
    this.report(reason, error)
    const entry = this.#index.find(summary.token)
    if (entry?.stamp === 0) this.#index.remove(each => each === entry)
  }
}

/** Reports each kind of problem at most once a minute. The connection reports an outage. */
function reportWithoutOutages(onProblem: ReportProblem): ReportProblem {
  const report = limitReports(onProblem, Date.now)
  return (message, error) => {
    if (!(error instanceof RedisError && error.isPassing)) report(message, error)
  }
}

/** Ten years: scripts calculate with whole numbers. A profile that retention has not removed expires by itself at this age. */
const longestAge = 10 * 365 * 24 * 3_600_000

function boundLimits({ age, bytes, count }: StoreLimits): StoreLimits {
  const bound = (limit: number, most: number) => Math.min(Math.floor(limit), most)
  const { MAX_SAFE_INTEGER: most } = Number
  return { age: bound(age, longestAge), bytes: bound(bytes, most), count: bound(count, most) }
}

/** The work of the other process. */
interface LastProfiles extends RedisProfileStorageOptions {
  readonly profiles: readonly WaitingProfile[]
}

/** Milliseconds that a process which ends waits for the other process. */
const lastTimeout = 3000

/**
 * Writes profiles before it returns: a process that ends at once cannot wait for a connection, but for another process. Returns
 * the error if they could not be written.
 */
function writeInOtherProcess(work: LastProfiles): Error | undefined {
  const program = `import { writeLastProfiles } from ${JSON.stringify(import.meta.url)}; await writeLastProfiles()`
  // The URL may contain a password: other users see the arguments of a process.
  const { status, stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', program], {
    input: JSON.stringify(work),
    stdio: ['pipe', 'ignore', 'pipe'],
    timeout: lastTimeout,
  })
  if (status === 0) return undefined
  return new Error(`The other process has ended with ${status}: ${String(stderr).trim().slice(-200)}`)
}

/** Writes the profiles of a process that has crashed, which are on stdin. */
export async function writeLastProfiles(): Promise<void> {
  // Written by `writeInOtherProcess`.
  const { profiles, ...place } = JSON.parse(await text(process.stdin)) as LastProfiles
  const onProblem = (message: string, error?: unknown) => {
    process.stderr.write(`${message} ${error}\n`)
    process.exitCode = 1
  }
  const storage = new RedisProfileStorage({ ...place, onProblem, onRecovery: onProblem })
  for (const { facts, ...profile } of profiles) storage.append(profile, facts)
  await storage.close()
}
