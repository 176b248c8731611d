import { createHash } from 'node:crypto'
import { checkObject, checkOptions } from '../errors/arguments.ts'
import type { Logger } from '../log/logger.ts'
import { RedisError } from '../redis/errors.ts'
import { defineScript, RedisConnection, type RedisReply, type RedisScript } from '../redis/redis-connection.ts'
import type { ShapeOf } from '../text/mistakes.ts'
import { SESSION_STORE_FAILED, SESSION_STORE_UNREACHABLE } from './errors.ts'
import {
  type CreateSessionStore,
  defaultSessionLimits,
  parseRecord,
  type SessionChange,
  type SessionData,
  type SessionLimits,
  type SessionStore,
  SessionTasks,
  stringifyRecord,
} from './session-store.ts'

/** Where the sessions of several machines are stored, and how many. */
export interface RedisSessionStoreOptions {
  /** Such as `redis://user:password@host:6379`, or `rediss://…` for TLS. */
  readonly url: string
  /** The beginning of all keys: each application needs its own. `sinfonietta:sessions:` by default. */
  readonly prefix?: string
  /** For all machines together; 100,000 sessions, 256 MiB, and 64 KiB for one session by default. */
  readonly limits?: Partial<SessionLimits>
}

/**
 * Stores sessions in Redis, for the option `session.store` of the framework bundle: all machines with the same URL
 * and prefix have the same sessions. It needs the package ioredis, and Redis 7 or Valkey. @throws REDIS_URL_INVALID
 */
export function createRedisSessionStore(options: RedisSessionStoreOptions): CreateSessionStore {
  checkObject('createRedisSessionStore()', options, optionShape)
  checkOptions('createRedisSessionStore()', options, optionShape)
  return ({ logger }) => new RedisSessionStore({ ...options, logger, owner: 'createRedisSessionStore()' })
}

const optionShape: ShapeOf<RedisSessionStoreOptions> = {
  url: 'string',
  prefix: 'string',
  limits: { sessions: 'positive', bytes: 'positive', sessionBytes: 'positive' },
}

interface RedisSessionStoreServices extends RedisSessionStoreOptions {
  readonly logger: Pick<Logger, 'info' | 'warning'>
  /** Milliseconds since 1970. */
  readonly now?: () => number
  /** Milliseconds for a command; 1000 by default. */
  readonly timeout?: number
  /** What has named the server, for messages: `SESSION_URL` by default. */
  readonly owner?: string
}

/**
 * Stores each session as a text under the hash of its id, so that the keys show no id. A change
 * replaces the text that it has read; if another process was faster, the change is made again with
 * the newer data. A session that was destroyed has no text, so a late change cannot bring it back.
 * Without an answer of Redis the methods reject at once, or after a second.
 */
export class RedisSessionStore implements SessionStore {
  readonly #connection: RedisConnection
  readonly #prefix: string
  readonly #limits: SessionLimits
  readonly #logger: RedisSessionStoreServices['logger']
  readonly #now: () => number
  /** Changes by this process need not compete with one another. */
  readonly #tasks = new SessionTasks()

  constructor({
    limits,
    logger,
    now = Date.now,
    owner = 'SESSION_URL',
    prefix = 'sinfonietta:sessions:',
    timeout,
    url,
  }: RedisSessionStoreServices) {
    this.#prefix = prefix
    this.#limits = { ...defaultSessionLimits, ...limits }
    this.#logger = logger
    this.#now = now
    this.#connection = new RedisConnection({
      url,
      ...(timeout !== undefined && { timeout }),
      onOutage: exception =>
        logger.warning('Sessions are not available until the Redis of {owner} answers again.', { owner, exception }),
      onRecovery: () => logger.info('Redis answers again: sessions are available.'),
    })
  }

  async read(id: string): Promise<SessionData | undefined> {
    const text = await this.#run('read a session', readSessionScript, [nameOf(id)])
    return text === null ? undefined : parseRecord(String(text), this.#now())
  }

  async insert(id: string, data: SessionData): Promise<void> {
    const { bytes, sessionBytes, sessions } = this.#limits
    const text = stringifyRecord(data, sessionBytes)
    const args = [nameOf(id), text, data.expiresAt, this.#now(), sessions, bytes]
    this.#warn(await this.#run('write a session', insertScript, args))
  }

  update(id: string, change: SessionChange, newId: string): Promise<SessionData | undefined> {
    return this.#tasks.run(id, async () => {
      let before = await this.#run('read a session', readSessionScript, [nameOf(id)])
      // Each repetition means that a change of another process has succeeded, so they come to an end.
      while (before !== null) {
        const stored = parseRecord(String(before), this.#now())
        const data = stored && change(stored)
        if (data === undefined || (data === stored && newId === id)) return data
        const text = stringifyRecord(data, this.#limits.sessionBytes)
        const args = [nameOf(id), String(before), nameOf(newId), text, data.expiresAt, this.#now()]
        before = await this.#run('write a session', replaceScript, args)
        if (before === 1) return data
      }
      return undefined
    })
  }

  destroy(id: string): Promise<void> {
    return this.#tasks.run(id, async () => {
      await this.#run('destroy a session', destroyScript, [nameOf(id)])
    })
  }

  /** Deletes expired sessions and sessions above the limits at once. Returns their number. */
  async sweep(): Promise<number> {
    const { bytes, sessions } = this.#limits
    let removed = 0
    for (;;) {
      const counts = readCounts(await this.#run('remove old sessions', sweepScript, [this.#now(), sessions, bytes]))
      if (counts.expired + counts.early === 0) return removed
      removed += counts.expired + counts.early
    }
  }

  /** Writes a key and removes it, so that a replica, a full server or missing rights refuse it. */
  async check(): Promise<void> {
    await this.#run('write a session', checkScript, [])
  }

  /** Ends the connection. A later call opens another one. */
  close(): void {
    this.#connection.close()
  }

  #warn(reply: RedisReply): void {
    const { early } = readCounts(reply)
    if (early > 0) this.#logger.warning('There are too many sessions: {count} were removed early.', { count: early })
  }

  async #run(task: string, script: RedisScript, args: readonly (string | number)[]): Promise<RedisReply> {
    try {
      return await this.#connection.run(script, [this.#prefix], args)
    } catch (cause) {
      const isPassing = cause instanceof RedisError && cause.isPassing
      throw isPassing ? new SESSION_STORE_UNREACHABLE([], { cause }) : new SESSION_STORE_FAILED([task], { cause })
    }
  }
}

