import { checkOptions } from '../../../../lib/errors/arguments.ts'
import type { CreateProfileStorage } from '../profile-storage.ts'
import type { StoreLimits } from '../segment-directory.ts'
import { RedisProfileStorage } from './redis-profile-storage.ts'

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
