import type { Attributes } from '@opentelemetry/api'
import type { CallObserver, CallStart, CallWork } from '../../kernel/contracts/calls.ts'
import type { QueryEnd, QueryObserver, QueryStart } from '../../kernel/contracts/queries.ts'
import type { RequestContext } from '../../kernel/request-context.ts'
import { cut, maskAndCut } from '../../lib/redact/masking-copier.ts'
import type { Redactor } from '../../lib/redact/redactor.ts'
import { readStatement } from '../../lib/sql/statement.ts'
import { isCache, isDocumentStore } from '../../lib/sql/tokens.ts'
import { findInstrumentation } from '../libraries/libraries.ts'
import { errorType } from './attributes.ts'
import { isInstrumented } from './instrumentations.ts'
import type { Packages } from './load-packages.ts'
import type { ClientEnd, RequestSpans } from './request-spans.ts'

interface ClientSpanServices {
  readonly packages: Packages
  readonly spans: RequestSpans
  readonly context: Pick<RequestContext, 'current'>
  readonly redactor: Redactor
}

/**
 * Makes a span of each query that the application measures itself, or that its library reports by
 * a diagnostics channel. A library with an instrumentation has the spans of that.
 */
export function createQuerySpans({ context, redactor, spans }: ClientSpanServices): QueryObserver {
  function begin(query: QueryStart): QueryEnd | undefined {
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
  return { begin }
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

/**
 * Removes the values of a statement. Of a command for a cache only its name remains: its key may
 * be the id of a session.
 */
export function describeQuery(system: string, text: string, redactor: Redactor): QueryText {
  if (isDocumentStore(system)) {
    const [operation = '', collection = ''] = text.split(' ', 2)
    const summary = cut(`${operation} ${collection}`.trim(), 255)
    return { text: maskAndCut(text, textLimit, redactor), summary, operation }
  }
  const { shape, tables } = isCache(system)
    ? { shape: wordOf(text).toUpperCase(), tables: [] }
    : readStatement(text, system)
  const operation = wordOf(shape).toUpperCase()
  return {
    text: maskAndCut(shape, textLimit, redactor),
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

/** The most characters of a URL in an attribute. */
const urlLimit = 2048

/**
 * Makes a span of each HTTP client call, and sends its trace context to the server. The header
 * `traceparent` of the application is sent as it is. An instrumentation of the client does both.
 */
export function createCallSpans({ packages, redactor, spans }: ClientSpanServices): CallObserver {
  function begin(call: CallStart): CallWork | undefined {
    const { client, method } = call
    if (isInstrumented(findInstrumentation(client))) return undefined
    const end = spans.beginClient(
      () => {
        const { url } = call
        const { hostname, port, protocol } = new URL(url)
        const attributes = {
          'http.request.method': method,
          'url.full': maskAndCut(url, urlLimit, redactor),
          'server.address': hostname,
          'server.port': Number(port || (protocol === 'https:' ? 443 : 80)),
        }
        return { name: method, attributes }
      },
      {
        started(context) {
          const headers: [name: string, value: string][] = []
          packages.propagation.inject(context, headers, { set: (list, name, value) => void list.push([name, value]) })
          call.addHeaders?.(headers)
        },
      },
    )
    return end && endSpan(end)
  }
  return { begin }
}

/** Ends the span of a call, once. */
function endSpan(end: ClientEnd): CallWork {
  let status: number | undefined
  let isEnded = false
  const close = (failure: string | undefined) => {
    if (!isEnded) end(status === undefined ? {} : { 'http.response.status_code': status }, failure)
    isEnded = true
  }
  return {
    noteReceived(received) {
      status = received
    },
    finish: () => close(status !== undefined && status >= 400 ? String(status) : undefined),
    fail: error => close(errorType(error)),
  }
}
