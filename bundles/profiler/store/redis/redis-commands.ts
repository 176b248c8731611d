import { createHash, randomBytes } from 'node:crypto'
import { promisify } from 'node:util'
import { deflateRaw, inflateRaw } from 'node:zlib'
import type { RedisReply } from '../../../../lib/redis/redis-connection.ts'
import { parseJsonObject, sizeLimit } from '../../profile/json.ts'
import { parseProfile, parseSummary } from '../../profile/parse-profile.ts'
import { frequentTypes } from '../../profile/units.ts'
import type { FoundProfile, WaitingProfile } from '../base-profile-storage.ts'
import { limitMessages, type StoreLimits } from '../profile-storage.ts'
import { appendScript, factsScript, pinScript, type RunScript, readScript, trimScript } from './scripts.ts'

const compress = promisify(deflateRaw)
const decompress = promisify(inflateRaw)

/** A stored profile with its version. */
export interface ReadProfile extends FoundProfile {
  /** Empty while it is not stored. */
  readonly version: string
}

interface RedisProfilesOptions {
  readonly run: RunScript
  readonly limits: StoreLimits
  /** Called with the positions up to which profiles, and messages, that are not pinned were removed. */
  readonly onRemoved: (horizon: number, messageHorizon: number) => void
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
    const isMessage = frequentTypes.has(summary.type) ? 1 : 0
    const reply = readAppendReply(await run(appendScript, [...args, isMessage]))
    if (reply?.hasFacts === false) await run(factsScript, [id, await compress(facts), limits.age])
    return reply
  }

  /** Reads a profile; `'expected'` if it is unknown and other processes write, `undefined` also if it is damaged. */
  async read(token: string): Promise<ReadProfile | 'expected' | undefined> {
    const reply = await this.#options.run(readScript, [token, this.#writer])
    if (typeof reply === 'number') return reply > 0 ? 'expected' : undefined
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
    const { limits } = this.#options
    const { age, bytes, count } = limits
    const messages = limitMessages(limits)
    while ((await this.#remove([count, bytes, age * 1000, 0, messages.count, messages.bytes])).isMore);
  }

  /** Removes all profiles that are stored by now and not pinned. */
  async purge(): Promise<void> {
    let until = ''
    for (let isMore = true; isMore; ) {
      const removed = await this.#remove([unlimited, unlimited, unlimited, until, unlimited, unlimited])
      until = removed.until
      isMore = removed.isMore
    }
  }

  async #remove(args: readonly (string | number)[]): Promise<{ readonly isMore: boolean; readonly until: string }> {
    const { onRemoved, run } = this.#options
    const [more, until, horizon, messageHorizon] = asList(await run(trimScript, args))
    onRemoved(Number(horizon), Number(messageHorizon))
    return { isMore: more === 1, until: String(until) }
  }
}

const unlimited = Number.MAX_SAFE_INTEGER

function hash(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 24)
}

/**
 * Decompresses a text; empty when it is damaged, or longer than a profile may be. A profile
 * without its facts is still read.
 */
async function inflate(bytes: Buffer = Buffer.alloc(0)): Promise<string> {
  const text = await decompress(bytes, { maxOutputLength: 3 * sizeLimit }).catch(() => '')
  return String(text)
}

/** The items of a list; none of another reply. */
function asList(reply: RedisReply | undefined): readonly RedisReply[] {
  return Array.isArray(reply) ? reply : []
}

/** Where a version of a profile was stored. */
export type AppendReply = NonNullable<ReturnType<typeof readAppendReply>>

/** Reads the reply to a version; `undefined` when another version is stored. */
function readAppendReply(reply: RedisReply) {
  if (reply === 0) return undefined
  const [stamp, position, generation, facts] = asList(reply)
  return {
    stamp: Number(stamp),
    position: Number(position),
    generation: String(generation),
    hasFacts: facts === 1,
  }
}

/** A part of the list, and the state of the storage. */
export type ListReply = ReturnType<typeof readListReply>

/** Reads the reply to a part of the list. In a row without a summary, the profile is gone, or damaged. */
export function readListReply(reply: RedisReply) {
  const [generation, horizon, messageHorizon, last, bytes, pins, pinned, rows] = asList(reply)
  return {
    generation: String(generation),
    horizon: Number(horizon),
    messageHorizon: Number(messageHorizon),
    last: Number(last),
    bytes: Number(bytes),
    pins: String(pins),
    pinned: asList(pinned).map(String),
    rows: asList(rows).map(row => {
      const [token, stamp, position, summary] = asList(row)
      return {
        token: String(token),
        stamp: Number(stamp),
        position: Number(position),
        summary: parseSummary(parseJsonObject(String(summary))),
      }
    }),
  }
}
