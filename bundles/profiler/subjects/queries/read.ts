import { readStatement } from '../../../../lib/sql/statement.ts'
import { isCache, isDocumentStore, readTokens } from '../../../../lib/sql/tokens.ts'
import { type CallerPlace, choosePlaces } from '../../../../lib/stack/callers.ts'
import { formatNumber, toOneLine } from '../../profile/format.ts'
import { groupBy } from '../../profile/group-by.ts'
import { oncePerProfile, type Profile } from '../../profile/profile.ts'
import {
  type BadWork,
  coveredWorkTime,
  createWork,
  isAwaitedSystem,
  joinPeriods,
  type MoreWork,
  type Period,
  periodOf,
  readMoreWork,
  readStops,
  stoppedTime,
  subtractPeriods,
  sumOfTimes,
  totalOf,
  type Work,
  type WorkKind,
} from '../../profile/work.ts'
import type { QueryData } from './data.ts'

/** A query of a profile. Times are in milliseconds since the request began. */
export interface StoredQuery extends QueryData {
  /** Its index among the queries of the request. */
  readonly index: number
  readonly kind: 'database' | 'cache'
  /** Its number among those of its kind, from 1. */
  readonly number: number
  /** The first word in capitals: `SELECT`, `INSERT`, `GET`; for `WITH` that of its main statement. */
  readonly operation: string
  /** Whether its operation only reads. */
  readonly isRead: boolean
  /** Empty when it did not fail. */
  readonly error: string
  readonly caller: CallerPlace
  /** Milliseconds of it in which the event loop ran no callback. */
  readonly stopped: number
  /** The index of an earlier query, the first one with the same text and the same values. */
  readonly twin: number | undefined
  /** The number of the twin. */
  readonly twinNumber: number | undefined
}

/** Queries with something in common, such as a statement shape. */
export interface QuerySet {
  /** The index of the first query, which names the set in addresses. */
  readonly id: number
  readonly system: string
  /** The text of the first query of the group. */
  readonly text: string
  readonly queries: readonly [StoredQuery, ...StoredQuery[]]
  /** Milliseconds of all of them. */
  readonly total: number
}

/** The queries of databases, or those of caches. */
export interface QueryGroup {
  readonly queries: readonly StoredQuery[]
  /** The groups of queries with the same text, the group with the most time first. */
  readonly shapes: readonly QuerySet[]
  /** The queries with an earlier twin, and these twins. */
  readonly duplicates: readonly StoredQuery[]
  /** Those over the limit of what is recorded in detail. */
  readonly more: MoreWork
  /** Milliseconds in which at least one of all ran. */
  readonly covered: number
}

/** The queries of a profile. */
export type StoredQueries = ReturnType<typeof readQueries>

/** Reads the queries of a profile: empty lists if nothing was recorded. */
export const readQueries = oncePerProfile(collectors => {
  const { queries: stored = [], omitted = 0, more = {} } = collectors.queries ?? {}
  const stops = readStops({ collectors })
  const operations = new Map<string, string>()
  const places = new Map(
    [...groupBy(stored, ({ system }) => isCache(system)).values()].flatMap(each => [
      ...choosePlaces(each, ({ system }) => isAwaitedSystem(system)),
    ]),
  )
  const counts = { database: 0, cache: 0 }
  const numbers: number[] = []
  const read = stored.map((query, index) => {
    const { system, text } = query
    const kind = isCache(system) ? 'cache' : 'database'
    const operation = operations.get(text) ?? operationOf(text)
    operations.set(text, operation)
    // A synchronous query blocks the event loop itself.
    const stopped = isAwaitedSystem(system) ? stoppedTime(query, stops) : 0
    const caller = places.get(query) ?? {}
    const number = ++counts[kind]
    numbers.push(number)
    // Twins come before.
    const twinNumber = numbers[query.twin ?? index]
    return toStoredQuery(query, { index, kind, number, operation, stopped, caller, twinNumber })
  })
  const queries = numberTransactions(read)
  const groupOf = (kind: StoredQuery['kind']) =>
    toGroup(
      queries.filter(query => query.kind === kind),
      readMoreWork(more[kind], stored.some(({ system }) => isAwaitedSystem(system)) ? stops : []),
      stops,
    )
  return { queries, omitted, database: groupOf('database'), cache: groupOf('cache') }
})

/** The queries of databases as work. */
export const databaseWork: WorkKind = {
  panel: 'database',
  category: 'database',
  label: 'Database queries',
  nouns: ['query', 'queries'],
  list(profile) {
    const names = new Map<string, string>()
    return readQueries(profile).database.queries.map(query => {
      const line = toOneLine(query.text)
      const name = names.get(query.text) ?? (nameStatement(query) || line)
      names.set(query.text, name)
      return toWork(query, name, line)
    })
  },
  count: profile => countQueries('database', profile),
  more: profile => readQueries(profile).database.more,
}

