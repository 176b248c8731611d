import type { AttributeValue, Context } from '@opentelemetry/api'
import type { ReadableSpan, Span, SpanProcessor } from '@opentelemetry/sdk-trace-base'
import type { Application } from '../../kernel/bundle.ts'
import type { QueryEnd, QueryParameters, QueryStart } from '../../kernel/contracts/queries.ts'
import { withoutStack } from '../../lib/errors/http-error.ts'
import type { Request } from '../../lib/http/request.ts'
import { statementAttributes, systemAttributes } from '../../lib/sql/tokens.ts'
import { type Caller, Callers } from '../../lib/stack/callers.ts'
import { hasOwnChannel } from '../libraries/libraries.ts'
import { ownScope, requestOf } from './instrumentations.ts'

/** The place in the code of a request that waits for a connection, or has just received one. */
interface Connecting {
  readonly request: Request
  readonly caller: Caller | undefined
  readonly system: string
  /** Whether the pool opens another connection instead of waiting. */
  isOpening: boolean
}

/**
 * Reports the spans of database clients as queries of the request that made them. The request is that of the span's
 * context: a pool may run the query of one request while another request returns its connection. For the same reason the
 * stack is read only if the running code works for the request of the span.
 */
export class SpanQueries implements SpanProcessor {
  readonly #context: Application['context']
  readonly #queries: Application['queries']
  readonly #callers: Callers
  readonly #ends = new WeakMap<ReadableSpan, QueryEnd>()
  readonly #connecting = new WeakMap<ReadableSpan, Connecting>()
  /** The pools that were asked for a connection, by the ids of their spans. */
  readonly #asked = new Map<string, Connecting>()
  /** Whether a channel reports the queries of a library, by the name of its instrumentation. */
  readonly #hasChannel = new Map<string, boolean>()
  /** Set while a pool passes a connection to the code that waited for it. */
  #connected: Connecting | undefined

  constructor({ context, directory, queries }: Pick<Application, 'context' | 'directory' | 'queries'>) {
    this.#context = context
    this.#queries = queries
    this.#callers = new Callers(directory)
  }

  onStart(span: Span, context: Context): void {
    const request = requestOf(context)
    const system = findAttribute(span, ...systemAttributes)
    if (request === undefined || typeof system !== 'string' || this.#isReported(span.instrumentationScope)) return
    if (isConnection(span)) {
      const asked = this.#asked.get(span.parentSpanContext?.spanId ?? '')
      if (asked !== undefined) asked.isOpening = true
      if (this.#queries.isRecorded(request)) this.#connect(span, request, system)
      return
    }
    const end = this.#queries.begin(new SpanQuery(span, system, request, this.#chooseCaller(request)))
    if (end !== undefined) this.#ends.set(span, end)
  }

  onEnd(span: ReadableSpan): void {
    this.#ends.get(span)?.({ rows: toCount(findAttribute(span, 'db.response.returned_rows')), error: findError(span) })
    const connecting = this.#connecting.get(span)
    if (connecting === undefined) return
    if (this.#asked.delete(span.spanContext().spanId) && !connecting.isOpening) {
      const [seconds, nanoseconds] = span.duration
      this.#queries.noteWait({ ...connecting, duration: seconds * 1e3 + nanoseconds / 1e6 })
    }
    // `pool.query` runs its query before the next microtask. Code that has asked for the connection itself runs later.
    this.#connected = connecting
    queueMicrotask(() => {
      this.#connected = undefined
    })
  }

  #connect(span: Span, request: Request, system: string): void {
    const connecting = { request, caller: this.#callers.find(), system, isOpening: false }
    this.#connecting.set(span, connecting)
    if (/\bpool[.-]connect$/.test(span.name)) this.#asked.set(span.spanContext().spanId, connecting)
  }

  async forceFlush(): Promise<void> {}

  async shutdown(): Promise<void> {}

  /** Whether the queries of an instrumentation are reported without their spans. */
  #isReported({ name }: ReadableSpan['instrumentationScope']): boolean {
    const isReported = this.#hasChannel.get(name) ?? (name === ownScope || hasOwnChannel(name))
    this.#hasChannel.set(name, isReported)
    return isReported
  }

  /** The default, which is `undefined`, is the place of the running code. */
  #chooseCaller(request: Request): QueryStart['findCaller'] {
    const connected = this.#connected
    if (connected?.request === request) return () => connected.caller
    return this.#context.current === request ? undefined : () => undefined
  }
}

