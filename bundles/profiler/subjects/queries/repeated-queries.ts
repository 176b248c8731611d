import type { FindingRule, RuleFinding } from '../../../../kernel/profiler-contract.ts'
import { describePlaces } from '../../insight/findings/finding.ts'
import { formatDuration, formatPlace, shorten, toOneLine } from '../../profile/format.ts'
import { groupBy } from '../../profile/group-by.ts'
import { oncePerProfile, type Profile } from '../../profile/profile.ts'
import {
  controlOperations,
  readQueries,
  readWaits,
  type StoredQueries,
  type StoredQuery,
  shapeOf,
  timeOf,
} from './read.ts'

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

/** Consecutive queries of one shape, and their milliseconds together: fewer may be unrelated, faster ones do not matter. */
const leastRun = 5

const leastRunTime = 50

/** In development, databases are near and have few rows: queries are counted, whatever their time. */
const leastInDevelopment = 10

/** Two equal queries may come from independent parts of a page. */
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

/** Milliseconds of waiting for connections: users notice a tenth of a second. */
export const leastWaiting = 100

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
    // With the same values each time, one query is enough.
    return isMany && more.some(({ twin }) => twin !== first.index)
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

function toRepeated([first, second, ...more]: readonly StoredQuery[]): Repeated[] {
  return first === undefined || second === undefined ? [] : [[first, second, ...more]]
}

/** Whether a query has succeeded: a retry after a failure is right, and the control of transactions repeats by its nature. */
export function isAnswered({ end, error, operation }: StoredQuery): boolean {
  return end !== undefined && error === '' && !controlOperations.has(operation)
}

/** The shapes of runs of consecutive queries that are so many and take so long that they are probably the items of a list. */
function findLongRuns(queries: readonly StoredQuery[]): ReadonlySet<string> {
  const runs: StoredQuery[][] = []
  let last = ''
  for (const query of queries) {
    const shape = shapeOf(query)
    if (shape === last) runs.at(-1)?.push(query)
    else runs.push([query])
    last = shape
  }
  const long = runs.filter(run => run.length >= leastRun && timeOf(run) >= leastRunTime)
  return new Set(long.flat().map(shapeOf))
}

/** Finds queries that were run once per item of a list (N+1). */
export const repeatedQueriesRule: FindingRule<Profile> = {
  name: 'repeated-queries',
  title: 'N+1 queries',
  find(profile) {
    return findRepeatedQueries(profile).items.map(queries => {
      const [{ isRead, text }, second] = queries
      const advice = isRead
        ? 'Load the rows of all items with one query (a join, or WHERE … IN (…)) instead of one per item'
        : 'Write all rows with one statement instead of one per item'
      return {
        severity: 'warning',
        problem: `N+1: {statement} ran ${queries.length} times, ${formatDuration(timeOf(queries))} in total.`,
        ...describePlaces(queries, { statement: shortenStatement(text) }, advice),
        // The first query may be necessary, so the link leads to the second one.
        place: toQueryPlace(second),
        evidence: { count: queries.length, time: timeOf(queries) },
      }
    })
  },
  measure: {
    unit: 'queries',
    // Failed queries count: a page whose queries fail is not fixed.
    read: (finding, profile) => findByStatement(finding, readQueries(profile).database.queries).length,
  },
}

/** Finds queries that were repeated with the same values. */
export const duplicateQueriesRule: FindingRule<Profile> = {
  name: 'duplicate-queries',
  title: 'Query repeated',
  find(profile) {
    return findRepeatedQueries(profile).duplicates.map(queries => {
      const [{ text }, second] = queries
      const often = `${queries.length} times with the same values, ${formatDuration(timeOf(queries))} in total`
      return {
        severity: 'warning',
        problem: `{statement} ran ${often}.`,
        ...describePlaces(
          queries,
          { statement: shortenStatement(text) },
          'Run it once and pass on the result, or cache it',
        ),
        place: toQueryPlace(second),
        evidence: { count: queries.length, time: timeOf(queries) },
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
  },
}

/** The queries with the statement of a finding. */
export function findByStatement({ values }: RuleFinding, queries: readonly StoredQuery[]): readonly StoredQuery[] {
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