/** The calls of caches as work. */
export const cacheWork: WorkKind = {
  panel: 'cache',
  category: 'cache',
  label: 'Cache calls',
  nouns: ['cache call', 'cache calls'],
  list: profile =>
    readQueries(profile).cache.queries.map(query => {
      const line = toOneLine(query.text)
      return toWork(query, line, line)
    }),
  count: profile => countQueries('cache', profile),
  more: profile => readQueries(profile).cache.more,
}

/** Names a statement by its operation and its first table: `SELECT … orders`; empty for a statement without a table. */
function nameStatement({ operation, system, text }: StoredQuery): string {
  if (isDocumentStore(system)) return text.split(' ', 2).join(' ')
  const [table] = readStatement(text, system).tables
  return table === undefined ? '' : `${operation} … ${table}`
}

function toWork({ caller, end, error, index, start, stopped }: StoredQuery, name: string, text: string): Work {
  return createWork({ name, text, id: `query-${index}`, start, end, stopped, hasFailed: error !== '', caller })
}

/** Whether a statement only reads. */
export function isReading(operation: string, text: string): boolean {
  return reads.has(operation) && !hasEffect.test(text)
}

/** The fields that are not stored. */
type FoundField = 'caller' | 'index' | 'kind' | 'number' | 'operation' | 'stopped' | 'twinNumber'

/** Each field is copied by its name, and none may miss: with so many, a spread would be several times as slow. */
function toStoredQuery(
  query: QueryData,
  { caller, index, kind, number, operation, stopped, twinNumber }: Pick<StoredQuery, FoundField>,
): { readonly [name in keyof Required<StoredQuery>]: StoredQuery[name] } {
  const { batch, code, end, error = '', field, namespace, parameters, rows, server, source } = query
  const { start, system, text, transaction, twin = index } = query
  return {
    index,
    kind,
    number,
    operation,
    isRead: isReading(operation, text),
    system,
    namespace,
    server,
    text,
    parameters,
    start,
    end,
    rows,
    error,
    code,
    caller,
    field,
    stopped,
    source,
    batch,
    transaction,
    twin: twin < index ? twin : undefined,
    twinNumber,
  }
}

function toGroup(queries: readonly StoredQuery[], more: MoreWork, stops: readonly Period[]): QueryGroup {
  const twins = new Set(queries.flatMap(({ index, twin }) => (twin === undefined ? [] : [index, twin])))
  return {
    queries,
    shapes: toSets(queries, shapeOf).sort((one, other) => other.total - one.total),
    duplicates: queries.filter(({ index }) => twins.has(index)),
    more,
    covered: coveredWorkTime([...queries, ...more.periods], stops),
  }
}

export const slowQuery: Readonly<Record<'warning' | 'error', number>> = {
  /** Limit of `slow-query`: ms of a query. Users notice a tenth of a second. */
  warning: 100,
  /** Limit of `slow-query`: ms of a query, for an error. Half a second alone makes a page slow. */
  error: 500,
}

/**
 * Whether a query has values, and none of them is known: its source reported none, or they may
 * have changed before it ended.
 */
export function lacksValues({ kind, parameters = [], system, text }: StoredQuery): boolean {
  if (kind === 'cache' || parameters.length > 0 || !/[?$:@]/.test(text)) return false
  return readTokens(text, system).some(token => token.kind === 'placeholder')
}

/** The key of the statement shape of a query. */
export function shapeOf({ system, text }: Pick<StoredQuery, 'system' | 'text'>): string {
  return `${system} ${text}`
}

/** Groups queries by a key, in the order of their first queries. */
export function toSets(queries: readonly StoredQuery[], keyOf: (query: StoredQuery) => string): QuerySet[] {
  return Array.from(groupBy(queries, keyOf).values(), queries => {
    const [{ index, system, text }] = queries
    return { id: index, system, text, queries, total: sumOfTimes(queries) }
  })
}

/** Counts the queries of a kind, also those that were only counted. */
export function countQueries(kind: StoredQuery['kind'], profile: Profile): number {
  const { cacheCalls, queries } = profile.summary
  return Math.max(readQueries(profile)[kind].queries.length, kind === 'cache' ? cacheCalls : queries)
}

/** How many queries of a kind have failed, also of those that were only counted. */
export function countFailedQueries(kind: StoredQuery['kind'], profile: Profile): BadWork {
  const { more, queries } = readQueries(profile)[kind]
  const count = queries.filter(({ error }) => error !== '').length + more.failed
  return { count, text: count === 0 ? '' : `${formatNumber(count)} failed`, tone: 'error' }
}

