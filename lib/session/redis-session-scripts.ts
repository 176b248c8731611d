import { defineScript, type RedisScript } from '../redis/redis-connection.ts'

/**
 * The scripts of sessions in Redis. Each has the prefix of the keys as its only key, and ends within a millisecond. The keys,
 * after the prefix:
 *
 * - `s:<name>`, the text of a session, which Redis removes when the session expires.
 * - `expiry`, a sorted set of the names, by the time at which they expire; `sizes`, a hash of their bytes; `bytes`, the sum.
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

/** Stores a session: name, text, expiry, now, most sessions, most bytes. Returns how many expired, and how many were removed early. */
export const insertScript: RedisScript = define(
  'insert-session',
  `
put(ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4]))
return trim(tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6]))
`,
)

/**
 * Replaces a session: name, its text before, new name, text, expiry, now. Returns 1; the text that is stored instead, if that is
 * another one; or nothing if there is no session.
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

/** Removes expired sessions and those above the limits, 100 of each at most: now, most sessions, most bytes. Returns both numbers. */
export const sweepScript: RedisScript = define(
  'sweep-sessions',
  `return trim(tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]))`,
)
