import { createHash, randomBytes } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import { promisify } from 'node:util'
import { deflateRaw, inflateRaw } from 'node:zlib'
import type { RedisReply } from '../../../../lib/redis/redis-connection.ts'
import { type Profile, parseProfile, sizeLimit } from '../../profile/profile.ts'
import type { StoreLimits } from '../segment-directory.ts'
import type { WaitingProfile } from './redis-queue.ts'
import { type AppendReply, asList, readAppendReply } from './replies.ts'
import { appendScript, factsScript, pinScript, type RunScript, readScript, trimScript } from './scripts.ts'

const compress = promisify(deflateRaw)
const decompress = promisify(inflateRaw)

/** Milliseconds that a reader waits for another process to write a profile, and between two looks. */
const waiting = { limit: 1000, look: 50 } as const

/** A stored profile with its version. */
export interface ReadProfile {
  readonly profile: Profile
  readonly facts: string
  readonly isPinned: boolean
  /** Empty while it is not stored. */
  readonly version: string
}

/** What the profiles are stored with. */
export interface RedisProfilesOptions {
  readonly run: RunScript
  readonly limits: StoreLimits
  /** Called with the position up to which profiles that are not pinned were removed. */
  readonly onRemoved: (horizon: number) => void
}

/** Writes, reads and removes the profiles in Redis. All methods reject when Redis does not answer. */
export class RedisProfiles {
  readonly #options: RedisProfilesOptions
  readonly #writer = randomBytes(6).toString('hex')
  readonly #compressed = new WeakMap<WaitingProfile, Buffer>()
  #facts: { readonly text: string; readonly id: string } | undefined

  constructor(options: RedisProfilesOptions) {
    this.#options = options
  }

  /** Compresses a profile: those that are compressed are written in the order of the calls. */
  async compress(profile: WaitingProfile): Promise<Buffer> {
    const bytes = this.#compressed.get(profile) ?? (await compress(profile.text, { level: 3 }))
    this.#compressed.set(profile, bytes)
    return bytes
  }

  /** Writes a profile, by default whatever version is stored; `undefined` when the stored version is not `replaced`. */
  async write(profile: WaitingProfile, replaced = ''): Promise<AppendReply | undefined> {
    const { limits, run } = this.#options
    const { facts, summary } = profile
    const text = this.#compressed.get(profile) ?? (await this.compress(profile))
    if (this.#facts?.text !== facts) this.#facts = { text: facts, id: hash(facts) }
    const { id } = this.#facts
    const generation = randomBytes(8).toString('hex')
    const args = [summary.token, JSON.stringify(summary), text, id, limits.age, this.#writer, replaced, generation]
    const reply = readAppendReply(await run(appendScript, args))
    if (reply?.hasFacts === false) await run(factsScript, [id, await compress(facts), limits.age])
    return reply
  }

  /** Reads a profile. For an unknown token, waits up to a second if other processes write; `undefined` also for a damaged one. */
  async read(token: string): Promise<ReadProfile | undefined> {
    const end = performance.now() + waiting.limit
    let reply = await this.#read(token)
    while (typeof reply === 'number' && reply > 0 && performance.now() < end) {
      await wait(waiting.look)
      reply = await this.#read(token)
    }
    const [text, facts, version] = asList(reply).filter(part => Buffer.isBuffer(part))
    if (text === undefined) return undefined
    const [profileText, factsText] = await Promise.all([inflate(text), inflate(facts)])
    const profile = parseProfile(profileText, factsText)
    // Another profile at this key is damage.
    if (profile?.summary.token !== token) return undefined
    return { profile, facts: factsText, isPinned: asList(reply).includes(1), version: String(version) }
  }

  /** Pins or unpins a profile. False when it is not known. */
  async pin(token: string, isPinned: boolean): Promise<boolean> {
    const { limits, run } = this.#options
    return (await run(pinScript, [token, isPinned ? 1 : 0, limits.age])) === 1
  }

  /** Removes what is over the limits. */
  async trim(): Promise<void> {
    const { age, bytes, count } = this.#options.limits
    while ((await this.#remove([count, bytes, age * 1000, 0])).isMore);
  }

  /** Removes all profiles that are stored by now and not pinned. */
  async purge(): Promise<void> {
    let until = ''
    for (let isMore = true; isMore; ) {
      const removed = await this.#remove([unlimited, unlimited, unlimited, until])
      until = removed.until
      isMore = removed.isMore
    }
  }

  async #remove(args: readonly (string | number)[]): Promise<{ readonly isMore: boolean; readonly until: string }> {
    const { onRemoved, run } = this.#options
    const [more, until, horizon] = asList(await run(trimScript, args))
    onRemoved(Number(horizon))
    return { isMore: more === 1, until: String(until) }
  }

  #read(token: string): Promise<RedisReply> {
    return this.#options.run(readScript, [token, this.#writer])
  }
}

const unlimited = Number.MAX_SAFE_INTEGER

function hash(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 24)
}

/** Empty when it is damaged, or longer than a profile may be. Facts that are gone cost only themselves. */
async function inflate(bytes: Buffer = Buffer.alloc(0)): Promise<string> {
  const text = await decompress(bytes, { maxOutputLength: 3 * sizeLimit }).catch(() => '')
  return String(text)
}