const skipped = /^(?:\s|\(|--[^\n]*|\/\*[\s\S]*?\*\/)+/

/** The operation of a statement or a command: its first word in capitals, for `WITH` the word of its main statement. */
export function operationOf(text: string): string {
  const [word = ''] = /^\w+/.exec(text.replace(skipped, '')) ?? []
  const first = word.toUpperCase()
  return first === 'WITH' ? operationAfterWith(text) : first
}

/** The main statement comes after the common table expressions, which are in brackets. */
function operationAfterWith(text: string): string {
  let depth = 0
  for (const [token] of text.matchAll(/[()]|"[^"]*"|`[^`]*`|\b(?:SELECT|INSERT|UPDATE|DELETE|MERGE)\b/gi)) {
    if (token === '(') depth++
    else if (token === ')') depth--
    else if (depth === 0 && /^\w/.test(token)) return token.toUpperCase()
  }
  return 'WITH'
}

const reads: ReadonlySet<string> = new Set([
  ...['SELECT', 'SHOW', 'EXPLAIN', 'DESCRIBE', 'DESC', 'VALUES', 'TABLE', 'PRAGMA'],
  ...['FIND', 'GETMORE', 'AGGREGATE', 'COUNT', 'DISTINCT', 'LISTCOLLECTIONS', 'LISTINDEXES'],
  ...['GET', 'MGET', 'GETRANGE', 'STRLEN', 'EXISTS', 'TTL', 'PTTL', 'TYPE', 'KEYS', 'SCAN'],
  ...['HGET', 'HMGET', 'HGETALL', 'HKEYS', 'HVALS', 'HLEN', 'HEXISTS', 'HSCAN'],
  ...['LRANGE', 'LINDEX', 'LLEN', 'SMEMBERS', 'SISMEMBER', 'SCARD', 'SSCAN'],
  ...['ZRANGE', 'ZRANGEBYSCORE', 'ZREVRANGE', 'ZSCORE', 'ZCARD', 'ZCOUNT', 'ZRANK', 'ZSCAN', 'XRANGE', 'XLEN', 'XREAD'],
])

/** Functions of PostgreSQL and MySQL that change something: a query with one of them is not repeated for its result. */
const hasEffect = /\b(?:nextval|setval|pg_(?:try_)?advisory\w*|pg_notify|get_lock|release_lock)\s*\(/i

/** The operations that control a transaction or a connection, and neither read nor write rows. */
export const controlOperations: ReadonlySet<string> = new Set([
  ...['BEGIN', 'START', 'COMMIT', 'END', 'ROLLBACK', 'ABORT', 'SAVEPOINT', 'RELEASE'],
  ...['SET', 'USE', 'PRAGMA', 'DISCARD', 'XA'],
  ...['COMMITTRANSACTION', 'ABORTTRANSACTION', 'KILLCURSORS', 'ENDSESSIONS'],
])

/** The fields of a query that its transaction depends on. */
interface OrderedQuery
  extends Pick<QueryData, 'system' | 'namespace' | 'server' | 'text' | 'start' | 'end' | 'transaction'> {
  readonly index: number
  readonly kind: 'database' | 'cache'
  /** The first word in capitals. */
  readonly operation: string
}

/** The operations with which a transaction begins, and those with which it ends. */
const beginnings: ReadonlySet<string> = new Set(['BEGIN', 'START'])

const endings: ReadonlySet<string> = new Set([
  ...['COMMIT', 'END', 'ROLLBACK', 'ABORT', 'COMMITTRANSACTION', 'ABORTTRANSACTION'],
])

/** Statements with which MySQL and MariaDB commit. */
const committing: ReadonlySet<string> = new Set(['CREATE', 'ALTER', 'DROP', 'TRUNCATE', 'RENAME', 'GRANT', 'REVOKE'])

/** A later statement of a text that ends the transaction. */
const endBehind = /;\s*(?:COMMIT|END|ROLLBACK|ABORT)\b(?![^;]*\bTO\b)/i

/** Whether a query begins a transaction, and does not end it itself: `BEGIN; UPDATE …; COMMIT`. */
export function beginsTransaction({ operation, text }: Pick<OrderedQuery, 'operation' | 'text'>): boolean {
  return (beginnings.has(operation) || /^\W*XA\s+(?:START|BEGIN)\b/i.test(text)) && !endBehind.test(text)
}

/** Whether a query begins the next transaction at once: `COMMIT AND CHAIN`. Both have one number. */
export function chainsTransaction({ operation, text }: Pick<OrderedQuery, 'operation' | 'text'>): boolean {
  return endings.has(operation) && /\bAND\s+CHAIN\b/i.test(text)
}

/**
 * The ends of two phases: PostgreSQL leaves a prepared transaction to another session, as MySQL does after `XA END`.
 */
const prepared = /^\W*(?:PREPARE\s+TRANSACTION|XA\s+(?:PREPARE|COMMIT|ROLLBACK))\b/i

/**
 * Whether a query ends its transaction. `ROLLBACK TO` a savepoint does not, and neither does
 * `COMMIT PREPARED`, which is about another one.
 */
export function endsTransaction({
  operation,
  system,
  text,
}: Pick<OrderedQuery, 'operation' | 'text'> & { readonly system?: string | undefined }): boolean {
  if (prepared.test(text)) return true
  if (endBehind.test(text) || (endings.has(operation) && !/\bTO\b|^\W*\w+\s+PREPARED\b|\bAND\s+CHAIN\b/i.test(text)))
    return true
  return system === 'mysql' && committing.has(operation) && !/^\w+ TEMPORARY\b/i.test(text)
}

/**
 * Numbers the transactions that the libraries do not report: they do not say which connection runs a query. The queries
 * of a database from BEGIN to COMMIT or ROLLBACK are a transaction if each began after the end of the one before it, so
 * that one connection may have run them. If two transactions are open at the same time, neither gets a number.
 */
function numberTransactions<query extends OrderedQuery>(queries: readonly query[]): readonly query[] {
  const unknown = queries.filter(({ kind, transaction }) => kind === 'database' && transaction === undefined)
  const databases = groupBy(unknown, ({ namespace, server, system }) => JSON.stringify([system, server, namespace]))
  const found = [...databases.values()].flatMap(findTransactions).sort(([one], [other]) => one.index - other.index)
  if (found.length === 0) return queries
  const last = queries.reduce((highest, { transaction = 0 }) => Math.max(highest, transaction), 0)
  const numbers = new Map(found.flatMap((members, at) => members.map(({ index }) => [index, last + at + 1])))
  return queries.map(query => ({ ...query, transaction: numbers.get(query.index) ?? query.transaction }))
}

type Members = [OrderedQuery, ...OrderedQuery[]]

/** Finds the transactions among the queries of one database. */
function findTransactions(queries: readonly OrderedQuery[]): Members[] {
  const found: Members[] = []
  let members: Members | undefined
  let open = 0
  let isCertain = true
  for (const query of queries) {
    const isBeginning = beginsTransaction(query)
    if (isBeginning) open++
    if (isBeginning && members === undefined) members = [query]
    else if (members !== undefined) {
      const previous = members[members.length - 1] as OrderedQuery
      if (isBeginning || query.start < (previous.end ?? Number.POSITIVE_INFINITY)) isCertain = false
      members.push(query)
    }
    if (members === undefined || !endsTransaction(query)) continue
    open--
    if (open > 0) continue
    if (isCertain) found.push(members)
    members = undefined
    isCertain = true
  }
  return members !== undefined && isCertain ? [...found, members] : found
}

/** Milliseconds: shorter delays are none that a caller notices. */
export const leastWait = 10

/** Reads the waits of a profile for connections: empty lists if nothing was recorded. */
export const readWaits = oncePerProfile(collectors => {
  const stops = readStops({ collectors })
  const stored = (collectors.queries?.waits ?? []).map(wait => ({ ...wait, end: wait.start + wait.duration }))
  const places = choosePlaces(stored, () => true)
  const waits = stored.flatMap(wait => {
    const caller = places.get(wait) ?? {}
    const own = subtractPeriods([wait], stops)
    const duration = totalOf(own)
    return duration < leastWait ? [] : { ...wait, own, duration, caller }
  })
  const { ended, longest, periods } = readMoreWork(collectors.queries?.more?.waits, [])
  const more = subtractPeriods(joinPeriods(periods.map(periodOf)), stops)
  return {
    waits,
    count: waits.length + ended,
    // The event loop may have stopped in the longest one.
    longest: Math.max(Math.min(longest, totalOf(more)), ...waits.map(({ duration }) => duration)),
    time: totalOf(joinPeriods([...more, ...waits.flatMap(({ own }) => own)])),
  }
})

/** All queries of a statement shape. */
export interface QueryUse {
  readonly system: string
  readonly text: string
  readonly times: number
  /** Milliseconds of all of them. */
  readonly duration: number
  /** Where the first was sent; empty if that is not known. */
  readonly caller: CallerPlace
}

/** Reads the queries of databases and caches by system and statement shape, those with the longest duration first. */
export function readQueryUses(profile: Profile): Map<string, QueryUse> {
  const { cache, database } = readQueries(profile)
  const shapes = [...database.shapes, ...cache.shapes]
  return new Map(
    shapes.map(({ queries, system, text, total }) => [
      JSON.stringify([system, text]),
      { system, text, times: queries.length, duration: total, caller: queries[0].caller },
    ]),
  )
}
