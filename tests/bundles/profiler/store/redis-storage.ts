import type { Test } from 'tap'
import { RedisProfileStorage, type RedisStorageOptions } from '#bundles/profiler/store/redis/redis-profile-storage.ts'
import type { Problem } from './file-storage.ts'

/** A storage of a test, and what it has reported. */
export interface TestedRedisStorage {
  readonly storage: RedisProfileStorage
  readonly problems: Problem[]
  readonly recoveries: string[]
}

/**
 * Creates a storage, which is closed when the test ends. By default, it has patience with a Redis on a busy machine.
 */
export function createRedisStorage(
  t: Test,
  options: Pick<RedisStorageOptions, 'url'> & Partial<RedisStorageOptions>,
): TestedRedisStorage {
  const problems: Problem[] = []
  const recoveries: string[] = []
  const storage = new RedisProfileStorage({
    onProblem: (message, error) => void problems.push({ message, error }),
    onRecovery: message => void recoveries.push(message),
    connection: { timeout: 30_000 },
    ...options,
  })
  t.teardown(() => storage.close())
  return { storage, problems, recoveries }
}
