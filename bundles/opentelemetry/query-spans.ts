import type { Attributes } from '@opentelemetry/api'
import type { QueryEnd, QueryLibrary, QueryObserver, QueryStart } from '../../kernel/queries.ts'
import type { RequestContext } from '../../kernel/request-context.ts'
import type { Redactor } from '../../lib/redact/redactor.ts'
import { errorType } from './attributes.ts'
import { describeQuery, queryAttributes } from './query-attributes.ts'
import { isInstrumented } from './registration.ts'
import type { RequestSpans } from './request-spans.ts'

/** The instrumentations that make spans of the same queries. */
const instrumentationsOf: Readonly<Record<QueryLibrary, string>> = {
  mysql2: 'mysql2',
  ioredis: 'ioredis',
  'node-redis': 'redis',
  'node:sqlite': 'sqlite',
}

/** The services of {@link QuerySpans}. */
export interface QuerySpanServices {
  readonly spans: RequestSpans
  readonly context: Pick<RequestContext, 'current'>
  readonly redactor: Redactor
}

/**
 * Makes a span of each query that the application measures itself, or that its library reports by a diagnostics channel. A
 * library with an instrumentation has the spans of that.
 */
export class QuerySpans implements QueryObserver {
  readonly #services: QuerySpanServices

  constructor(services: QuerySpanServices) {
    this.#services = services
  }

  begin(query: QueryStart): QueryEnd | undefined {
    const { context, redactor, spans } = this.#services
    const { batch, elapsed = 0, library, namespace, server, source, system, text } = query
    if (source === 'span' || (library !== undefined && isInstrumented(instrumentationsOf[library]))) return undefined
    const request = query.request ?? context.current
    // A pool may run it within the work for another request.
    if (source === 'channel' && request === undefined) return undefined
    const end = spans.beginClient(
      () => {
        const query = describeQuery(system, text, redactor)
        const attributes = {
          ...queryAttributes(system, query),
          ...(namespace !== undefined && { 'db.namespace': namespace }),
          ...(server !== undefined && splitServer(redactor.text(server))),
          ...(batch !== undefined && batch > 1 && { 'db.operation.batch.size': batch }),
        }
        return { name: query.summary, attributes }
      },
      { request, elapsed },
    )
    return (
      end &&
      (({ error, rows }) =>
        end(
          rows === undefined ? {} : { 'db.response.returned_rows': rows },
          error === undefined ? undefined : errorType(error),
        ))
    )
  }
}

/** `host:port`, or a path. */
function splitServer(server: string): Attributes {
  const [, host, port] = /^([^/]+):(\d+)$/.exec(server) ?? []
  return host === undefined ? { 'server.address': server } : { 'server.address': host, 'server.port': Number(port) }
}
