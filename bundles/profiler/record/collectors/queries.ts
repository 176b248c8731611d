import type { QueryParameters } from '../../../../kernel/queries.ts'
import type { Redactor } from '../../../../lib/redact/redactor.ts'
import type { QueryData } from '../../profile/query-data.ts'
import type { Pairs } from '../../profile/schema.ts'
import type { CollectorOf } from '../collect.ts'
import type { DescribedQuery, TracedQuery } from '../query-trace.ts'

const errorLength = 500
const textLength = 10_000

/** Collects the queries of databases and caches. */
export function createQueriesCollector(redactor: Redactor): CollectorOf<'queries'> {
  return {
    name: 'queries',
    collectsLate: true,
    collect({ queries }) {
      if (queries === undefined) return undefined
      return { queries: queries.queries.map(query => toData(query, redactor)), omitted: queries.omitted }
    },
  }
}

/** Fields without a value are left out: a query without an end was still running. */
function toData(query: TracedQuery, redactor: Redactor): QueryData {
  const { batch, caller, code, end, error, rows, source, start, system, transaction } = query
  const described = describe(query, redactor)
  return {
    system,
    ...described,
    start,
    end,
    rows,
    error: error === undefined ? undefined : redactor.text(error).slice(0, errorLength),
    code,
    caller,
    source,
    batch,
    transaction,
  }
}

function describe(query: TracedQuery, redactor: Redactor): DescribedQuery {
  const { raw } = query
  if (raw !== undefined) {
    const { namespace, parameters, server, text } = raw
    query.described = {
      namespace: namespace === undefined ? undefined : redactor.text(namespace),
      server: server === undefined ? undefined : redactor.text(server),
      text: redactor.text(text).slice(0, textLength),
      parameters: toPairs(parameters),
    }
    query.raw = undefined
  }
  return query.described ?? { text: '' }
}

function toPairs(parameters: QueryParameters | undefined): Pairs | undefined {
  if (parameters === undefined) return undefined
  return Object.entries(parameters).map(([name, value]) => [name, typeof value])
}