/** A connection is no query. Its span has a name such as `pg-pool.connect` and no statement. */
function isConnection({ name }: Span): boolean {
  return /^[\w-]+[.-]connect$/.test(name)
}

/** A query whose texts are read from its span when they are needed: instrumentations set them after the span has begun. */
class SpanQuery implements QueryStart {
  readonly system: string
  readonly request: Request
  readonly source = 'span'
  readonly findCaller: QueryStart['findCaller']
  readonly #span: ReadableSpan

  constructor(span: ReadableSpan, system: string, request: Request, findCaller: QueryStart['findCaller']) {
    this.#span = span
    this.system = system
    this.request = request
    this.findCaller = findCaller
  }

  get text(): string {
    const statement = findAttribute(this.#span, ...statementAttributes)
    if (typeof statement === 'string') return statement
    const operation = findAttribute(this.#span, 'db.operation.name', 'db.operation')
    const collection = findAttribute(this.#span, 'db.collection.name', 'db.mongodb.collection', 'db.sql.table')
    return operation === undefined ? this.#span.name : `${operation} ${collection ?? ''}`.trim()
  }

  get parameters(): QueryParameters | undefined {
    const { attributes } = this.#span
    const values = attributes['db.postgresql.values']
    if (Array.isArray(values)) return values
    const named = Object.entries(attributes).filter(([name]) => name.startsWith(parameterPrefix))
    if (named.length === 0) return undefined
    return Object.fromEntries(named.map(([name, value]) => [name.slice(parameterPrefix.length), value]))
  }

  get namespace(): string | undefined {
    return toText(findAttribute(this.#span, 'db.namespace', 'db.name', 'db.redis.database_index'))
  }

  /** The path of a socket has no port. */
  get server(): string | undefined {
    const address = toText(findAttribute(this.#span, 'server.address', 'net.peer.name', 'net.peer.ip'))
    const port = findAttribute(this.#span, 'server.port', 'net.peer.port')
    return address === undefined || port === undefined || address.startsWith('/') ? address : `${address}:${port}`
  }

  get batch(): number | undefined {
    return toCount(findAttribute(this.#span, 'db.operation.batch.size'))
  }
}

const parameterPrefix = 'db.query.parameter.'

/** The first of these attributes that a span has: newer and older names of OpenTelemetry's conventions. */
function findAttribute({ attributes }: ReadableSpan, ...names: readonly string[]): AttributeValue | undefined {
  const name = names.find(name => attributes[name] !== undefined)
  return name === undefined ? undefined : attributes[name]
}

function toText(value: AttributeValue | undefined): string | undefined {
  return value === undefined ? undefined : String(value)
}

function toCount(value: AttributeValue | undefined): number | undefined {
  return typeof value === 'number' ? value : undefined
}

const errorStatus = 2

/** The error of a failed span, with its code as far as the span has it; `undefined` for a span that has not failed. */
function findError(span: ReadableSpan): Error | undefined {
  const { events, status } = span
  if (status.code !== errorStatus) return undefined
  const exception = events.find(({ name }) => name === 'exception')?.attributes
  const reported = String(exception?.['exception.message'] ?? '')
  // The instrumentation of pg writes the SQLSTATE into this message only.
  const code = findAttribute(span, 'db.response.status_code') ?? /\(code: (\w{5})\)$/.exec(reported)?.[1]
  const error = withoutStack(() => new Error(status.message || reported || 'The query has failed.'))
  return code === undefined ? error : Object.assign(error, { code: String(code) })
}
