import { type CodedErrorClass, defineError } from '../errors/http-error.ts'

/**
 * Profiles or sessions are to be stored in Redis, and the package is not installed. Run the
 * `npm install` of the message.
 */
export const REDIS_PACKAGE_MISSING: CodedErrorClass<[packages: string]> = defineError(
  'REDIS_PACKAGE_MISSING',
  500,
  'Redis is used, but the package ioredis is not installed: npm install %s',
)

/**
 * The URL of Redis has another scheme, or no host. Write it like `redis://user:password@host:6379`; `rediss://` for
 * TLS.
 */
export const REDIS_URL_INVALID: CodedErrorClass<[]> = defineError(
  'REDIS_URL_INVALID',
  500,
  'The URL of Redis is wrong: it is redis://host:6379, or rediss://host:6379 for TLS',
)

/** A command failed. It has no properties of the command: these may contain a password. */
export class RedisError extends Error {
  /** The first word of the server's answer, such as `OOM`; `undefined` if the server has not answered. */
  readonly code: string | undefined

  constructor(message: string, code?: string) {
    super(message)
    this.code = code
  }

  override get name(): string {
    return 'RedisError'
  }

  /**
   * Whether the same command may succeed later: there is no answer, the server loads its data, or
   * another server takes over.
   */
  get isPassing(): boolean {
    return this.code === undefined || passing.includes(this.code)
  }
}

const passing: readonly string[] = ['LOADING', 'READONLY', 'MASTERDOWN', 'BUSY']
