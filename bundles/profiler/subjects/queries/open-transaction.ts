import type { FindingRule } from '../../../../kernel/contracts/collectors.ts'
import { describePlaces } from '../../insight/findings/finding.ts'
import { formatCount } from '../../profile/format.ts'
import { groupBy } from '../../profile/group-by.ts'
import type { Profile } from '../../profile/profile.ts'
import { beginsTransaction, chainsTransaction, endsTransaction, readQueries, type StoredQuery } from './read.ts'
import { shortenStatement, toQueryPlace } from './rules.ts'

/**
 * Answers of databases (SQLSTATE, and codes of mysql2 and SQLite) after which a transaction is
 * still open. A lost connection and a deadlock in MySQL end it.
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
    return [...transactions.values()].flatMap(all => {
      const [begin, ...queries] = all.slice(Math.max(0, all.findLastIndex(chainsTransaction)))
      if (begin === undefined || !isOpened(begin) || queries.some(endsTransaction) || isEnded(queries.at(-1))) return []
      return [
        {
          severity: 'error',
          problem: `A transaction was left open: after {statement} and ${formatCount(queries.length, 'query', 'queries')}, neither COMMIT nor ROLLBACK followed.`,
          ...describePlaces(
            [begin],
            { statement: shortenStatement(begin.text) },
            'End it in a finally block: until its connection is closed, its locks last, and another request may get the connection',
          ),
          place: toQueryPlace(begin),
          evidence: { count: queries.length + 1 },
        },
      ]
    })
  },
}

function isOpened(query: StoredQuery): boolean {
  return (beginsTransaction(query) || chainsTransaction(query)) && query.end !== undefined && query.error === ''
}

/** Whether the last query of a transaction failed with its connection: the server then rolls back. */
function isEnded({ code = '', error = '' }: Partial<StoredQuery> = {}): boolean {
  return error !== '' && !answers.test(code)
}
