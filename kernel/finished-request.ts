import type { Request } from '../lib/http/request.ts'
import type { Response } from '../lib/http/response.ts'
import { traceContextOf } from './trace-context.ts'

/** A main request whose response was sent, whose client has left, or whose stream has failed. */
export class FinishedRequest {
  readonly request: Request
  readonly response: Response
  /** Whether the whole response was sent. */
  readonly isSent: boolean
  /** Milliseconds from the first event of the request until its response was sent. */
  readonly duration: number
  readonly #sentBytes: number | undefined

  /** `sentBytes` is the number of bytes of the response's stream that were sent. */
  constructor(request: Request, response: Response, isSent: boolean, sentBytes: number | undefined) {
    this.request = request
    this.response = response
    this.isSent = isSent
    this.duration = performance.now() - (request.startedAt ?? performance.now())
    this.#sentBytes = sentBytes
  }

  /** The name of the route; `undefined` if no route has matched. */
  get route(): string | undefined {
    return this.request.attributes.get('_route')
  }

  /** The id of the distributed trace that the request belongs to; `undefined` without tracing and without `traceparent`. */
  get traceId(): string | undefined {
    return traceContextOf(this.request)?.traceId
  }

  /** The declared bytes of the request's body, or those that were read; `undefined` if neither is known. */
  get bytesReceived(): number | undefined {
    const { request } = this
    if (!request.hasBody) return 0
    const length = request.headers.get('content-length')
    return length === null ? request.body.peek().bytes?.length : Number(length)
  }

  /** Bytes of the response's body that were sent. They are not counted if the client has left before the end of a text. */
  get bytesSent(): number {
    const { isSent, request, response } = this
    const { body } = response
    if (this.#sentBytes !== undefined) return this.#sentBytes
    const isText = typeof body === 'string' || body instanceof Uint8Array
    return isText && isSent && request.method !== 'HEAD' ? Buffer.byteLength(body) : 0
  }
}
