import type { Request } from '../../lib/http/request.ts'

/** The place of a request in a distributed trace (W3C Trace Context). Ids are lower-case hexadecimal digits. */
interface TraceContext {
  readonly traceId: string
  /** The span of the caller, if the request came with a trace context. */
  readonly parentId?: string | undefined
  /** The span of the request, if tracing is on. */
  readonly spanId?: string | undefined
}

const contextKey: unique symbol = Symbol('trace context')

interface Placed {
  [contextKey]?: TraceContext
}

/** Sets the trace context of a request, whose id becomes that of the trace. The code that makes its span calls it. */
export function setTraceContext(request: Request, context: TraceContext): void {
  const placed: Request & Placed = request
  placed[contextKey] = context
  request.provideId(context.traceId)
}

/**
 * The trace context of a request. Without tracing it is that of the header `traceparent`; `undefined` if the header is
 * missing or malformed. A sub-request without a span of its own has the trace context of its parent.
 */
export function traceContextOf(request: Request): TraceContext | undefined {
  const placed: Request & Placed = request
  if (placed[contextKey] !== undefined) return placed[contextKey]
  if (request.parent !== undefined) return traceContextOf(request.parent)
  return parseTraceParent(request.headers.get('traceparent') ?? '')
}

/** Parses the value of a header `traceparent`; `undefined` if it is malformed. */
export function parseTraceParent(value: string): TraceContext | undefined {
  const [, version, traceId = '', parentId, more] = traceParent.exec(value) ?? []
  // A later version may have more parts (W3C Trace Context, section 4).
  const isValid = version !== undefined && (version !== '00' || more === undefined)
  return isValid ? { traceId, parentId } : undefined
}

const traceParent = /^(?!ff)([\da-f]{2})-(?!0{32})([\da-f]{32})-(?!0{16})([\da-f]{16})-[\da-f]{2}(-.*)?$/