function nameOf(id: string): string {
  return createHash('sha256').update(id).digest('hex')
}

function readCounts(reply: RedisReply): { readonly expired: number; readonly early: number } {
  // The scripts return both numbers.
  const [expired, early] = reply as readonly RedisReply[]
  return { expired: Number(expired), early: Number(early) }
}

/**
 * The scripts of sessions in Redis. Each has the prefix of the keys as its only key, and ends
 * within a millisecond. The keys, after the prefix:
 *
 * - `s:<name>`, the text of a session, which Redis removes when the session expires.
 * - `expiry`, a sorted set of the names, by the time at which they expire; `sizes`, a hash of
 *   their bytes; `bytes`, the sum.
 *
 * Times are those of the calling process, in milliseconds since 1970.
 */
const common = `
local p, call = KEYS[1], redis.call
local function remove(name)
  call('UNLINK', p .. 's:' .. name)
  call('ZREM', p .. 'expiry', name)
  local size = tonumber(call('HGET', p .. 'sizes', name) or 0)
  if call('HDEL', p .. 'sizes', name) == 1 then call('DECRBY', p .. 'bytes', size) end
end
local function put(name, text, expiry, now)
  local before = tonumber(call('HGET', p .. 'sizes', name) or 0)
  if expiry <= now then return remove(name) end
  call('SET', p .. 's:' .. name, text, 'PX', string.format('%.0f', expiry - now))
  call('ZADD', p .. 'expiry', expiry, name)
  call('HSET', p .. 'sizes', name, #text)
  call('INCRBY', p .. 'bytes', #text - before)
end
local function trim(now, sessions, bytes)
  local expired = call('ZRANGEBYSCORE', p .. 'expiry', '-inf', now, 'LIMIT', 0, 100)
  for _, name in ipairs(expired) do remove(name) end
  local early = 0
  while early < 100 and (call('ZCARD', p .. 'expiry') > sessions or tonumber(call('GET', p .. 'bytes') or 0) > bytes) do
    local first = call('ZRANGE', p .. 'expiry', 0, 0)
    if #first == 0 then break end
    remove(first[1])
    early = early + 1
  end
  return {#expired, early}
end
`

function define(name: string, body: string, isWriting = true): RedisScript {
  return defineScript(`-- sinfonietta ${name}${common}${body}`, isWriting)
}

/** Gives the text of a session; nothing if there is none: name. */
export const readSessionScript: RedisScript = define('read-session', `return call('GET', p .. 's:' .. ARGV[1])`, false)

/**
 * Stores a session: name, text, expiry, now, most sessions, most bytes. Returns how many expired,
 * and how many were removed early.
 */
export const insertScript: RedisScript = define(
  'insert-session',
  `
put(ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4]))
return trim(tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6]))
`,
)

/**
 * Replaces a session: name, its text before, new name, text, expiry, now. Returns 1; the text that
 * is stored instead, if that is another one; or nothing if there is no session.
 */
export const replaceScript: RedisScript = define(
  'replace-session',
  `
local stored = call('GET', p .. 's:' .. ARGV[1])
if stored ~= ARGV[2] then return stored end
if ARGV[3] ~= ARGV[1] then remove(ARGV[1]) end
put(ARGV[3], ARGV[4], tonumber(ARGV[5]), tonumber(ARGV[6]))
return 1
`,
)

/** Removes a session: name. */
export const destroyScript: RedisScript = define('destroy-session', `remove(ARGV[1]) return 1`)

/** Writes and removes a key that is no session. Returns 1. */
export const checkScript: RedisScript = define(
  'check-sessions',
  `call('SET', p .. 'check', '', 'PX', 1) call('UNLINK', p .. 'check') return 1`,
)

/**
 * Removes expired sessions and those above the limits, 100 of each at most: now, most sessions,
 * most bytes. Returns both numbers.
 */
export const sweepScript: RedisScript = define(
  'sweep-sessions',
  `return trim(tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]))`,
)
