import type { RedisConnectionOptions } from '../../../../lib/redis/redis-connection.ts'
import { defaultLimits } from '../file-storage-options.ts'
import type { StoreLimits } from '../segment-directory.ts'

/** Where profiles are stored in Redis, and how many. */
export interface RedisStorageOptions {
  /** Such as `redis://user:password@host:6379`, or `rediss:` for TLS. */
  readonly url: string
  /** The beginning of all keys; `sinfonietta:profiles:` by default. Each application needs its own. */
  readonly prefix?: string
  /** 200 MB in Redis, 10,000 profiles and 48 hours by default; for all machines together. */
  readonly limits?: Partial<StoreLimits>
  /** Called with each kind of problem at most once a minute, and once for each outage. */
  readonly onProblem: (message: string, error: unknown) => void
  readonly onRecovery: (message: string) => void
  /** Characters of profiles that are not written yet; 16 million by default. */
  readonly queueLength?: number
  readonly connection?: Pick<RedisConnectionOptions, 'load' | 'timeout'>
}

/** The options with their defaults. */
export interface ReadRedisOptions extends Required<RedisStorageOptions> {
  /** Whole numbers. A profile that retention has not removed expires by itself at the greatest age. */
  readonly limits: StoreLimits
}

/** Fills in the defaults. */
export function readRedisOptions(options: RedisStorageOptions): ReadRedisOptions {
  const { connection = {}, prefix = 'sinfonietta:profiles:', queueLength = 16_000_000 } = options
  const { age, bytes, count } = { ...defaultLimits, ...options.limits }
  const limits = { age: bound(age, yearsLong), bytes: bound(bytes), count: bound(count) }
  return { ...options, connection, prefix, queueLength, limits }
}

/** Ten years: scripts calculate with whole numbers. */
const yearsLong = 10 * 365 * 24 * 3_600_000

function bound(limit: number, most: number = Number.MAX_SAFE_INTEGER): number {
  return Math.min(Math.floor(limit), most)
}
