import type { RedisReply } from '../../../../lib/redis/redis-connection.ts'
import { type ProfileSummary, parseSummary } from '../../profile/profile.ts'
import { parseJsonObject } from '../../profile/schema.ts'

/** The items of a list; none of another reply. */
export function asList(reply: RedisReply | undefined): readonly RedisReply[] {
  return Array.isArray(reply) ? reply : []
}

/** Where a version of a profile was stored. */
export interface AppendReply {
  readonly stamp: number
  readonly position: number
  readonly generation: string
  readonly hasFacts: boolean
}

/** Reads the reply to a version; `undefined` when another version is stored. */
export function readAppendReply(reply: RedisReply): AppendReply | undefined {
  if (reply === 0) return undefined
  const [stamp, position, generation, facts] = asList(reply)
  return {
    stamp: Number(stamp),
    position: Number(position),
    generation: String(generation),
    hasFacts: facts === 1,
  }
}

/** A summary of the list; without a summary, the profile is gone, or damaged. */
export interface ListedProfile {
  readonly token: string
  readonly stamp: number
  readonly position: number
  readonly summary: ProfileSummary | undefined
}

/** A part of the list, and the state of the storage. */
export interface ListReply {
  readonly generation: string
  readonly horizon: number
  readonly last: number
  readonly bytes: number
  readonly pins: string
  readonly pinned: readonly string[]
  readonly rows: readonly ListedProfile[]
}

/** Reads the reply to a part of the list. */
export function readListReply(reply: RedisReply): ListReply {
  const [generation, horizon, last, bytes, pins, pinned, rows] = asList(reply)
  return {
    generation: String(generation),
    horizon: Number(horizon),
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
