import { createHash } from 'node:crypto'
import { checkOptions } from '../errors/arguments.ts'
import type { Logger } from '../log/logger.ts'
import { RedisError } from '../redis/errors.ts'
import { RedisConnection, type RedisReply, type RedisScript } from '../redis/redis-connection.ts'
import { SESSION_STORE_FAILED, SESSION_STORE_UNREACHABLE } from './errors.ts'
import { destroyScript, insertScript, readSessionScript, replaceScript, sweepScript } from './redis-session-scripts.ts'
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
 * Stores sessions in Redis, for the option `session.store` of the framework bundle: all machines with the same URL and prefix
 * have the same sessions. It needs the package ioredis, and Redis 7 or Valkey. @throws REDIS_URL_INVALID
 */
export function createRedisSessionStore(options: RedisSessionStoreOptions): CreateSessionStore {
  checkOptions('createRedisSessionStore()', options, { url: 'string', prefix: 'string', limits: 'object' })
  return ({ logger }) => new RedisSessionStore({ ...options, logger })
}

/** What the store needs besides its place. */
interface RedisSessionStoreServices extends RedisSessionStoreOptions {
  readonly logger: Pick<Logger, 'info' | 'warning'>
  /** Milliseconds since 1970. */
  readonly now?: () => number
  /** Milliseconds for a command; 1000 by default. */
  readonly timeout?: number
}

/**
 * Stores each session as a text under the hash of its id, so that the keys show no id. A change replaces the text that it
 * has read; if another process was faster, the change is made again with the newer data. A session that was destroyed has no text,
 * so a late change cannot bring it back. Without an answer of Redis the methods reject at once, or after a second.
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
      onOutage: error => logger.warning('Sessions are not available until Redis answers again.', { exception: error }),
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
