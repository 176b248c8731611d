import { hiddenValue } from '../../kernel/contracts/queries.ts'
import { toServer } from './library.ts'

/** The place of a message of ioredis and node-redis. */
export interface RedisPlace {
  readonly database: number
  readonly serverAddress: string
  readonly serverPort: number | undefined
}

/** A message of `ioredis:command` and `node-redis:command`. */
export interface RedisCommand extends RedisPlace {
  readonly command: string
  /** Arguments that may be values are `?`. The arguments of node-redis begin with the command. */
  readonly args: readonly string[]
  /** The number of commands, in a pipeline of node-redis. */
  readonly batchSize?: number
}

/** A message of `ioredis:batch` and `node-redis:batch`. */
export interface RedisBatch extends RedisPlace {
  readonly batchMode: 'MULTI' | 'PIPELINE'
  readonly batchSize: number
}

export function describeRedis(library: string, { database, serverAddress, serverPort }: RedisPlace) {
  const server = toServer(serverAddress, serverPort)
  return { system: 'redis', namespace: `${database}`, server, source: 'channel', library } as const
}

export function toValues(args: readonly string[]): readonly unknown[] {
  return args.map(arg => (arg === '?' ? hiddenValue : arg))
}

/** How many values a command has found: 0 for a miss. A number and `OK` are no found values. */
export function countValues(result: unknown): number | undefined {
  if (result === null || result === undefined) return 0
  if (Array.isArray(result)) return result.filter(value => value !== null).length
  if (typeof result === 'object') return Buffer.isBuffer(result) ? 1 : Object.keys(result).length
  return typeof result === 'string' && result !== 'OK' ? 1 : undefined
}
