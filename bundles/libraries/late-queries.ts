import type { Queries, QueryStart } from '../../kernel/contracts/queries.ts'
import {
  type DatabaseSpan,
  findAttribute,
  findError,
  readText,
  SpanQuery,
  toCount,
} from '../../kernel/contracts/span-query.ts'
import type { RequestContext } from '../../kernel/request-context.ts'
import type { Request } from '../../lib/http/request.ts'
import { readClock } from '../../lib/own-globals.ts'
import { systemAttributes } from '../../lib/sql/tokens.ts'
import type { Callers } from '../../lib/stack/callers.ts'

interface LateQueryServices {
  readonly context: Pick<RequestContext, 'current'>
  readonly queries: Pick<Queries, 'begin' | 'observe'>
  readonly callers: Pick<Callers, 'find'>
}

/** Begins the report of a span. The returned function is called at its end; `undefined` if it is none of a query. */
export type BeginSpanQuery = (span: DatabaseSpan) => (() => void) | undefined

/**
 * Reports the spans of databases as queries when they end: the library below an ORM may have
 * reported the same query by itself, which is known only then.
 */
export function createLateQueries({ callers, context, queries }: LateQueryServices): BeginSpanQuery {
  /** The queries that were reported by themselves, by their request and their system. */
  const counts = new WeakMap<Request, Map<string, number>>()
  const count = ({ request = context.current, source, system }: QueryStart) => {
    if (request === undefined || source === 'span') return undefined
    const own = counts.get(request) ?? new Map<string, number>()
    own.set(system, (own.get(system) ?? 0) + 1)
    counts.set(request, own)
    return undefined
  }
  let isCounting = false
  return span => {
    const request = context.current
    const system = readText(findAttribute(span, ...systemAttributes))
    if (request === undefined || system === undefined) return undefined
    // Without a span of a database, queries are not counted.
    if (!isCounting) queries.observe({ begin: count })
    isCounting = true
    const caller = callers.find()
    const start = readClock()
    const before = counts.get(request)?.get(system)
    return () => {
      const elapsed = readClock() - start
      if (counts.get(request)?.get(system) !== before) return
      const query = new SpanQuery(span, { system, request, findCaller: () => caller }, elapsed)
      const rows = toCount(findAttribute(span, 'db.response.returned_rows'))
      queries.begin(query)?.({ rows, error: findError(span) })
    }
  }
}
