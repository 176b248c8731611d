import { hiddenValue, type QueryParameters, type QueryStart } from '../../../../kernel/contracts/queries.ts'
import { type CopyBounds, MaskingCopier, type TextMasker } from '../../../../lib/redact/masking-copier.ts'
import type { Redactor } from '../../../../lib/redact/redactor.ts'
import { mask, namingKeys, valueKeys } from '../../../../lib/redact/secret-names.ts'
import {
  emptyLiterals,
  type Literal,
  readStatement,
  type Slot,
  type SqlStatement,
  statementLimit,
} from '../../../../lib/sql/statement.ts'
import { isCache, isDocumentStore, isLikePostgres } from '../../../../lib/sql/tokens.ts'
import { TextMemo } from '../../../../lib/text/text-memo.ts'
import type { Pairs } from '../../profile/schema.ts'
import type { QueryData } from './data.ts'

/** Pairs of one query. */
const pairLimit = 100

const valueBounds = { depth: 4, entries: 200, text: 500, total: 8000 }

/** A value of a query, with the names that the statement and its author give it. */
interface NamedValue {
  /** Empty where no name is known. */
  readonly names: readonly string[]
  /** Whether it may be the name of another value: it is that of a column such as `key`. */
  readonly isNaming: boolean
  /** Whether another value may be its name: it is that of a column such as `value`. */
  readonly isOfName: boolean
  /** The name without another one: `$1`, `2`. */
  readonly place: string
  /** The key of its parameter; of a literal its index among the literals. */
  readonly key: string | number
}

/** A statement with the values of its literals, in their order. */
interface ReadStatement {
  readonly known: KnownStatement
  readonly literals: readonly unknown[]
}

/** The values of a statement whose parameters have certain keys. */
interface NamedValues {
  readonly values: readonly NamedValue[]
  /** Whether each placeholder has a parameter: by default, instrumentations do not report them. */
  readonly isComplete: boolean
}

/** A statement, and what was found out about it. */
interface KnownStatement {
  readonly system: string
  readonly statement: SqlStatement
  readonly hasLiterals: boolean
  /** The values by the number of parameters, which are a list. */
  readonly values: Map<number, NamedValues>
}

/**
 * Turns captured queries into data that may be stored. The literals of a statement become parameters. A parameter with
 * a secret name is masked; a text without a name, or of a table with a secret name, keeps its type and its length.
 */
export class QueryDescriber {
  readonly #redactor: Redactor
  /** Statements by their systems, and by their texts with empty literals: the same ones come with each request. */
  readonly #statements = new TextMemo<TextMemo<KnownStatement>>(50, 100)

  constructor(redactor: Redactor) {
    this.#redactor = redactor
  }

  /** `findTwin` finds an earlier query with the same text and values; it is called if all values are known. */
  describe(raw: QueryStart, findTwin?: () => number | undefined): DescribedQuery {
    const { parameters = [], system, text } = raw
    const namespace = raw.namespace && this.#redactor.text(raw.namespace)
    const server = raw.server && this.#redactor.text(withoutUser(raw.server))
    if (isCache(system)) {
      const command = describeCommand(text, parameters, this.#redactor)
      return { namespace, server, text: command, parameters: undefined, twin: findTwin?.() }
    }
    if (isDocumentStore(system)) {
      const [, collection = ''] = text.split(' ', 2)
      const values = Object.keys(parameters).map(key =>
        describeNames({ names: [key, ...key.split('.')], place: key, key }),
      )
      return {
        namespace,
        server,
        text: this.#redactor.text(text),
        parameters: this.#mask(values, ({ key }) => Reflect.get(parameters, key), { tables: [collection] }),
        twin: findTwin?.(),
      }
    }
    const { known, literals } = this.#read(text, system)
    const { isComplete, values } = namesOf(known, parameters)
    const readValue = (value: NamedValue) => valueUnder(value, parameters, literals)
    return {
      namespace,
      server,
      text: known.statement.shape,
      parameters: values.length === 0 ? undefined : this.#mask(values, readValue, known.statement),
      twin: isComplete ? findTwin?.() : undefined,
    }
  }

  #read(text: string, system: string): ReadStatement {
    const statements = this.#statements.of(system, () => new TextMemo(500, 2000))
    const seen = statements.get(text)
    if (seen?.hasLiterals === false) return { known: seen, literals: [] }
    const emptied = emptyLiterals(text)
    const known = emptied && statements.get(emptied.text)
    if (emptied !== undefined && known !== undefined) return { known, literals: emptied.literals.map(toValue) }
    const read = readWhole(text, system)
    // Literals may be secrets, which are not kept.
    if (!read.known.hasLiterals) statements.set(text, read.known)
    else if (emptied !== undefined) {
      const empty = readWhole(emptied.text, system)
      // A word may be a literal, too, such as a password.
      if (empty.literals.every(value => value === '' || value === 0)) statements.set(emptied.text, empty.known)
    }
    return read
  }

