import type { QueryStart } from '../../../../kernel/queries.ts'
import { maskQuotedValues } from '../../../../lib/redact/mask-credentials.ts'
import { cut } from '../../../../lib/redact/masking-copier.ts'
import type { Redactor } from '../../../../lib/redact/redactor.ts'
import type { PackedQueries, PackedQuery } from '../../profile/packed-queries.ts'
import { controlOperations, operationOf } from '../../profile/queries.ts'
import type { ProfileCollector } from '../collect.ts'
import { captureQuery, identityOf } from '../queries/captured-values.ts'
import { QueryDescriber } from '../queries/describe-query.ts'
import type { TracedQuery } from '../query-trace.ts'
import type { Trace } from '../trace.ts'

const errorLength = 500

/** The collector of the queries of databases and caches, which are stored packed. */
export interface QueriesCollector extends ProfileCollector {
  collect(trace: Trace): PackedQueries | undefined
}

/** Creates that collector. When a query is collected first, its raw values are dropped. */
export function createQueriesCollector(redactor: Redactor): QueriesCollector {
  const describer = new QueryDescriber(redactor)
  return {
    name: 'queries',
    collectsLate: true,
    collect({ queries: trace }) {
      if (trace === undefined) return undefined
      const { omitted, queries, statements, waits } = trace
      const twins = new TwinFinder()
      const describe = (report: QueryStart, index: number) => {
        const raw = report.source === 'span' ? captureQuery(report, redactor) : report
        return describer.describe(raw, () => twins.find(raw, index))
      }
      for (const query of queries) query.describe(describe, statements)
      return {
        statements: statements.all,
        queries: queries.map(pack),
        omitted,
        ...(waits.length > 0 && { waits }),
      }
    },
  }
}

/** Fields without a value are left out: a query without an end was still running. */
function pack(query: TracedQuery): PackedQuery {
  const { batch, code, end, error, parameters, rows, start, statement, text, transaction, twin } = query
  return {
    statement,
    parameters,
    twin,
    start,
    end,
    rows,
    // A thrown text is no object whose statement is known.
    error: error === undefined ? undefined : cut(maskQuotedValues(error, text), errorLength),
    code,
    batch,
    transaction,
  }
}

/** Finds the queries of one request that have the same statement and the same values. */
class TwinFinder {
  /** The indices of the first queries by their values, by their texts. */
  readonly #firsts = new Map<string, Map<string, number> | undefined>()

  /** Returns the index of the first query like this one; `undefined` if it is the first, or its values are not known. */
  find(raw: QueryStart, index: number): number | undefined {
    const { text } = raw
    // Every transaction has these, so that they repeat for a reason.
    if (!this.#firsts.has(text))
      this.#firsts.set(text, controlOperations.has(operationOf(text)) ? undefined : new Map())
    const ofText = this.#firsts.get(text)
    const identity = ofText && identityOf(raw)
    if (identity === undefined) return undefined
    const first = ofText?.get(identity)
    if (first === undefined) ofText?.set(identity, index)
    return first
  }
}
