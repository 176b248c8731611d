import { defineScript, type RedisReply, type RedisScript } from '../../../../lib/redis/redis-connection.ts'

/** Runs a script with the prefix of the storage. @throws RedisError */
export type RunScript = (script: RedisScript, args: readonly (string | number | Buffer)[]) => Promise<RedisReply>

/**
 * The scripts of the storage. Each has the prefix of the keys as its only key, and ends within a
 * millisecond: what may be long is done in steps. The keys, after the prefix:
 *
 * - `p:<token>`, a hash: summary, text, facts (an id), version (a stamp), position; message (1) of a message.
 * - `order`, a sorted set of the tokens that are not pinned, by position; `messages`, those of
 *   them that are messages; `pinned`, the others.
 * - `changes`, a sorted set of all tokens, by the stamp of their last change.
 * - `sizes`, a hash: the bytes of each profile.
 * - `facts:<id>`, a text. `writers`, a sorted set: when each process has written.
 * - `state`, a hash: generation (random; of this data), last (stamp), horizon (up to this
 *   position, profiles that are not pinned were removed), messageHorizon (the same of messages),
 *   pins (the stamp of their last change), bytes, messageBytes (a part of them), pinnedBytes.
 *
 * A stamp is a time of the server in microseconds, greater than all before it. A position is the
 * stamp of the first version.
 */
const common = `
local p, state, call = KEYS[1], KEYS[1] .. 'state', redis.call
local function number(text) return tonumber(text or 0) or 0 end
local function text(number) return string.format('%.0f', number) end
local function now() local time = call('TIME') return time[1] * 1000000 + time[2] end
local function stamp()
  local at = text(math.max(now(), number(call('HGET', state, 'last')) + 1))
  call('HSET', state, 'last', at)
  return at
end
local function remove(token)
  call('UNLINK', p .. 'p:' .. token)
  call('ZREM', p .. 'order', token)
  call('ZREM', p .. 'changes', token)
  local size = number(call('HGET', p .. 'sizes', token))
  call('HDEL', p .. 'sizes', token)
  if call('ZREM', p .. 'messages', token) == 1 then call('HINCRBY', state, 'messageBytes', -size) end
  return size
end
`

function define(name: string, body: string, isWriting = true): RedisScript {
  return defineScript(`-- sinfonietta ${name}${common}${body}`, isWriting)
}

/**
 * Writes a version of a profile: token, summary, text, id of the facts, milliseconds to live, writer, the
 * version that it replaces (empty for any), a generation for empty storage, 1 for a message. Returns 0 if
 * another version is stored, and otherwise stamp, position, generation, and whether the facts are stored.
 */
export const appendScript: RedisScript = define(
  'append',
  `
local token, name = ARGV[1], p .. 'p:' .. ARGV[1]
local known = call('HMGET', name, 'version', 'position')
if ARGV[7] ~= '' and known[1] ~= ARGV[7] then return 0 end
call('HSETNX', state, 'generation', ARGV[8])
local at = stamp()
local position = known[2] or at
call('HSET', name, 'summary', ARGV[2], 'text', ARGV[3], 'facts', ARGV[4], 'version', at, 'position', position)
local size = #ARGV[2] + #ARGV[3] + 500
local more = size - number(call('HGET', p .. 'sizes', token))
local field = 'bytes'
if call('ZSCORE', p .. 'pinned', token) then field = 'pinnedBytes'
else
  call('ZADD', p .. 'order', position, token)
  call('PEXPIRE', name, ARGV[5])
  if ARGV[9] == '1' then
    call('HSET', name, 'message', 1)
    call('ZADD', p .. 'messages', position, token)
    call('HINCRBY', state, 'messageBytes', more)
  end
end
call('HINCRBY', state, field, more)
call('HSET', p .. 'sizes', token, size)
call('ZADD', p .. 'changes', at, token)
call('ZADD', p .. 'writers', at, ARGV[6])
local facts = call('EXISTS', p .. 'facts:' .. ARGV[4])
if facts == 1 then call('PEXPIRE', p .. 'facts:' .. ARGV[4], ARGV[5], 'GT') end
return { at, position, call('HGET', state, 'generation'), facts }
`,
)

/** Writes facts: id, text, milliseconds to live. */
export const factsScript: RedisScript = define(
  'facts',
  `
return call('SET', p .. 'facts:' .. ARGV[1], ARGV[2], 'PX', ARGV[3], 'NX') and 1 or 0
`,
)

/**
 * Reads a profile: token, writer. Returns text, facts, whether it is pinned, and version;
 * otherwise the number of other processes that have written in the last hour.
 */
export const readScript: RedisScript = define(
  'read',
  `
local found = call('HMGET', p .. 'p:' .. ARGV[1], 'text', 'facts', 'version')
if found[1] then
  local isPinned = call('ZSCORE', p .. 'pinned', ARGV[1]) and 1 or 0
  return { found[1], call('GET', p .. 'facts:' .. found[2]) or '', isPinned, found[3] }
end
local others = call('ZCOUNT', p .. 'writers', text(now() - 3600000000), '+inf')
return call('ZSCORE', p .. 'writers', ARGV[2]) and others - 1 or others
`,
  false,
)

