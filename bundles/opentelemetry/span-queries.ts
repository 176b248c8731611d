import type { Context } from '@opentelemetry/api'
import type { ReadableSpan, Span, SpanProcessor } from '@opentelemetry/sdk-trace-base'
import type { Application } from '../../kernel/bundle.ts'
import type { QueryEnd, QueryStart } from '../../kernel/contracts/queries.ts'
import { findAttribute, findError, SpanQuery, toCount } from '../../kernel/contracts/span-query.ts'
import type { Request } from '../../lib/http/request.ts'
import { systemAttributes } from '../../lib/sql/tokens.ts'
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
 * Reports the spans of database clients as queries of the request that made them. The request is that of
 * the span's context: a pool may run the query of one request while another request returns its connection.
 * For the same reason the stack is read only if the running code works for the request of the span.
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
    const end = this.#queries.begin(new SpanQuery(span, { system, request, findCaller: this.#chooseCaller(request) }))
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
