import type { QueryParameters } from '../../../../kernel/queries.ts'
import type { Redactor } from '../../../../lib/redact/redactor.ts'
import { mask } from '../../../../lib/redact/secret-names.ts'
import { ValueSummary } from './captured-values.ts'

const words = (list: string): ReadonlySet<string> => new Set(list.split(' '))

/** Commands whose first argument is a key. */
const withKey = words(
  'GET SET SETNX SETEX PSETEX GETSET GETDEL GETEX APPEND STRLEN GETRANGE SETRANGE INCR INCRBY INCRBYFLOAT DECR DECRBY ' +
    'EXPIRE PEXPIRE EXPIREAT PEXPIREAT TTL PTTL PERSIST TYPE RENAME DUMP RESTORE SORT GETBIT SETBIT BITCOUNT BITPOS ' +
    'HGET HSET HSETNX HMGET HMSET HGETALL HDEL HEXISTS HINCRBY HINCRBYFLOAT HKEYS HVALS HLEN HSCAN HSTRLEN HEXPIRE ' +
    'LPUSH RPUSH LPUSHX RPUSHX LPOP RPOP LRANGE LINDEX LLEN LSET LTRIM LREM LINSERT LPOS BLPOP BRPOP ' +
    'SADD SREM SMEMBERS SISMEMBER SMISMEMBER SCARD SPOP SRANDMEMBER SSCAN ' +
    'ZADD ZREM ZRANGE ZRANGEBYSCORE ZREVRANGE ZREVRANGEBYSCORE ZSCORE ZMSCORE ZINCRBY ZCARD ZCOUNT ZRANK ZREVRANK ' +
    'ZREMRANGEBYSCORE ZREMRANGEBYRANK ZPOPMIN ZPOPMAX ZSCAN XADD XLEN XRANGE XREVRANGE XTRIM XDEL XACK ' +
    'PFADD GEOADD GEODIST GEOPOS GEOSEARCH GETS CAS ADD REPLACE PREPEND',
)
/** Commands whose arguments are all keys. */
const withKeys = words('MGET DEL UNLINK EXISTS TOUCH WATCH SINTER SUNION SDIFF PFCOUNT DELETE')
const keyLimit = 20
const keyLength = 200

/**
 * Writes the command of a cache with its keys and `?` for its other arguments. The words of the command are those of the
 * text, then the parameters. Keys are masked behind a word that names a session or a secret: `sess:******`.
 */
export function describeCommand(text: string, parameters: QueryParameters = [], redactor: Redactor): string {
  const [command = '', ...more] = text.trim().split(/\s+/)
  const args = [...more, ...Object.values(parameters).map(toText)]
  const name = command.toUpperCase()
  const keys = withKeys.has(name) ? args.length : withKey.has(name) ? 1 : 0
  const shown = args.slice(0, keyLimit).map((arg, index) => (index < keys ? maskKey(arg, redactor) : '?'))
  return [name, ...shown, ...(args.length > keyLimit ? ['…'] : [])].join(' ')
}

/** Masks what follows a name of a session or a secret in a key, such as `sess:` or `reset_token-`, and secrets in any form. */
function maskKey(key: string, redactor: Redactor): string {
  const begin = key.slice(0, keyLength)
  for (const { 0: separator, index } of begin.matchAll(separators)) {
    if (endsWithSecret(begin.slice(0, index), redactor)) return `${begin.slice(0, index)}${separator}${mask}`
  }
  return redactor.text(key).slice(0, keyLength)
}

/** All characters except for letters and digits, and the escapes of some. */
const separators = /%[\da-f]{2}|[^\p{L}\p{N}]/giu
const wordLimit = 4

/** Whether the last word is secret, alone or together with words before it: `one_time_code`. */
function endsWithSecret(text: string, redactor: Redactor): boolean {
  const name = text.split(/%[\da-f]{2}|[^\p{L}\p{N}_.-]/iu).at(-1) ?? ''
  const endings = Array.from(name.matchAll(/[\p{L}\p{N}]+/gu), ({ index }) => name.slice(index))
  return endings.slice(-wordLimit).some(ending => /^sess/i.test(ending) || redactor.isSecret(ending))
}

function toText(value: unknown): string {
  return value instanceof ValueSummary ? value.text : String(value)
}