  #mask(
    values: readonly NamedValue[],
    readValue: (value: NamedValue) => unknown,
    { tables }: Pick<SqlStatement, 'tables'>,
  ): Pairs {
    const { isSecret } = this.#redactor
    const isSecretTable = tables.some(isSecret)
    // `name = 'smtp_password' AND value = …`: one value names the other.
    const namesSecret = values.some(value => value.isNaming && isSecret(String(readValue(value))))
    const copier = new MaskingCopier(this.#redactor, valueBounds)
    const pairs: [string, unknown][] = []
    for (const named of values) {
      if (pairs.length === pairLimit) break
      const { names, place } = named
      const value = readValue(named)
      const shown = names[0] ?? place
      const isMasked = (namesSecret && named.isOfName) || names.some(isSecret)
      if (isMasked && value !== null && value !== undefined) pairs.push([shown, mask])
      else pairs.push([shown, names.length > 0 && !isSecretTable ? showValue(value, copier) : summarize(value)])
    }
    return values.length > pairLimit ? [...pairs, ['…', '…']] : pairs
  }
}

function readWhole(text: string, system: string): ReadStatement {
  const statement = readStatement(text, system)
  const literals = statement.slots.flatMap(({ literal }) => (literal === undefined ? [] : [toValue(literal)]))
  return { known: { system, statement, hasLiterals: literals.length > 0, values: new Map() }, literals }
}

/** More numbers of parameters of one statement are not kept. */
const countLimit = 10

/** The values of a statement with these parameters. The names are kept for a list: they depend on its length only. */
function namesOf({ statement, system, values }: KnownStatement, parameters: QueryParameters): NamedValues {
  if (!Array.isArray(parameters)) return nameValues(statement, Object.keys(parameters), false, system)
  const { length } = parameters
  let known = values.get(length)
  if (known === undefined) {
    known = nameValues(statement, Object.keys(parameters), true, system)
    if (values.size < countLimit) values.set(length, known)
  }
  return known
}

function valueUnder({ key }: NamedValue, parameters: QueryParameters, literals: readonly unknown[]): unknown {
  if (typeof key === 'number') return literals[key]
  return Array.isArray(parameters) ? parameters[Number(key)] : Reflect.get(parameters, key)
}

/**
 * The values of a statement in their order: literals and parameters, each once; then parameters that it does not name.
 */
function nameValues(
  { slots }: SqlStatement,
  keys: readonly string[],
  isByPosition: boolean,
  system: string,
): NamedValues {
  const given = new Set(keys)
  const values = new Map<string, Pick<NamedValue, 'place' | 'key'> & { names: string[] }>()
  let isComplete = true
  let literals = 0
  for (const [index, slot] of slots.entries()) {
    const { key, literal, name } = slot
    const found = key === undefined ? undefined : findKey(given, key)
    if (literal === undefined && found === undefined) {
      isComplete = false
      continue
    }
    const id = found ?? `literal ${index}`
    const place = placeOf(slot, index, system)
    const known = values.get(id) ?? { names: [], place, key: found ?? literals++ }
    if (name !== undefined) known.names.push(name)
    if (typeof key === 'string') known.names.push(key)
    values.set(id, known)
  }
  for (const key of keys) {
    if (values.has(key)) continue
    const place = isByPosition ? `${Number(key) + 1}` : key
    values.set(key, { names: isByPosition ? [] : [key], place, key })
  }
  return { values: Array.from(values.values(), describeNames), isComplete }
}

