import type { FindingRule, RuleFinding } from '../../../../kernel/contracts/collectors.ts'
import { mask } from '../../../../lib/redact/secret-names.ts'
import { isCache, isDocumentStore } from '../../../../lib/sql/tokens.ts'
import { describePlaces, findCommonField, findRuns } from '../../insight/findings/finding.ts'
import {
  formatCount,
  formatDuration,
  formatNumber,
  formatPlace,
  formatValue,
  shorten,
  toOneLine,
} from '../../profile/format.ts'
import { groupBy } from '../../profile/group-by.ts'
import { oncePerProfile, type Profile } from '../../profile/profile.ts'
import type { Pairs } from '../../profile/schema.ts'
import {
  countAllCalls,
  coveredWorkTime,
  type Period,
  readStops,
  savingOf,
  subtractPeriods,
  sumOfTimes,
  sumWithin,
  totalOf,
  workTime,
} from '../../profile/work.ts'
import { hasConsole } from '../../record/recording-policy.ts'
import type { RepeatedBelow } from './data.ts'
import {
  controlOperations,
  lacksValues,
  readQueries,
  readWaits,
  type StoredQueries,
  type StoredQuery,
  shapeOf,
  slowQuery,
} from './read.ts'

/** Finds slow queries: one finding for each statement shape. */
export const slowQueryRule: FindingRule<Profile> = {
  name: 'slow-query',
  title: 'Slow query',
  find(profile) {
    // Many queries at once wait for one another.
    const { all } = findRepeatedQueries(profile)
    return findWorst(
      readQueries(profile).database.queries.filter(query => !all.has(query)),
      workTime,
      slowQuery.warning,
    ).map(({ others, query, worst }) => ({
      severity: worst >= slowQuery.error ? 'error' : 'warning',
      problem: `{statement} took ${formatDuration(worst)}${others > 0 ? `, and ${atLeast(profile)}${formatCount(others, 'other query', 'other queries')} of the same shape ${slowQuery.warning} ms or more` : ''}.`,
      ...describePlaces(
        [query],
        { statement: shortenStatement(query.text), explain: explainOf(query, profile) },
        adviseOnSlow(query),
      ),
      place: toQueryPlace(query),
      evidence: { count: others + 1, time: worst },
    }))
  },
  measure: {
    unit: 'ms',
    read: (finding, profile) => findMost(finding, profile, workTime),
    total: profile => sumWithin(profile, 'queryTime'),
  },
}

