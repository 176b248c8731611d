import { AsyncResource } from 'node:async_hooks'
import { spawnSync } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { checkObject, checkOptions } from '../../../../lib/errors/arguments.ts'
import { nextTurn, readTime, within } from '../../../../lib/own-globals.ts'
import { RedisError } from '../../../../lib/redis/errors.ts'
import { RedisConnection, type RedisConnectionOptions } from '../../../../lib/redis/redis-connection.ts'
import type { ShapeOf } from '../../../../lib/text/mistakes.ts'
import { sizeLimit } from '../../profile/json.ts'
import { parseProfile } from '../../profile/parse-profile.ts'
import type { ProfileSummary } from '../../profile/profile.ts'
import {
  BaseProfileStorage,
  limitReports,
  ProfileQueue,
  type ReportProblem,
  timeout,
  type WaitingProfile,
} from '../base-profile-storage.ts'
import {
  type CreateProfileStorage,
  defaultLimits,
  type SerializedProfile,
  type StoreLimits,
} from '../profile-storage.ts'
import { type ReadProfile, RedisProfiles } from './redis-commands.ts'
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
 * Stores profiles in Redis, for the option `storage` of the profiler: all machines with the same URL and
 * prefix have one list. It needs the package ioredis, and Redis 7 or Valkey. @throws REDIS_URL_INVALID
 */
export function createRedisProfileStorage(options: RedisProfileStorageOptions): CreateProfileStorage {
  checkObject('createRedisProfileStorage()', options, optionShape)
  checkOptions('createRedisProfileStorage()', options, optionShape)
  return ({ logger }) => {
    const log = logger.channel('profiler')
    // The stack of a command that Redis refuses, or does not answer, has only frames of this package.
    const warn = (message: string, { isPassing, message: reason }: RedisError) =>
      isPassing
        ? log.warning(message + advice, { address: new URL(options.url).host, reason })
        : log.warning(`${message} {reason}`, { reason })
    return new RedisProfileStorage({
      ...options,
      onProblem: (message, error) =>
        error instanceof RedisError ? warn(message, error) : log.warning(message, { exception: error }),
      onRecovery: message => log.info(message),
    })
  }
}

const advice = ' Start it at {address}, or correct its URL, such as PROFILER_URL: {reason}'

