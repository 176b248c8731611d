import type { Redis } from 'ioredis'
import { RateLimiterMemory, RateLimiterRedis } from 'rate-limiter-flexible'
import type { CreateLimiter } from './limits-bundle.ts'

/** Counts in a Redis: `createLimitsBundle(createRedisLimiter(new Redis(REDIS_URL)))`. */
export function createRedisLimiter(storeClient: Redis): CreateLimiter {
  return options => {
    const insuranceLimiter = new RateLimiterMemory(options)
    return new RateLimiterRedis({ ...options, storeClient, insuranceLimiter, rejectIfRedisNotReady: true })
  }
}
