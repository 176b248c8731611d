import type { Attributes } from '@opentelemetry/api'
import type { QueryEnd, QueryObserver, QueryStart } from '../../kernel/contracts/queries.ts'
import type { RequestContext } from '../../kernel/request-context.ts'
import { listenTo, subscribeChannels } from '../../lib/guard.ts'
import { cut } from '../../lib/redact/masking-copier.ts'
import type { Redactor } from '../../lib/redact/redactor.ts'
import { readStatement } from '../../lib/sql/statement.ts'
import { isCache, isDocumentStore } from '../../lib/sql/tokens.ts'
import { findInstrumentation } from '../libraries/libraries.ts'
import { errorType } from './attributes.ts'
import { isInstrumented } from './instrumentations.ts'
import type { Packages } from './load-packages.ts'
import type { ClientEnd, RequestSpans } from './request-spans.ts'

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
    if (source === 'span' || (library !== undefined && isInstrumented(findInstrumentation(library)))) return undefined
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
  if (isDocumentStore(system)) {
    const [operation = '', collection = ''] = text.split(' ', 2)
    const summary = cut(`${operation} ${collection}`.trim(), 255)
    return { text: cut(redactor.text(text), textLimit), summary, operation }
  }
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

/** The part of a message of undici that is read; undici is the client behind the global fetch. */
interface FetchMessage {
  readonly request: {
    readonly method: string
    readonly origin: string | URL
    readonly path: string
    /** Names and values in turn; lines in version 5. */
    readonly headers: readonly (string | readonly string[])[] | string
    addHeader(name: string, value: string): unknown
  }
  readonly response: { readonly statusCode: number }
  readonly error: unknown
}

/** A call of `fetch` that has not ended. */
interface FetchCall {
  readonly end: ClientEnd
  status?: number
}

/** The services of {@link traceFetch}. */
interface FetchServices {
  readonly packages: Packages
  readonly spans: RequestSpans
  readonly redactor: Redactor
}

/** The most characters of a URL in an attribute. */
const urlLimit = 2048

/**
 * Makes a span of each call of the global fetch, and of undici, and sends its trace context to the server, until the
 * returned function is called. The header `traceparent` of the application is sent as it is. With the instrumentation of undici, that does both.
 */
export function traceFetch({ packages, redactor, spans }: FetchServices): () => void {
  if (isInstrumented('undici')) return () => {}
  const calls = new WeakMap<object, FetchCall>()
  const finish = ({ error, request }: FetchMessage) => {
    const { end, status } = calls.get(request) ?? {}
    const failure = status !== undefined && status >= 400 ? String(status) : undefined
    end?.(
      status === undefined ? {} : { 'http.response.status_code': status },
      error === undefined ? failure : errorType(error),
    )
    calls.delete(request)
  }
  return subscribeChannels({
    'undici:request:create': listenTo<FetchMessage>(({ request }) => {
      const { method, origin, path } = request
      const end = spans.beginClient(
        () => {
          const { hostname, port, protocol } = new URL(origin)
          const attributes = {
            'http.request.method': method,
            'url.full': cut(redactor.text(`${origin}${path}`), urlLimit),
            'server.address': hostname,
            'server.port': Number(port || (protocol === 'https:' ? 443 : 80)),
          }
          return { name: method, attributes }
        },
        {
          started(context) {
            if (hasTraceparent(request)) return
            packages.propagation.inject(context, request, {
              set: (request, name, value) => request.addHeader(name, value),
            })
          },
        },
      )
      if (end !== undefined) calls.set(request, { end })
    }),
    'undici:request:headers': listenTo<FetchMessage>(({ request, response }) => {
      const call = calls.get(request)
      if (call !== undefined) call.status = response.statusCode
    }),
    'undici:request:trailers': listenTo<FetchMessage>(finish),
    'undici:request:error': listenTo<FetchMessage>(finish),
  })
}

/** A server refuses two of them. */
function hasTraceparent({ headers }: FetchMessage['request']): boolean {
  if (typeof headers === 'string') return /^traceparent:/im.test(headers)
  return headers.some((text, index) => index % 2 === 0 && String(text).toLowerCase() === 'traceparent')
}
