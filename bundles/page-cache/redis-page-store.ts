import type { Logger } from '../../lib/log/logger.ts'
import { defineScript, RedisConnection } from '../../lib/redis/redis-connection.ts'
import { fromBytes, type PageStore, type StoredPage, toBytes } from './page-store.ts'

/** The beginning of all keys. */
const prefix = 'sinfonietta:pages:'

/** Milliseconds for which a page is stored at most: purges of tags are remembered for a day more. */
const longestStorage: number = 30 * 24 * 60 * 60 * 1000

/** KEYS: the page. ARGV: the beginning of the keys of tags. A page is a hash of its bytes, its tags and its time. */
const readScript = defineScript(
  `local page = redis.call('HMGET', KEYS[1], 'bytes', 'created', 'tags')
  if not page[1] then return false end
  for tag in string.gmatch(page[3], '[^\\n]+') do
    local purged = redis.call('GET', ARGV[1] .. tag)
    if purged and tonumber(purged) >= tonumber(page[2]) then return false end
  end
  return page[1]`,
  false,
)

/** ARGV: bytes, time, tags, milliseconds. */
const writeScript = defineScript(
  `redis.call('HSET', KEYS[1], 'bytes', ARGV[1], 'created', ARGV[2], 'tags', ARGV[3])
  redis.call('PEXPIRE', KEYS[1], ARGV[4])
  return 1`,
)

/** KEYS: tags. ARGV: the time, milliseconds. */
const purgeScript = defineScript(
  `for _, key in ipairs(KEYS) do redis.call('SET', key, ARGV[1], 'PX', ARGV[2]) end
  return 1`,
)

/**
 * Stores pages in Redis, for all machines. Redis removes those that have expired; its `maxmemory` limits the others.
 */
export class RedisPageStore implements PageStore {
  readonly #connection: RedisConnection

  constructor(url: string, logger: Pick<Logger, 'info' | 'warning'>) {
    this.#connection = new RedisConnection({
      url,
      onOutage: exception =>
        logger.warning('Pages are not cached until the Redis of PAGE_CACHE answers again.', { exception }),
      onRecovery: () => logger.info('Redis answers again: pages are cached.'),
    })
  }

  async read(key: string): Promise<StoredPage | undefined> {
    const bytes = await this.#connection.run(readScript, [`${prefix}page:${key}`], [`${prefix}tag:`])
    return bytes instanceof Buffer ? fromBytes(bytes) : undefined
  }

  async write(key: string, page: StoredPage): Promise<void> {
    const time = Math.max(1, page.staleUntil - Date.now())
    const args = [toBytes(page), page.createdAt, page.tags.join('\n'), time]
    await this.#connection.run(writeScript, [`${prefix}page:${key}`], args)
  }

  async purge(tags: readonly string[]): Promise<void> {
    const day = 24 * 60 * 60 * 1000
    const keys = tags.map(tag => `${prefix}tag:${tag}`)
    await this.#connection.run(purgeScript, keys, [Date.now(), longestStorage + day])
  }

  close(): void {
    this.#connection.close()
  }
}
