import { formatCount, shorten, toOneLine } from '../../profile/format.ts'
import { groupBy } from '../../profile/group-by.ts'
import type { Profile } from '../../profile/profile.ts'
import { countQueries, readQueries, type StoredQuery } from '../../subjects/queries/read.ts'
import type { Examination, ProfileCheck } from '../profile-check.ts'
import { matches } from './answer.ts'
import { examineCount, toEnumeration } from './events.ts'

/** Describes queries, and how many of them are expected: by default at least one. */
export interface RanQueries {
  /** The exact number of these queries. */
  readonly count?: number
  /** The highest number of these queries. */
  readonly atMost?: number
  /** Queries of databases, or of caches. The default is `database`; with a `system`, both. */
  readonly kind?: 'database' | 'cache'
  /** Queries of this system: `postgresql`, `mysql`, `sqlite`, `redis`. */
  readonly system?: string
  /** A part of the statement, which has `?` for its literals, or a pattern for it. */
  readonly text?: string | RegExp
  /** With `true`, only queries that repeat an earlier one with the same statement and the same values. */
  readonly isRepeated?: boolean
}

/** Checks for queries of databases or caches. */
export function checkRan(wanted: RanQueries): ProfileCheck {
  const { atMost, count, system, text } = wanted
  const kind = wanted.kind ?? (system === undefined ? 'database' : undefined)
  const of = [...(system === undefined ? [] : [` of ${system}`]), ...(text === undefined ? [] : [` like ${text}`])]
  return {
    claim: `run ${describeAmount(wanted, kind)}${of.join('')}`,
    panel: kind ?? 'database',
    examine({ profile }) {
      const queries = readQueries(profile).queries.filter(query => kind === undefined || query.kind === kind)
      const actual = countMatching(queries, wanted, profile, kind)
      const found = queries.length === 0 ? 'it ran none' : `it ran ${actual}; in all ${listShapes(queries)}`
      return atMost === undefined
        ? examineCount({ wanted: count, actual, found })
        : examineMaximum({ atMost, actual, found })
    },
  }
}

type Kind = StoredQuery['kind'] | undefined

function describeAmount({ atMost, count, isRepeated }: RanQueries, kind: Kind): string {
  const adjectives = [isRepeated === true ? 'repeated ' : '', kind === undefined ? '' : `${kind} `].join('')
  const [one, many] = [`${adjectives}query`, `${adjectives}queries`]
  if (atMost !== undefined) return `at most ${formatCount(atMost, one, many)}`
  return count === undefined ? many : formatCount(count, one, many)
}

function countMatching(queries: readonly StoredQuery[], wanted: RanQueries, profile: Profile, kind: Kind): number {
  const { isRepeated, system, text } = wanted
  const matching = queries.filter(
    query =>
      (system === undefined || query.system === system) &&
      (text === undefined || matches(query.text, text)) &&
      (isRepeated !== true || query.twin !== undefined),
  )
  // Only the number of omitted queries is known, so they count only without a condition.
  const isAny = kind !== undefined && system === undefined && text === undefined && isRepeated !== true
  return isAny ? countQueries(kind, profile) : matching.length
}

function examineMaximum({ actual, atMost, found }: { actual: number; atMost: number; found: string }): Examination {
  return { holds: actual <= atMost, expected: `at most ${atMost}`, actual, found }
}

const statementLength = 200

function listShapes(queries: readonly StoredQuery[]): string {
  const shapes = [...groupBy(queries, ({ text }) => text)].map(
    ([text, { length }]) => `${length} × ${shorten(toOneLine(text), statementLength)}`,
  )
  return toEnumeration(shapes)
}