/** Reading statements that may wait for locks. */
const locking = /\bfor\s+(?:no\s+key\s+|key\s+)?(?:update|share)\b|\b(?:pg_advisory_\w*lock\w*|get_lock)\s*\(/i

/** Statements that have no plan: they control, define, or call. */
const unplanned =
  /^(?:alter|analyze|call|cluster|copy|create|drop|exec|execute|grant|lock|notify|refresh|reindex|revoke|truncate|vacuum)\b/i

/** Databases do not report whether a statement has waited for a lock. */
function adviseOnSlow({ isRead, operation, text }: StoredQuery): string {
  if (controlOperations.has(operation) || unplanned.test(operation))
    return 'It has no plan: find out whether it waited for a lock, the disk or other work of the database'
  const plan = 'Look at its plan with {explain} (an index may be missing)'
  return isRead && !locking.test(text)
    ? `${plan}, or read less`
    : `${plan}, or for a transaction that held its locks meanwhile`
}

/** The command that shows the plan of a query; it explains reading queries only. */
function explainOf({ index, isRead }: StoredQuery, profile: Profile): string {
  return isRead && hasConsole(profile)
    ? `bin/console profiler:explain ${profile.summary.token} ${index + 1}`
    : 'EXPLAIN'
}

/** Limit of `many-rows`: rows of a query. More are seldom shown on one page. */
const leastRows = 1000

/** Finds queries that returned many rows: one finding for each statement shape. */
export const manyRowsRule: FindingRule<Profile> = {
  name: 'many-rows',
  title: 'Query with many rows',
  find: profile =>
    findWorst(
      readQueries(profile).database.queries.filter(query => isAnswered(query) && query.isRead),
      rowsOf,
      leastRows,
    ).map(({ others, query, worst }) => ({
      severity: 'warning',
      problem: `{statement} returned ${formatNumber(worst)} rows.`,
      ...describePlaces(
        [query],
        { statement: shortenStatement(query.text) },
        'Read only the rows that are needed (LIMIT), or let the database count and sum them',
      ),
      place: toQueryPlace(query),
      evidence: { count: others + 1, rows: worst },
    })),
  measure: {
    unit: 'rows',
    read: (finding, profile) => findMost(finding, profile, rowsOf),
    total: profile => readQueries(profile).database.queries.reduce((sum, query) => sum + rowsOf(query), 0),
  },
}

function rowsOf({ rows = 0 }: StoredQuery): number {
  return rows
}

/** The greatest number among the queries with the statement of a finding. */
function findMost(finding: RuleFinding, profile: Profile, measure: (query: StoredQuery) => number): number {
  return Math.max(0, ...findByStatement(finding, readQueries(profile).database.queries).map(measure))
}

function findWorst(queries: readonly StoredQuery[], measure: (query: StoredQuery) => number, limit: number) {
  const groups = groupBy(
    queries.filter(query => measure(query) >= limit),
    ({ text }) => text,
  )
  return [...groups.values()].map(group => {
    // A group has at least one query.
    const [query] = group.toSorted((one, other) => measure(other) - measure(one)) as [StoredQuery]
    return { query, worst: measure(query), others: group.length - 1 }
  })
}

/** Limit of `many-queries`: queries of a request. As in the toolbar of Symfony, which turns yellow. */
const leastQueries = 50

/** Finds requests with many queries that are not explained by repetition. */
export const manyQueriesRule: FindingRule<Profile> = {
  name: 'many-queries',
  title: 'Many queries',
  find(profile) {
    const { queries, queryTime } = profile.summary
    const repeated = [...findRepeatedQueries(profile).all].filter(({ kind }) => kind === 'database')
    const count = queries - repeated.length
    if (count < leastQueries) return []
    return [
      {
        severity: 'warning',
        problem: `The request ran ${formatCount(queries, 'query', 'queries')}, which took ${formatDuration(queryTime)} of its time.`,
        advice: 'Combine queries of related data, or cache results that change seldom.',
        place: { panel: 'database' },
        evidence: { count: queries, time: queryTime },
      },
    ]
  },
  measure: { unit: 'queries', read: (_, { summary }) => summary.queries, total: countAllCalls },
}

/** Limit of `sequential-queries`: ms of each query. As in Sentry's rule. */
const leastInSequence = 30

/** Limit of `sequential-queries`: ms that are saved at the same time. As in Sentry's rule. */
const leastSaving = 100

/** Finds reading queries, none with a value from another one, that one listener or controller ran one after another. */
export const sequentialQueriesRule: FindingRule<Profile> = {
  name: 'sequential-queries',
  title: 'Queries in sequence',
  find: profile => findSequences(profile, leastInSequence).flatMap(describeRun),
  measure: { unit: 'ms', read: (_, profile) => Math.max(0, ...findSequences(profile, 0).map(savingOf)) },
}

/** Runs of independent queries that each took the least time, in milliseconds. */
function findSequences(profile: Profile, least: number): readonly StoredQuery[][] {
  const { all } = findRepeatedQueries(profile)
  // Queries after the response do not delay the client; a transaction has one connection, which
  // runs one query at a time.
  const candidates = readQueries(profile).database.queries.filter(
    query =>
      query.start < profile.summary.duration &&
      query.transaction === undefined &&
      workTime(query) >= least &&
      isAnswered(query) &&
      query.isRead &&
      !all.has(query) &&
      // It may need the result of the query before.
      !lacksValues(query),
  )
  const endOf = (query: StoredQuery) => query.end ?? query.start
  return findRuns(profile, candidates, endOf).map(run => takeIndependent(run, profile))
}

/** The names of parameters that refer to a row: their values often come from the result of another query. */
const references = /(?:^|_|\$)(?:u?id|uuid|key|slug|\d+)$|^\d+$|[a-z]Id$/

/**
 * The first query of a run, and those that cannot need its result: each value that may refer to a
 * row was known before, from the parameters of the first query or of the request.
 */
function takeIndependent(run: readonly StoredQuery[], { collectors }: Profile): StoredQuery[] {
  const [first, ...later] = run
  if (first === undefined) return []
  const { router } = collectors
  const route = router !== undefined && 'parameters' in router ? Object.values(Object(router.parameters)) : []
  const given = [...(first.parameters ?? []), ...(collectors.request?.query ?? [])].filter(isStored)
  const known = new Set([...route, ...given.map(([, value]) => value)].map(formatValue))
  const isKnown = (pair: Pairs[number]) =>
    !references.test(pair[0]) || (isStored(pair) && known.has(formatValue(pair[1])))
  return [first, ...later.filter(({ parameters = [] }) => parameters.every(isKnown))]
}

/** Whether a value is stored as it was: a secret is masked, and of a text without a name only the length is stored. */
function isStored([name, value]: Pairs[number]): boolean {
  return typeof value !== 'string' || (value !== mask && !/^\$?\d+$/.test(name))
}

function describeRun(run: readonly StoredQuery[]): RuleFinding[] {
  const [time, saving] = [sumOfTimes(run), savingOf(run)]
  const [, second] = run
  if (second === undefined || saving < leastSaving) return []
  return [
    {
      // Whether the rows of one decide on the next is not known.
      severity: 'info',
      problem: `${run.length} queries ran one after another, ${formatDuration(time)} in total; at the same time they would take about ${formatDuration(time - saving)}.`,
      ...describePlaces(
        run,
        {},
        'If no query needs the result of another, start them together and wait with Promise.all()',
      ),
      place: toQueryPlace(second),
      evidence: { count: run.length, time, saving },
    },
  ]
}

/** Finds requests that have waited for a connection. The cause is known only of a pool that reports its state. */
export const starvedPoolRule: FindingRule<Profile> = {
  name: 'starved-pool',
  title: 'Wait for a connection',
  find(profile) {
    const { count, longest, time, waits } = readWaits(profile)
    if (time < leastWaiting) return []
    const isKnown = waits.every(({ pool }) => pool !== undefined)
    return [
      {
        severity: 'warning',
        problem: `The request waited ${formatDuration(time)} for connections of a pool (${formatCount(count, 'time')}, at most ${formatDuration(longest)}): ${isKnown ? describeUse(waits) : 'whether all connections were in use is not known'}.`,
        ...describePlaces(
          waits,
          {},
          isKnown
            ? 'Release connections earlier, run fewer queries at the same time, or make the pool larger'
            : 'Look at how many connections the pool has and may have',
        ),
        place: { panel: waits.every(({ system }) => isCache(system)) ? 'cache' : 'database' },
        evidence: { count, time },
      },
    ]
  },
  measure: { unit: 'ms', read: (_, profile) => readWaits(profile).time },
}

function describeUse(waits: ReturnType<typeof readWaits>['waits']): string {
  const [limit = 0, ...others] = new Set(waits.map(({ pool }) => pool?.limit))
  if (limit === 1) return 'its only connection was in use'
  return `all ${others.length > 0 ? '' : `${limit} `}connections were in use`
}

/** Queries with one cause, in the order in which they began. */
type Repeated = readonly [StoredQuery, StoredQuery, ...StoredQuery[]]

/** The repeated queries of a request, by cause. A query has one cause: that of the first list. */
interface RepeatedQueries {
  /** Queries of one shape with different values. */
  readonly items: readonly Repeated[]
  /** Queries with the same values. */
  readonly duplicates: readonly Repeated[]
  /** All of these queries, and those that waited for a free connection: other rules do not report them again. */
  readonly all: ReadonlySet<StoredQuery>
}

/** Limit of `repeated-queries`: consecutive queries of one shape. Fewer may be unrelated. */
const leastRun = 5

/** Limit of `repeated-queries`: ms of these queries together. Faster ones do not matter. */
const leastRunTime = 50

/**
 * Limit of `repeated-queries`, in development, and of `repeated-commands`: queries or commands.
 * Databases are near there, and have few rows.
 */
const leastInDevelopment = 10

/** Limit of `duplicate-queries`: equal queries. Two may come from independent parts of a page. */
const leastDuplicates = 3

/** The result for development, and that for production: several rules of one profile need it. */
const known: (profile: Profile) => Map<boolean, RepeatedQueries> = oncePerProfile(() => new Map())

/** Finds queries that were repeated with other values (N+1), and those that were repeated with the same values. */
export function findRepeatedQueries(profile: Profile): RepeatedQueries {
  const isDevelopment = profile.process.config?.environment !== 'prod'
  const results = known(profile)
  const result =
    results.get(isDevelopment) ?? findRepeated(readQueries(profile), isDevelopment, findStarvedPlaces(profile))
  results.set(isDevelopment, result)
  return result
}

/** Limit of `starved-pool`: ms of waiting for connections. Users notice a tenth of a second. */
const leastWaiting = 100

/** The places at which a request has waited long for free connections: it has another finding for their queries. */
function findStarvedPlaces(profile: Profile): ReadonlySet<string> {
  const { time, waits } = readWaits(profile)
  return new Set(time < leastWaiting ? [] : waits.map(({ caller }) => formatPlace(caller)))
}

function findRepeated(
  { database, queries }: StoredQueries,
  isDevelopment: boolean,
  starved: ReadonlySet<string>,
): RepeatedQueries {
  const longRuns = findLongRuns(database.queries.filter(isAnswered))
  const groups = database.shapes.flatMap(({ queries }) => toRepeated(queries.filter(isAnswered)))
  const items = groups.filter(group => {
    const [first, ...more] = group
    const isMany = longRuns.has(shapeOf(first)) || (isDevelopment && group.length >= leastInDevelopment)
    const isKnown = ({ parameters = [] }: StoredQuery) => parameters.length >= (first.parameters?.length ?? 0)
    // With the same values each time, one query is enough.
    return isMany && !severalRows.test(first.text) && more.some(query => query.twin !== first.index && isKnown(query))
  })
  const perItem = new Set<StoredQuery>(items.flat())
  const waited = starved.size === 0 ? [] : queries.filter(({ caller }) => starved.has(formatPlace(caller)))
  const others = queries.filter(
    query => query.isRead && isAnswered(query) && !perItem.has(query) && !waited.includes(query),
  )
  const duplicates = [...groupBy(others, ({ index, twin = index }) => String(twin)).values()]
    .filter(({ length }) => length >= leastDuplicates)
    .flatMap(toRepeated)
  return { items, duplicates, all: new Set([...perItem, ...duplicates.flat(), ...waited]) }
}

/** A statement that writes several rows is not run for each of them. */
const severalRows = /\b(?:VALUES\b[\s\S]*?\)\s*,\s*\(|UNNEST\s*\(|jsonb?_to_recordset\s*\()/i

function toRepeated([first, second, ...more]: readonly StoredQuery[]): Repeated[] {
  return first === undefined || second === undefined ? [] : [[first, second, ...more]]
}

/**
 * Whether a query has succeeded: a retry after a failure is right, and the control of transactions
 * repeats by its nature.
 */
export function isAnswered({ end, error, operation }: StoredQuery): boolean {
  return end !== undefined && error === '' && !controlOperations.has(operation)
}

/**
 * The shapes of runs of consecutive queries that are so many and take so long that they are
 * probably the items of a list.
 */
function findLongRuns(queries: readonly StoredQuery[]): ReadonlySet<string> {
  const runs: StoredQuery[][] = []
  let last = ''
  for (const query of queries) {
    const shape = shapeOf(query)
    if (shape === last) runs.at(-1)?.push(query)
    else runs.push([query])
    last = shape
  }
  const long = runs.filter(run => run.length >= leastRun && sumOfTimes(run) >= leastRunTime)
  return new Set(long.flat().map(shapeOf))
}

/** Finds queries that were run once per item of a list (N+1). */
export const repeatedQueriesRule: FindingRule<Profile> = {
  name: 'repeated-queries',
  title: 'N+1 queries',
  find(profile) {
    const items = findRepeatedQueries(profile).items.map((queries): RuleFinding => {
      const [{ isRead, system, text }, second] = queries
      const how = isDocumentStore(system) ? '$in, or $lookup' : 'a join, or WHERE … IN (…)'
      const field = findCommonField(queries)
      const advice = isRead
        ? `Load the rows of all items with one query (${how}) instead of one per item`
        : 'Write all rows with one statement instead of one per item'
      return {
        severity: 'warning',
        ...(!isRead && { title: 'Rows written one by one' }),
        problem: `${isRead ? 'N+1: ' : ''}{statement} ran ${describeTimes(queries, profile, field === '' ? '' : ' in {field}')}.`,
        ...describePlaces(queries, { statement: shortenStatement(text), ...(field !== '' && { field }) }, advice),
        // The first query may be necessary, so the link leads to the second one.
        place: toQueryPlace(second),
        evidence: { count: queries.length, time: sumOfTimes(queries) },
      }
    })
    return [...items, ...readBelow(profile).map(below => describeBelow(below, readStops(profile)))]
  },
  measure: {
    unit: 'queries',
    // Failed queries count: a page whose queries fail is not fixed.
    read(finding, profile) {
      const below = findByStatement(finding, readBelow(profile)).reduce((sum, { count }) => sum + count, 0)
      return findByStatement(finding, readQueries(profile).database.queries).length + below
    },
    total: countAllCalls,
  },
}

function readBelow({ collectors }: Profile): readonly RepeatedBelow[] {
  return collectors.queries?.below ?? []
}

/** The queries of sub-requests: the profile of each of them shows one. */
function describeBelow(
  { caller = {}, count, isSame, periods, requests, text }: RepeatedBelow,
  stops: readonly Period[],
): RuleFinding {
  const own = subtractPeriods(
    periods.map(([start, duration]) => ({ start, duration })),
    stops,
  )
  const time = totalOf(own)
  const how = isSame ? ' with the same values' : ''
  return {
    severity: 'warning',
    ...(isSame && { title: 'Query repeated' }),
    problem: `${isSame ? '' : 'N+1: '}{statement} ran ${formatCount(count, 'time')}${how} in ${formatNumber(requests)} sub-requests, ${formatDuration(time)} in total.`,
    ...describePlaces(
      [{ caller }],
      { statement: shortenStatement(text) },
      isSame
        ? 'Run it once before the sub-requests, and pass on the result'
        : 'Load the rows of all sub-requests with one query before, and pass them on',
    ),
    place: { panel: 'time' },
    evidence: { count, time },
  }
}

/** How often queries ran, and how long; if not all queries of the request are listed, at least that. */
function describeTimes(queries: readonly StoredQuery[], profile: Profile, how = ''): string {
  const {
    omitted,
    queries: { length },
  } = readQueries(profile)
  const sample =
    omitted === 0 ? '' : ` (${formatNumber(length)} of ${formatNumber(length + omitted)} queries are listed)`
  const least = atLeast(profile)
  // Queries at the same time count once.
  const time = formatDuration(coveredWorkTime(queries, readStops(profile)))
  return `${least}${formatCount(queries.length, 'time')}${how}${sample}, ${least}${time} in total`
}

/** Before a number of listed queries: others may have been counted only. */
function atLeast(profile: Profile): string {
  return readQueries(profile).omitted === 0 ? '' : 'at least '
}

/** Finds commands of a cache that read the keys of a list one after another. */
export const repeatedCommandsRule: FindingRule<Profile> = {
  name: 'repeated-commands',
  title: 'Cache commands in a loop',
  find: profile =>
    findLoopsOfCommands(profile).map(queries => {
      const [first, second] = queries
      const advice = first.operation === 'GET' ? 'Read all keys with one MGET' : 'Send all commands in one pipeline'
      return {
        severity: 'warning',
        problem: `{command} and ${atLeast(profile)}${formatCount(queries.length - 1, 'similar command')} ran one after another, ${atLeast(profile)}${formatDuration(sumOfTimes(queries))} in total.`,
        ...describePlaces(queries, { command: shortenStatement(first.text) }, advice),
        place: toQueryPlace(second),
        evidence: { count: queries.length, time: sumOfTimes(queries) },
      }
    }),
  measure: {
    unit: 'cache calls',
    read: (_, profile) => findLoopsOfCommands(profile).reduce((sum, { length }) => sum + length, 0),
  },
}

/**
 * The reading commands of one line that waited for one another and have different keys of one
 * form. A loop that also writes fills the cache: the next request shows whether it reads only.
 */
function findLoopsOfCommands(profile: Profile): Repeated[] {
  const { queries } = readQueries(profile).cache
  const written = new Set(queries.filter(({ isRead }) => !isRead).map(keyOf))
  const reads = queries.filter(query => query.isRead && query.batch === undefined && isAnswered(query))
  const loops = groupBy(reads, ({ caller, operation, text }) =>
    [operation, formatPlace(caller), keyOf({ text }).replace(/\d+|(?<=[:/])[^:/]+$/g, '*')].join(' '),
  )
  return [...loops.values()].flatMap(loop => {
    // Most libraries report the keys of a few commands only.
    const keys = new Set(loop.map(query => (query.text.includes('?') ? query.index : query.text)))
    if (keys.size < leastInDevelopment || loop.some(query => written.has(keyOf(query)))) return []
    const endOf = ({ end = 0 }: StoredQuery) => end
    return findRuns(profile, loop, endOf)
      .filter(({ length }) => length >= leastInDevelopment)
      .flatMap(toRepeated)
  })
}

function keyOf({ text }: Pick<StoredQuery, 'text'>): string {
  return text.split(' ', 2)[1] ?? ''
}

/** Finds queries that were repeated with the same values. */
export const duplicateQueriesRule: FindingRule<Profile> = {
  name: 'duplicate-queries',
  title: 'Query repeated',
  find(profile) {
    return findRepeatedQueries(profile).duplicates.map(queries => {
      const [{ text }, second] = queries
      return {
        severity: 'warning',
        problem: `{statement} ran ${describeTimes(queries, profile, ' with the same values')}.`,
        ...describePlaces(
          queries,
          { statement: shortenStatement(text) },
          'Run it once and pass on the result, or cache it',
        ),
        place: toQueryPlace(second),
        evidence: { count: queries.length, time: sumOfTimes(queries) },
      }
    })
  },
  measure: {
    unit: 'queries',
    read(finding, profile) {
      const queries = findByStatement(finding, readQueries(profile).queries)
      const groups = groupBy(queries, ({ index, twin = index }) => String(twin))
      return Math.max(0, ...[...groups.values()].map(({ length }) => length))
    },
    total: countAllCalls,
  },
}

function findByStatement<query extends { readonly text: string }>(
  { values }: RuleFinding,
  queries: readonly query[],
): readonly query[] {
  return queries.filter(({ text }) => shortenStatement(text) === values?.statement)
}

const statementLength = 120

/** A statement in a sentence. */
export function shortenStatement(text: string): string {
  return shorten(toOneLine(text), statementLength)
}

/** The row of a query in its panel. */
export function toQueryPlace({ index, kind }: StoredQuery): NonNullable<RuleFinding['place']> {
  return { panel: kind, anchor: `query-${index}` }
}