function describeNames(value: Pick<NamedValue, 'names' | 'place' | 'key'>): NamedValue {
  const names = value.names.map(name => name.toLowerCase())
  const isNaming = names.some(name => namingKeys.includes(name))
  return { ...value, isNaming, isOfName: names.some(name => valueKeys.includes(name)) }
}

/** The key under which a parameter is given. Names may be given with the sign of the placeholder. */
function findKey(given: ReadonlySet<string>, key: number | string): string | undefined {
  const forms = typeof key === 'number' ? [`${key - 1}`] : [key, `:${key}`, `$${key}`, `@${key}`]
  return forms.find(form => given.has(form))
}

function placeOf({ key }: Slot, index: number, system: string): string {
  if (key === undefined) return `${index + 1}`
  return isLikePostgres(system) ? `$${key}` : `${key}`
}

function toValue({ kind, text }: Literal): unknown {
  const number = Number(text)
  return kind === 'number' && Math.abs(number) <= Number.MAX_SAFE_INTEGER ? number : text
}

/** A value whose name is known, and is not secret. */
function showValue(value: unknown, copier: MaskingCopier): unknown {
  return value instanceof ValueSummary ? (value.copy ?? value.text) : copier.value('', value)
}

/** The type and the size of a value that may be secret. Numbers and booleans are shown. */
function summarize(value: unknown): unknown {
  if (typeof value === 'string') return describeText(value)
  if (value instanceof ValueSummary) return value.text
  if (value instanceof Date) return 'date'
  return typeof value === 'bigint' ? String(value) : value
}

