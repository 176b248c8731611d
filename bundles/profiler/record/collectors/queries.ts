import type { QueryStart } from '../../../../kernel/queries.ts'
import { maskQueryError } from '../../../../lib/redact/mask-query-error.ts'
import type { Redactor } from '../../../../lib/redact/redactor.ts'
import { controlOperations, operationOf } from '../../profile/queries.ts'
import type { QueryData } from '../../profile/query-data.ts'
import type { CollectorOf } from '../collect.ts'
import { captureQuery, identityOf } from '../queries/captured-values.ts'
import { QueryDescriber } from '../queries/describe-query.ts'
import type { TracedQuery } from '../query-trace.ts'

const errorLength = 500

/** Collects the queries of databases and caches. When a query is collected first, its raw values are dropped. */
export function createQueriesCollector(redactor: Redactor): CollectorOf<'queries'> {
  const describer = new QueryDescriber(redactor)
  return {
    name: 'queries',
    collectsLate: true,
    collect({ queries: trace }) {
      if (trace === undefined) return undefined
      const findTwin = createTwinFinder()
      for (const query of trace.queries) {
        query.describe(report => {
          const raw = report.source === 'span' ? captureQuery(report, redactor) : report
          return describer.describe(raw, () => findTwin(raw, query.index))
        })
      }
      return { queries: trace.queries.map(query => toData(query, redactor)), omitted: trace.omitted }
    },
  }
}

/** Creates a function that returns the index of the first query with the same statement and the same values. */
function createTwinFinder(): (raw: QueryStart, index: number) => number | undefined {
  /** The indices of the first queries by their values, by their texts. */
  const firsts = new Map<string, Map<string, number> | undefined>()
  return (raw, index) => {
    const { text } = raw
    // Every transaction has these, so that they repeat for a reason.
    if (!firsts.has(text)) firsts.set(text, controlOperations.has(operationOf(text)) ? undefined : new Map())
    const ofText = firsts.get(text)
    const identity = ofText && identityOf(raw)
    if (identity === undefined) return undefined
    const first = ofText?.get(identity)
    if (first === undefined) ofText?.set(identity, index)
    return first
  }
}

/** Fields without a value are left out: a query without an end was still running. */
function toData(query: TracedQuery, redactor: Redactor): QueryData {
  const { batch, caller, code, described, end, error, rows, source, start, system, transaction } = query
  const { namespace, parameters, server, text, twin } = described
  return {
    system,
    namespace,
    server,
    text,
    parameters,
    twin,
    start,
    end,
    rows,
    error: error === undefined ? undefined : maskQueryError(error, text, redactor).slice(0, errorLength),
    code,
    caller,
    source,
    batch,
    transaction,
  }
}
