import type { Attributes } from '@opentelemetry/api'
import type { QueryEnd, QueryObserver, QueryStart } from '../../kernel/queries.ts'
import type { Redactor } from '../../lib/redact/redactor.ts'
import { describeQuery, queryAttributes } from './query-attributes.ts'
import type { RequestSpans } from './request-spans.ts'

/**
 * Makes a span of each query that the application measures itself. Other queries have the span of an instrumentation, if
 * they have one.
 */
export class MeasuredQueries implements QueryObserver {
  readonly #spans: RequestSpans
  readonly #redactor: Redactor

  constructor(spans: RequestSpans, redactor: Redactor) {
    this.#spans = spans
    this.#redactor = redactor
  }

  begin({ namespace, server, source, system, text }: QueryStart): QueryEnd | undefined {
    if (source !== 'measure') return undefined
    return this.#spans.beginClient(() => {
      const query = describeQuery(system, text, this.#redactor)
      const attributes = {
        ...queryAttributes(system, query),
        ...(namespace !== undefined && { 'db.namespace': namespace }),
        ...(server !== undefined && splitServer(this.#redactor.text(server))),
      }
      return { name: query.summary, attributes }
    })
  }
}

/** `host:port`, or a path. */
function splitServer(server: string): Attributes {
  const [, host, port] = /^([^/]+):(\d+)$/.exec(server) ?? []
  return host === undefined ? { 'server.address': server } : { 'server.address': host, 'server.port': Number(port) }
}
