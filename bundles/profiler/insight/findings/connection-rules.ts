import type { FindingRule } from '../../../../kernel/profiler-contract.ts'
import { readWaits } from '../../profile/connection-waits.ts'
import { formatCount, formatDuration } from '../../profile/format.ts'
import { groupBy } from '../../profile/group-by.ts'
import type { Profile } from '../../profile/profile.ts'
import { readQueries, type StoredQuery } from '../../profile/queries.ts'
import { beginsTransaction, endsTransaction } from '../../profile/transactions.ts'
import { describePlaces } from './describe-places.ts'
import { leastWaiting, shortenStatement, toQueryPlace } from './repeated-queries.ts'

/**
 * Answers of databases (SQLSTATE, and codes of mysql2 and SQLite) after which a transaction is still open. A lost connection and
 * a deadlock in MySQL end it.
 */
const answers = /^(?!08|57P|ER_LOCK_DEADLOCK)(?:(?=.*\d)[\dA-Z]{5}|(?:ER|SQLITE)_\w+)$/

/**
 * Finds transactions without COMMIT and ROLLBACK. Of two transactions that are open at the same time it is not known
 * which query belongs to which: they are not examined. A late query may be followed by the COMMIT.
 */
export const openTransactionRule: FindingRule<Profile> = {
  name: 'open-transaction',
  title: 'Transaction left open',
  find(profile) {
    const { database, omitted } = readQueries(profile)
    const since = profile.collectors.late?.since ?? Infinity
    const hasLate = database.queries.some(({ end = Infinity }) => end > since)
    // An omitted query may be the COMMIT.
    if (omitted > 0 || hasLate || profile.summary.outcome !== 'complete') return []
    const transactions = groupBy(database.queries, ({ transaction }) => transaction)
    transactions.delete(undefined)
    return [...transactions.values()].flatMap(([begin, ...queries]) => {
      if (begin === undefined || !isOpened(begin) || queries.some(endsTransaction) || isEnded(queries.at(-1))) return []
      return [
        {
          severity: 'error',
          problem: `A transaction was left open: after {statement} and ${formatCount(queries.length, 'query', 'queries')}, neither COMMIT nor ROLLBACK followed.`,
          ...describePlaces(
            [begin],
            { statement: shortenStatement(begin.text) },
            'End it in a finally block: its locks last, and its connection may be used by another request',
          ),
          place: toQueryPlace(begin),
          evidence: { count: queries.length + 1 },
        },
      ]
    })
  },
}

function isOpened(query: StoredQuery): boolean {
  return beginsTransaction(query) && query.end !== undefined && query.error === ''
}

/** Whether the last query of a transaction failed with its connection: the server then rolls back. */
function isEnded({ code = '', error = '' }: Partial<StoredQuery> = {}): boolean {
  return error !== '' && !answers.test(code)
}

/** Finds requests that have waited for a free connection, because all connections of the pool were in use. */
export const starvedPoolRule: FindingRule<Profile> = {
  name: 'starved-pool',
  title: 'No free connection',
  find(profile) {
    const { time, waits } = readWaits(profile)
    if (time < leastWaiting) return []
    const longest = Math.max(...waits.map(({ duration }) => duration))
    return [
      {
        severity: 'warning',
        problem: `The request waited ${formatDuration(time)} for free connections of a pool (${formatCount(waits.length, 'time')}, at most ${formatDuration(longest)}).`,
        ...describePlaces(
          waits,
          {},
          'Release connections earlier, run fewer queries at the same time, or make the pool larger',
        ),
        place: { panel: 'database' },
        evidence: { count: waits.length, time },
      },
    ]
  },
  measure: { unit: 'ms', read: (_, profile) => readWaits(profile).time },
}
