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
export function createSpanQueries({
  context: requests,
  directory,
  queries,
}: Pick<Application, 'context' | 'directory' | 'queries'>): SpanProcessor {
  const callers = new Callers(directory)
  const ends = new WeakMap<ReadableSpan, QueryEnd>()
  const connections = new WeakMap<ReadableSpan, Connecting>()
  /** The pools that were asked for a connection, by the ids of their spans. */
  const asked = new Map<string, Connecting>()
  /** Whether the queries of an instrumentation are reported without their spans, by its name. */
  const reported = new Map<string, boolean>()
  /** Set while a pool passes a connection to the code that waited for it. */
  let connected: Connecting | undefined

  const isReported = ({ name }: ReadableSpan['instrumentationScope']) => {
    const known = reported.get(name) ?? (name === ownScope || hasOwnChannel(name))
    reported.set(name, known)
    return known
  }
  const connect = (span: Span, request: Request, system: string) => {
    const connecting = { request, caller: callers.find(), system, isOpening: false }
    connections.set(span, connecting)
    if (/\bpool[.-]connect$/.test(span.name)) asked.set(span.spanContext().spanId, connecting)
  }
  /** The default, which is `undefined`, is the place of the running code. */
  const chooseCaller = (request: Request): QueryStart['findCaller'] => {
    const current = connected
    if (current?.request === request) return () => current.caller
    return requests.current === request ? undefined : () => undefined
  }
  return {
    onStart(span, context) {
      const request = requestOf(context)
      const system = findAttribute(span, ...systemAttributes)
      if (request === undefined || typeof system !== 'string' || isReported(span.instrumentationScope)) return
      if (isConnection(span)) {
        const pool = asked.get(span.parentSpanContext?.spanId ?? '')
        if (pool !== undefined) pool.isOpening = true
        if (queries.isRecorded(request)) connect(span, request, system)
        return
      }
      const end = queries.begin(new SpanQuery(span, { system, request, findCaller: chooseCaller(request) }))
      if (end !== undefined) ends.set(span, end)
    },
    onEnd(span) {
      ends.get(span)?.({ rows: toCount(findAttribute(span, 'db.response.returned_rows')), error: findError(span) })
      const connecting = connections.get(span)
      if (connecting === undefined) return
      if (asked.delete(span.spanContext().spanId) && !connecting.isOpening) {
        const [seconds, nanoseconds] = span.duration
        queries.noteWait({ ...connecting, duration: seconds * 1e3 + nanoseconds / 1e6 })
      }
      // `pool.query` runs its query before the next microtask. Code that has asked for the connection runs later.
      connected = connecting
      queueMicrotask(() => {
        connected = undefined
      })
    },
    async forceFlush() {},
    async shutdown() {},
  }
}

/** A connection is no query. Its span has a name such as `pg-pool.connect` and no statement. */
function isConnection({ name }: Span): boolean {
  return /^[\w-]+[.-]connect$/.test(name)
}
