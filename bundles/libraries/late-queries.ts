import type { Queries } from '../../kernel/contracts/queries.ts'
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

/**
 * Reports the spans of databases as queries when they end: the library below an ORM may have
 * reported the same query by itself, which is known only then.
 */
export class LateQueries {
  readonly #services: LateQueryServices
  /** The queries that were reported by themselves, by their request and their system. */
  readonly #counts = new WeakMap<Request, Map<string, number>>()
  #isCounting = false

  constructor(services: LateQueryServices) {
    this.#services = services
  }

  /** The returned function is called at the end of the span; `undefined` if it is none of a query. */
  begin(span: DatabaseSpan): (() => void) | undefined {
    const { callers, context, queries } = this.#services
    const request = context.current
    const system = readText(findAttribute(span, ...systemAttributes))
    if (request === undefined || system === undefined) return undefined
    this.#count()
    const caller = callers.find()
    const start = readClock()
    const before = this.#counts.get(request)?.get(system)
    return () => {
      const elapsed = readClock() - start
      if (this.#counts.get(request)?.get(system) !== before) return
      const query = new SpanQuery(span, { system, request, findCaller: () => caller }, elapsed)
      const rows = toCount(findAttribute(span, 'db.response.returned_rows'))
      queries.begin(query)?.({ rows, error: findError(span) })
    }
  }

  /** Without a span of a database, queries are not counted. */
  #count(): void {
    if (this.#isCounting) return
    this.#isCounting = true
    const { context, queries } = this.#services
    queries.observe({
      begin: ({ request = context.current, source, system }) => {
        if (request === undefined || source === 'span') return undefined
        const counts = this.#counts.get(request) ?? new Map<string, number>()
        counts.set(system, (counts.get(system) ?? 0) + 1)
        this.#counts.set(request, counts)
        return undefined
      },
    })
  }
}