/** A server without the scheme, the user and the password of a connection string. */
function withoutUser(server: string): string {
  const isUrl = /^[a-z][a-z\d+.-]*:\/\//i.test(server)
  const isPath = server.startsWith('/')
  const place = isPath ? server : server.slice(server.lastIndexOf('@') + 1).replace(/^[a-z][a-z\d+.-]*:\/\//i, '')
  return isUrl ? place.replace(/\?.*$/s, '') : place
}

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

/** Commands whose arguments are a script, the number of its keys, the keys, and others. */
const ofScripts = words('EVAL EVALSHA EVAL_RO EVALSHA_RO FCALL FCALL_RO')

const keyLimit = 20

const keyLength = 200

/**
 * Writes the command of a cache with its keys and `?` for its other arguments. The words of the command are those
 * of the text, then the parameters. Keys are masked behind a word that names a session or a secret: `sess:******`.
 */
function describeCommand(text: string, parameters: QueryParameters = [], redactor: Redactor): string {
  const [command = '', ...more] = text.trim().split(/\s+/)
  const args = [...more, ...Object.values(parameters).map(toText)]
  const name = command.toUpperCase()
  const first = ofScripts.has(name) && more.length === 0 ? 2 : 0
  const keys = first > 0 ? Number(args[1]) : withKeys.has(name) ? args.length : withKey.has(name) ? 1 : 0
  // Redis refuses a greater number.
  const isKey = (index: number) => index >= first && index < first + keys && first + keys <= args.length
  const shown = args.slice(0, keyLimit).map((arg, index) => (isKey(index) ? maskKey(arg, redactor) : '?'))
  return [name, ...shown, ...(args.length > keyLimit ? ['…'] : [])].join(' ')
}

/**
 * Masks what follows a name of a session or a secret in a key, such as `sess:` or `reset_token-`,
 * and secrets in any form.
 */
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

/** The part of a query that is masked when it is collected first. Its values are not kept after that. */
export type DescribedQuery = Pick<QueryData, 'text' | 'parameters' | 'namespace' | 'server' | 'twin'>

/** Values of one query that are kept. */
const valueLimit = 100

/** Characters of a text that is kept; one text may be a whole file. */
const textLimit = statementLimit

/** Bytes of a binary value that is compared with those of other queries, such as a key. */
const comparedBytes = 64

const copyBounds: CopyBounds = { depth: 4, entries: 100, text: 500, total: 4000 }

/** A value that is not kept itself. */
class ValueSummary {
  /** Its type and its size. */
  readonly text: string
  /** A masked copy, for a list or an object. */
  readonly copy: unknown
  /** Equal for equal values; `undefined` if it is not known. */
  readonly identity: string | undefined

  constructor(text: string, { copy, identity }: { readonly copy?: unknown; readonly identity?: string } = {}) {
    this.text = text
    this.copy = copy
    this.identity = identity
  }
}

const hidden = new ValueSummary('?')

/**
 * Copies the start of a query for the time until its request is collected: the application may change its values, and
 * long ones would stay in memory. At most 100 values are kept.
 */
export function captureQuery(start: QueryStart, masker: TextMasker): QueryStart {
  // Not by spreading: a start may be an object of a class, with getters.
  const { batch, elapsed, namespace, parameters, server, source, system, text, transaction } = start
  return {
    system,
    source,
    namespace,
    server,
    batch,
    elapsed,
    transaction,
    text: text.slice(0, textLimit + 1),
    parameters: parameters && captureParameters(parameters, masker),
  }
}

function captureParameters(parameters: QueryParameters, masker: TextMasker): QueryParameters {
  if (!Array.isArray(parameters)) {
    const entries = Object.entries(parameters).slice(0, valueLimit)
    return Object.fromEntries(entries.map(([name, value]) => [name, captureValue(value, masker)]))
  }
  const captured: unknown[] = []
  const length = Math.min(parameters.length, valueLimit)
  for (let index = 0; index < length; index++) captured.push(captureValue(parameters[index], masker))
  return captured
}

function captureValue(value: unknown, masker: TextMasker): unknown {
  if (typeof value === 'string') return value.length <= textLimit ? value : new ValueSummary(describeText(value))
  if (value === hiddenValue) return hidden
  if (typeof value !== 'object' || value === null || value instanceof ValueSummary) return value
  if (value instanceof Date) return new Date(value)
  if (ArrayBuffer.isView(value)) {
    const { byteLength } = value
    const bytes = new Uint8Array(value.buffer, value.byteOffset, byteLength)
    const identity = byteLength <= comparedBytes ? Buffer.from(bytes).toString('hex') : undefined
    return new ValueSummary(`binary, ${byteLength} bytes`, { ...(identity !== undefined && { identity }) })
  }
  const copy = new MaskingCopier(masker, copyBounds).value('', value)
  return new ValueSummary(Array.isArray(value) ? `list, ${value.length} items` : 'object', { copy })
}

/** The type and the length of a text. */
function describeText(text: string): string {
  return `text, ${text.length} characters`
}

/**
 * A text that two captured queries with the same statement share if their systems and all of their values are equal;
 * `undefined` where this is not known.
 */
export function identityOf({ parameters = [], system, text }: QueryStart): string | undefined {
  if (text.length > textLimit) return undefined
  const isList = Array.isArray(parameters)
  let identity = withLength(isList ? system : `${system} ${JSON.stringify(Object.keys(parameters))}`)
  for (const value of isList ? parameters : Object.values(parameters)) {
    const part = identityOfValue(value)
    if (part === undefined) return undefined
    identity += withLength(part)
  }
  return identity
}

/** Different lists of texts that are joined in this way differ. */
function withLength(text: string): string {
  return `${text.length} ${text}`
}

function identityOfValue(value: unknown): string | undefined {
  if (value instanceof ValueSummary) return value.identity
  return value instanceof Date ? `date ${value.getTime()}` : `${typeof value} ${value}`
}