/**
 * Lists summaries by their last changes: from, until, REV or nothing, their greatest number, the known
 * stamp of the pins. Returns generation, horizon, that of messages, last stamp, bytes, stamp of the
 * pins, the pinned tokens if that differs, and of each profile token, stamp, position and summary.
 */
export const listScript: RedisScript = define(
  'list',
  `
local arguments = { p .. 'changes', ARGV[1], ARGV[2], 'BYSCORE' }
if ARGV[3] ~= '' then arguments[5] = ARGV[3] end
for _, word in ipairs({ 'LIMIT', '0', ARGV[4], 'WITHSCORES' }) do arguments[#arguments + 1] = word end
local changes = call('ZRANGE', unpack(arguments))
local rows = {}
for index = 1, #changes, 2 do
  local found = call('HMGET', p .. 'p:' .. changes[index], 'position', 'summary')
  rows[#rows + 1] = { changes[index], changes[index + 1], found[1], found[2] }
end
local found = call('HMGET', state, 'generation', 'horizon', 'last', 'bytes', 'pinnedBytes', 'pins', 'messageHorizon')
local pins = found[6] or '0'
local pinned = {}
if pins ~= ARGV[5] then pinned = call('ZRANGE', p .. 'pinned', 0, -1) end
local bytes = number(found[4]) + number(found[5])
return { found[1] or '', found[2] or '0', found[7] or '0', found[3] or '0', bytes, pins, pinned, rows }
`,
  false,
)

/** Pins or unpins a profile: token, 1 or 0, milliseconds to live. Returns 0 if it is not known. */
export const pinScript: RedisScript = define(
  'pin',
  `
local token, name = ARGV[1], p .. 'p:' .. ARGV[1]
local found = call('HMGET', name, 'position', 'facts', 'message')
if not found[1] then return 0 end
local isPinned = call('ZSCORE', p .. 'pinned', token)
if ARGV[2] == '1' and not isPinned then
  local size = number(call('HGET', p .. 'sizes', token))
  call('ZADD', p .. 'pinned', found[1], token)
  call('ZREM', p .. 'order', token)
  if call('ZREM', p .. 'messages', token) == 1 then call('HINCRBY', state, 'messageBytes', -size) end
  call('PERSIST', name)
  call('PERSIST', p .. 'facts:' .. found[2])
  call('HINCRBY', state, 'bytes', -size)
  call('HINCRBY', state, 'pinnedBytes', size)
elseif ARGV[2] == '0' and isPinned then
  call('ZREM', p .. 'pinned', token)
  local size = number(call('HGET', p .. 'sizes', token))
  call('HINCRBY', state, 'pinnedBytes', -size)
  local horizon = number(call('HGET', state, 'horizon'))
  if found[3] then horizon = math.max(horizon, number(call('HGET', state, 'messageHorizon'))) end
  if number(found[1]) <= horizon then remove(token)
  else
    call('ZADD', p .. 'order', found[1], token)
    if found[3] then
      call('ZADD', p .. 'messages', found[1], token)
      call('HINCRBY', state, 'messageBytes', size)
    end
    call('PEXPIRE', name, ARGV[3])
    call('HINCRBY', state, 'bytes', size)
  end
end
call('HSET', state, 'pins', stamp())
return 1
`,
)

/**
 * Removes the oldest profiles that are over a limit, at most 100: their number, bytes, microseconds of
 * age, the position up to which all are removed (0 for none; empty for the last), and number and bytes
 * of messages. Returns whether there are more, that position, the horizon, and that of messages.
 */
export const trimScript: RedisScript = define(
  'trim',
  `
local limit = ARGV[4] == '' and number(call('HGET', state, 'last')) or number(ARGV[4])
local eldest, horizon, messageHorizon, removed = now() - number(ARGV[3]), nil, nil, 0
while removed < 100 do
  local isOver = call('ZCARD', p .. 'messages') > number(ARGV[5]) or number(call('HGET', state, 'messageBytes')) > number(ARGV[6])
  local token, position = unpack(call('ZRANGE', p .. 'messages', 0, 0, 'WITHSCORES'))
  if not token or not isOver then break end
  call('HINCRBY', state, 'bytes', -remove(token))
  messageHorizon, removed = text(number(position)), removed + 1
end
if messageHorizon then call('HSET', state, 'messageHorizon', messageHorizon) end
local bytes, count = number(call('HGET', state, 'bytes')), call('ZCARD', p .. 'order')
while removed < 100 do
  local token, position = unpack(call('ZRANGE', p .. 'order', 0, 0, 'WITHSCORES'))
  local at = number(position)
  if not token or not (at <= limit or count > number(ARGV[1]) or bytes > number(ARGV[2]) or at < eldest) then break end
  bytes, count, horizon, removed = bytes - remove(token), count - 1, text(at), removed + 1
end
if horizon then call('HSET', state, 'bytes', text(bytes), 'horizon', horizon) end
call('ZREMRANGEBYSCORE', p .. 'writers', '-inf', text(now() - 3600000000))
return { removed == 100 and 1 or 0, text(limit), call('HGET', state, 'horizon') or '0', call('HGET', state, 'messageHorizon') or '0' }
`,
)
