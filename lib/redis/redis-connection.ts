import { createHash } from 'node:crypto'
import type { Redis } from 'ioredis'
import { loadOptional, PACKAGE_VERSION_UNFIT } from '../optional-packages.ts'
import { isRedisUrl } from '../text/conversion.ts'
import { REDIS_PACKAGE_MISSING, REDIS_URL_INVALID, RedisError } from './errors.ts'

/** What a command returns. Texts are buffers. */
export type RedisReply = Buffer | number | null | readonly RedisReply[]

/** A script that the server runs as one command. */
export interface RedisScript {
  readonly text: string
  readonly hash: string
  /** Whether it writes, so that a replica refuses it. */
  readonly isWriting: boolean
}

/** Makes a script of its text in Lua. */
export function defineScript(text: string, isWriting = true): RedisScript {
  return { text, hash: createHash('sha1').update(text).digest('hex'), isWriting }
}

/** Where the server is, and which functions learn of its state. */
export interface RedisConnectionOptions {
  /** Such as `redis://user:password@host:6379/0`, or `rediss:` for TLS. */
  readonly url: string
  /** Called once for each outage. The error does not contain the URL. */
  readonly onOutage: (error: Error) => void
  /** Called whenever the server answers again after an outage. */
  readonly onRecovery: () => void
  /** Milliseconds for a command, and for a connection to open; 1000 by default. */
  readonly timeout?: number
  readonly load?: typeof loadRedis
}

/**
 * Imports the package ioredis. Its types are not in the declaration, because applications without
 * the package compile it.
 * @throws REDIS_PACKAGE_MISSING PACKAGE_VERSION_UNFIT
 */
export function loadRedis(load: () => Promise<object> = () => import('ioredis')): Promise<object> {
  return loadOptional({
    feature: 'Redis',
    packages: ['ioredis'],
    load,
    missing: (packages, cause) => new REDIS_PACKAGE_MISSING([packages], { cause }),
  })
}

/**
 * A connection to Redis that never waits for the server: a command fails at once while there is no connection,
 * and after its timeout otherwise. The connection opens with the first command, and opens again by itself.
 */
export class RedisConnection {
  readonly #options: RedisConnectionOptions
  readonly #timeout: number
  #opened: Promise<void> | undefined
  #client: Redis | undefined
  #isOut = false
  /** Whether the server was a replica: then the outage ends with a script that it lets write. */
  #isReplica = false
  /** When the connection was replaced because the server is a replica. */
  #replacedAt = Number.NEGATIVE_INFINITY

  /** @throws REDIS_URL_INVALID */
  constructor(options: RedisConnectionOptions) {
    this.#options = options
    this.#timeout = options.timeout ?? 1000
    if (!isRedisUrl(options.url)) throw new REDIS_URL_INVALID([])
  }

  /** Runs a script. @throws RedisError */
  async run(
    script: RedisScript,
    keys: readonly string[],
    args: readonly (string | number | Buffer)[],
  ): Promise<RedisReply> {
    this.#opened ??= this.#open()
    // Only the first commands have to wait: for the outcome of the first attempt to connect.
    await this.#opened
    try {
      const reply = await this.#run(script, [keys.length, ...keys, ...args])
      if (script.isWriting) this.#recover()
      return reply
    } catch (error) {
      if (error instanceof RedisError && error.code === 'READONLY') {
        this.#isReplica = true
        this.#report(error)
      }
      throw error
    }
  }

  /** Ends the connection. Commands without an answer fail; a later command opens another connection. */
  close(): void {
    const client = this.#client
    this.#client = undefined
    this.#opened = undefined
    client?.disconnect()
  }