const optionShape: ShapeOf<RedisProfileStorageOptions> = {
  url: 'string',
  prefix: 'string',
  limits: { bytes: 'positive', count: 'positive', age: 'positive' },
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
 * Stores profiles in a Redis that the processes of any number of machines share. Redis has all
 * data; a process also keeps the summaries that it knows in memory, and searches there. While
 * Redis is gone, new profiles wait in memory, within a limit.
 */
export class RedisProfileStorage extends BaseProfileStorage<ReadProfile> {
  readonly isShared = true
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
    this.#profiles = new RedisProfiles({ run, limits, onRemoved: this.#index.removeUntil })
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

/** The functions that a queue calls, and its limit. */
interface RedisQueueOptions {
  /** Characters of profiles that are not written yet. */
  readonly limit: number
  /** Called before the profiles of a group are written, in their order. */
  readonly prepare: (profile: WaitingProfile) => Promise<void>
  readonly write: (profile: WaitingProfile) => Promise<void>
  /** Called after a group was written. */
  readonly onWritten: () => Promise<void>
  readonly onDrop: (profile: WaitingProfile, reason: string, error: unknown) => void
}

/** Milliseconds between two groups, and between two attempts while the server does not answer. */
const pauses = { group: 20, failure: 250 } as const

/** The most profiles and characters that are written at the same time. */
const groupLimits = { profiles: 64, length: 1_000_000 } as const

/**
 * Writes profiles in groups. Of several versions of a profile only the newest is written. A profile
 * stays here until the server has answered; when the queue is full, further profiles are dropped.
 */
export class RedisQueue extends ProfileQueue {
  readonly #options: RedisQueueOptions
  /** Starts to write, outside of the context of the request that is over. */
  readonly #start: () => Promise<void> = AsyncResource.bind(() => this.#run())
  #waiting = new Map<string, WaitingProfile>()
  readonly #writing = new Map<string, WaitingProfile>()
  #running: Promise<void> | undefined
  #group: Promise<unknown> = Promise.resolve()
  #hold: Promise<unknown> | undefined
  #flushes = 0

  constructor(options: RedisQueueOptions) {
    super()
    this.#options = options
  }

  /** The newest version of a profile that is not written yet. */
  find(token: string): WaitingProfile | undefined {
    return this.#waiting.get(token) ?? this.#writing.get(token)
  }

  /** The profiles that are not written yet, oldest first. */
  get all(): readonly WaitingProfile[] {
    return [...new Map([...this.#writing, ...this.#waiting]).values()]
  }

  /** Adds a version of a profile; false when it was dropped. */
  add(profile: WaitingProfile): boolean {
    const { summary, text } = profile
    if (text.length > sizeLimit) return this.#drop(profile, 'A profile was dropped because it is too long.')
    const before = this.#waiting.get(summary.token)?.text.length ?? 0
    if (this.length - before + text.length > this.#options.limit) {
      return this.#drop(profile, 'Profiles are dropped because Redis is gone or too slow.')
    }
    this.length += text.length - before
    this.#waiting.set(summary.token, profile)
    this.#running ??= this.#start()
    return true
  }

  /** Resolves when all profiles are written or dropped, or when an attempt fails. */
  override async flush(): Promise<void> {
    this.#flushes++
    this.endPause()
    await this.#running
    this.#flushes--
    if (this.#waiting.size > 0) this.#running ??= this.#start()
  }

  /** Empties the queue, and writes no profiles until the task has ended. Resolves with it. */
  async discard(task: () => Promise<void>): Promise<void> {
    this.clear()
    const held = (this.#hold ?? this.#group).then(task)
    this.#hold = held.catch(() => undefined)
    await held
  }

  /** Drops all profiles that are not written: the process ends. */
  end(error?: Error): void {
    for (const profile of this.all) this.#drop(profile, 'Profiles are lost because Redis is gone.', error)
    this.clear()
  }

  /** Empties the queue without drops: the profiles were written in another way, or are not wanted. */
  clear(): void {
    this.#waiting.clear()
    this.#writing.clear()
    this.length = 0
  }

  async #run(): Promise<void> {
    // Profiles of the same turn belong to the same group.
    await nextTurn()
    while (this.#waiting.size > 0) {
      await this.#hold
      this.#take()
      const group = this.#writeGroup()
      this.#group = group
      await group
      if (this.#flushes === 0) await this.pause(this.isFailing ? pauses.failure : pauses.group, false)
      else if (this.isFailing) break
    }
    this.#running = undefined
  }

  /** Takes the next group. */
  #take(): void {
    let length = 0
    for (const [token, profile] of this.#waiting) {
      if (this.#writing.size === groupLimits.profiles || length > groupLimits.length) break
      this.#waiting.delete(token)
      this.#writing.set(token, profile)
      length += profile.text.length
    }
  }

  async #writeGroup(): Promise<void> {
    await Promise.all(Array.from(this.#writing.values(), this.#options.prepare))
    const written = [...this.#writing.values()].map(async profile => ({ profile, isLeft: await this.#write(profile) }))
    const left = (await Promise.all(written)).filter(({ isLeft }) => isLeft).map(({ profile }) => profile)
    const again = left.filter(({ summary }) => this.#writing.has(summary.token) && !this.#waiting.has(summary.token))
    // Before the others, so that the list has the order of the requests.
    this.#waiting = new Map([...again.map(profile => [profile.summary.token, profile] as const), ...this.#waiting])
    for (const [token, profile] of this.#writing)
      if (this.#waiting.get(token) !== profile) this.length -= profile.text.length
    this.#writing.clear()
    await this.#options.onWritten()
  }

  /** Returns whether the profile has to be written again. */
  async #write(profile: WaitingProfile): Promise<boolean> {
    try {
      await this.#options.write(profile)
      this.isFailing = false
      return false
    } catch (error) {
      this.isFailing = true
      if (error instanceof RedisError && error.isPassing) return true
      this.#drop(profile, 'Profiles are dropped because Redis refuses them.', error)
      return false
    }
  }

  #drop(profile: WaitingProfile, reason: string, error?: unknown): false {
    this.#options.onDrop(profile, reason, error)
    return this.drop(reason, error)
  }
}

/** Reports each kind of problem at most once a minute. The connection reports an outage. */
function reportWithoutOutages(onProblem: ReportProblem): ReportProblem {
  const report = limitReports(onProblem, readTime)
  return (message, error) => {
    if (!(error instanceof RedisError && error.isPassing)) report(message, error)
  }
}

/**
 * Ten years: scripts calculate with whole numbers. A profile that retention has not removed
 * expires by itself at this age.
 */
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

/**
 * Milliseconds that a process which ends waits for the other process, which does not wait long for
 * Redis. On a busy machine, its start takes seconds.
 */
const lastTimeout = 15_000

/**
 * Writes profiles before it returns: a process that ends at once cannot wait for a connection, but
 * for another process. Returns the error if they could not be written.
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
  return new RedisError(
    `The process that writes them has ended with ${status}: ${String(stderr).trim().slice(-200)}`,
    'LOST',
  )
}

/** Writes the profiles of a process that has crashed, which are on stdin. */
export async function writeLastProfiles(): Promise<void> {
  // Written by `writeInOtherProcess`.
  const { profiles, ...place } = JSON.parse(await text(process.stdin)) as LastProfiles
  const onProblem = (message: string, error?: unknown) => {
    process.stderr.write(`${error ?? message}\n`)
    process.exitCode = 1
  }
  const storage = new RedisProfileStorage({ ...place, onProblem, onRecovery: onProblem })
  for (const { facts, ...profile } of profiles) storage.append(profile, facts)
  // Without the limit of `close`, which counts the time for loading the package, too.
  await storage.flush()
  await storage.close()
}
