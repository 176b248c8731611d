import type { Attributes } from '@opentelemetry/api'
import type { QueryEnd, QueryLibrary, QueryObserver, QueryStart } from '../../kernel/queries.ts'
import type { RequestContext } from '../../kernel/request-context.ts'
import { cut } from '../../lib/redact/masking-copier.ts'
import type { Redactor } from '../../lib/redact/redactor.ts'
import { readStatement } from '../../lib/sql/statement.ts'
import { isCache } from '../../lib/sql/tokens.ts'
import { errorType } from './attributes.ts'
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
interface QuerySpanServices {
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

/** A statement without its values, and the name of its span. */
interface QueryText {
  readonly text: string
  /** `SELECT users`: few for each application. */
  readonly summary: string
  /** The operation in capitals, such as `SELECT`. */
  readonly operation: string
}

/** The most characters of a statement in an attribute. */
const textLimit = 4096

/** Removes the values of a statement. Of a command for a cache only its name remains: its key may be the id of a session. */
export function describeQuery(system: string, text: string, redactor: Redactor): QueryText {
  const { shape, tables } = isCache(system)
    ? { shape: wordOf(text).toUpperCase(), tables: [] }
    : readStatement(text, system)
  const operation = wordOf(shape).toUpperCase()
  return {
    text: cut(redactor.text(shape), textLimit),
    summary: cut([operation || system, ...tables.slice(0, 3)].join(' '), 255),
    operation,
  }
}

function wordOf(text: string): string {
  return /^\s*([a-z]+)/i.exec(text)?.[1] ?? ''
}

/** The attributes of a query by OpenTelemetry's conventions for clients of databases. */
function queryAttributes(system: string, { operation, summary, text }: QueryText): Attributes {
  return {
    'db.system.name': system,
    'db.query.text': text,
    'db.query.summary': summary,
    ...(operation !== '' && { 'db.operation.name': operation }),
  }
}