  async #run({ hash, text }: RedisScript, args: readonly (string | number | Buffer)[]): Promise<RedisReply> {
    try {
      return await this.#send('EVALSHA', [hash, ...args])
    } catch (error) {
      if (!(error instanceof RedisError && error.code === 'NOSCRIPT')) throw error
      return await this.#send('EVAL', [text, ...args])
    }
  }

  async #send(command: string, args: (string | number | Buffer)[]): Promise<RedisReply> {
    const client = this.#client
    if (client?.status !== 'ready') throw new RedisError('There is no connection to Redis.')
    try {
      // The client declares unknown, because the types of its replies depend on its options.
      return (await this.#inTime(client.callBuffer(command, args), client)) as RedisReply
    } catch (error) {
      throw toRedisError(error)
    }
  }

  /**
   * Rejects after the timeout. If nothing at all has come for half of that time more, the
   * connection is replaced, so that commands without an answer do not pile up.
   */
  #inTime<value>(answer: Promise<value>, { stream }: Redis): Promise<value> {
    const { bytesRead } = stream
    const replace = () => {
      if (stream.bytesRead === bytesRead) stream.destroy(new Error('Redis has sent nothing for too long.'))
    }
    return new Promise((resolve, reject) => {
      const expire = () => {
        reject(new RedisError('Redis has not answered in time.'))
        afterReading(this.#timeout / 2, replace).unref()
      }
      const timer = afterReading(this.#timeout, expire)
      answer.then(resolve, reject).finally(() => clearTimeout(timer))
    })
  }

  /** Ends an attempt to connect, or a handshake, that takes longer than the timeout: the client tries again. */
  #limitOpening(client: Redis): void {
    let steps = 0
    for (const status of ['connecting', 'connect'] as const) {
      client.on(status, () => {
        const step = ++steps
        afterReading(this.#timeout, () => {
          const isWaiting = step === steps && client.status === status
          if (isWaiting) client.stream.destroy(new Error('The connection to Redis has not opened in time.'))
        }).unref()
      })
    }
  }

  /** Resolves when the first attempt to connect has an outcome. */
  async #open(): Promise<void> {
    const { load = loadRedis, url } = this.#options
    try {
      // The module ioredis: `loadRedis` does not declare it.
      const { Redis: Client } = (await load()) as { readonly Redis: typeof Redis }
      // The connection was closed in the meantime.
      if (this.#opened === undefined) return
      const client = new Client(url, {
        lazyConnect: true,
        protocol: 2,
        enableOfflineQueue: false,
        autoResendUnfulfilledCommands: false,
        maxRetriesPerRequest: 0,
        disableClientInfo: true,
        // The time limits of the client would end the connection of a process that was busy,
        // although an answer has arrived.
        connectTimeout: 0,
        retryStrategy: attempt => Math.min(1000, 20 * 2 ** Math.min(attempt, 6)) * (0.5 + Math.random() / 2),
        reconnectOnError: error => error.message.startsWith('READONLY') && this.#mayReplace(),
      })
      client.on('error', error => this.#report(error, client))
      client.on('close', () => this.#report(new Error('The connection to Redis was closed.'), client))
      client.on('ready', () => this.#isReplica || this.#recover())
      this.#limitOpening(client)
      this.#client = client
      await client.connect()
    } catch (error) {
      this.#report(error)
    }
  }

  /** After a fail-over the address may name another server: a replica gets a new connection, once in a second. */
  #mayReplace(): boolean {
    const now = performance.now()
    if (now - this.#replacedAt < 1000) return false
    this.#replacedAt = now
    return true
  }

  #recover(): void {
    if (!this.#isOut) return
    this.#isOut = false
    this.#isReplica = false
    this.#options.onRecovery()
  }

  #report(error: unknown, client = this.#client): void {
    if (this.#isOut || client !== this.#client) return
    this.#isOut = true
    const isUnloaded = error instanceof REDIS_PACKAGE_MISSING || error instanceof PACKAGE_VERSION_UNFIT
    this.#options.onOutage(isUnloaded || error instanceof RedisError ? error : toRedisError(error))
  }
}

/**
 * Calls a function after some milliseconds. What has arrived by then is read before, also if the
 * process was busy for longer.
 */
function afterReading(milliseconds: number, task: () => void): NodeJS.Timeout {
  return setTimeout(() => setImmediate(task), milliseconds)
}

/** Errors of the package have the command with its arguments as a property: it is not logged. */
function toRedisError(error: unknown): RedisError {
  // The package throws instances of Error only.
  const { message, name } = error as Error
  return new RedisError(message, name === 'ReplyError' ? message.split(' ', 1)[0] : undefined)
}
