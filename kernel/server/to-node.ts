import { AsyncResource } from 'node:async_hooks'
import type { Socket } from 'node:net'
import { finished, Readable } from 'node:stream'
import { HTTP_STREAM_USED } from '../../lib/http/errors.ts'
import { isEventStream } from '../../lib/http/event-stream.ts'
import type { Headers } from '../../lib/http/headers.ts'
import { discard, isBodiless, type Response } from '../../lib/http/response.ts'
import { SERVER_STREAM_INVALID } from './errors.ts'
import { FastResponse } from './messages.ts'

/** The parts of node's response that sending uses. */
export interface ReplyTarget {
  readonly req: { readonly method?: string | undefined }
  readonly destroyed: boolean
  readonly headersSent: boolean
  /** Whether the connection is kept for further requests; absent where there is no connection. */
  shouldKeepAlive?: boolean
  readonly writableLength: number
  writeHead(status: number, fields: string[]): unknown
  flushHeaders(): void
  write(chunk: string | Uint8Array): boolean
  end(content?: string | Uint8Array, encoding?: BufferEncoding): unknown
  destroy(): unknown
  on(event: 'close' | 'drain', listener: () => void): unknown
  on(event: 'timeout', listener: (socket: Socket) => void): unknown
}

/**
 * Sends a response. Returns before a stream has ended, and maybe before its head is sent, with the progress of the
 * stream. @throws HTTP_STREAM_USED
 */
export function toNode(
  response: Response,
  target: ReplyTarget,
  onFailure: OnStreamFailure,
): StreamProgress | undefined {
  const { body, headers } = response
  // Only the server chooses it: beside a Content-Length, a proxy may find another end of the response.
  headers.delete('transfer-encoding')
  const length = setContentLength(response)
  if (body instanceof Readable) {
    if (body.destroyed) throw new HTTP_STREAM_USED([])
    if (target.req.method !== 'HEAD') {
      return sendStream(body, response, target, onFailure)
    }
  }
  // A text of ASCII characters is the same in Latin-1, which Node writes faster than UTF-8.
  const isAscii = typeof body === 'string' && length === body.length
  if (isAscii && target instanceof FastResponse && target.sendText(response.status, headers.toRaw(), body))
    return undefined
  writeHead(target, response)
  if (body instanceof Readable) {
    discard(body)
    target.end()
  }
  // Node itself drops the body of a response to HEAD.
  else target.end(body ?? undefined, isAscii ? 'latin1' : 'utf8')
  return undefined
}

/** How much of a stream was sent. */
export interface StreamProgress {
  /** Bytes of the body that were passed to the connection. */
  bytes: number
}

/**
 * Sets and returns the Content-Length of texts and bytes; no other code sets it. The application
 * sets that of a stream, if it is known. HEAD gets the headers of GET. A status without a body has
 * no length, but 205 has the length 0 (RFC 9110, sections 8.6 and 15.3.6).
 */
export function setContentLength({ body, headers, status }: Response): number | undefined {
  if ((isBodiless(status) && status !== 205) || body instanceof Readable) return undefined
  const length = body === null ? 0 : Buffer.byteLength(body)
  headers.set('content-length', String(length))
  return length
}

/** Writes the status and the headers of a response; they are sent with its first bytes. */
function writeHead(target: ReplyTarget, { headers, status }: Response): void {
  agreeOnEnd(target, headers)
  // Node takes the flat list of names and values as it is.
  target.writeHead(status, headers.toRaw() as string[])
}

/**
 * A `Connection` field with `close` ends the connection. Node keeps that of a response whose field
 * is another, such as the field of a 426.
 */
function agreeOnEnd(target: ReplyTarget, headers: Headers): void {
  const connection = headers.get('connection')
  if (connection === null) return
  if (/\bclose\b/i.test(connection)) target.shouldKeepAlive = false
  else if (target.shouldKeepAlive === false) headers.set('connection', `${connection}, close`)
}

/**
 * Called once when a stream cannot be sent to its end. Before the head was sent, another response can take its place.
 */
type OnStreamFailure = (error: unknown) => void

/** Milliseconds of silence after which the system probes whether the client still exists. */
const probeDelay = 60_000

/** Milliseconds that the head waits for the first chunk: until then, a stream that fails can become an error page. */
const headDelay = 100

/**
 * Sends a stream while it is read. The head is sent with the first chunk, or after a short delay. For server-sent
 * events it is sent at once, because `EventSource` waits for it. A stream that does not have its Content-Length fails:
 * a client would read the surplus as the next response, and wait for missing bytes (RFC 9112, section 6.3). All code
 * that reads the stream runs in the caller's async context.
 */
function sendStream(
  body: Readable,
  response: Response,
  target: ReplyTarget,
  onFailure: OnStreamFailure,
): StreamProgress {
  const progress: StreamProgress = { bytes: 0 }
  const { headers } = response
  /** Returns `false` if Node refuses the head, such as a Trailer field beside a Content-Length. */
  const sendHead = (): boolean => {
    if (target.headersSent) return true
    clearTimeout(timer)
    try {
      writeHead(target, response)
    } catch (error) {
      fail(error)
      return false
    }
    return true
  }
  const sendHeadAlone = () => {
    if (sendHead()) target.flushHeaders()
  }
  const timer = setTimeout(sendHeadAlone, isEventStream(headers) ? 0 : headDelay)
  target.on('close', () => {
    clearTimeout(timer)
    discard(body)
  })
  const length = headers.get('content-length')
  let left = length === null ? undefined : Number(length)
  let hasFailed = false
  // Streams and sockets emit in contexts of their own.
  const fail = AsyncResource.bind((error: unknown) => {
    hasFailed = true
    clearTimeout(timer)
    discard(body)
    onFailure(error)
  })
  if (length !== null && !/^\d+$/.test(length)) {
    fail(new SERVER_STREAM_INVALID([`its Content-Length is "${length}"`]))
    return progress
  }
  // Not `pipe`: for a chunk that is neither text nor bytes, it throws where no caller can catch the error.
  body.on('data', (chunk: unknown) => {
    if (target.destroyed || hasFailed) return
    if (typeof chunk !== 'string' && !(chunk instanceof Uint8Array)) {
      fail(new SERVER_STREAM_INVALID(['a chunk of it is neither text nor bytes']))
      return
    }
    const bytes = Buffer.byteLength(chunk)
    if (left !== undefined) left -= bytes
    if (left !== undefined && left < 0) {
      fail(new SERVER_STREAM_INVALID([`it is longer than its Content-Length of ${length}`]))
      return
    }
    if (!sendHead()) return
    progress.bytes += bytes
    if (!target.write(chunk)) body.pause()
  })
  target.on(
    'drain',
    AsyncResource.bind(() => body.resume()),
  )
  target.on('timeout', (socket: Socket) => {
    if (target.writableLength > 0) target.destroy()
    // The client has read all that was written. The application may pause for any time.
    else socket.setKeepAlive(true, probeDelay)
  })
  finished(body, { writable: false }, error => {
    if (target.destroyed || hasFailed) return
    if (error) fail(error)
    else if (left !== undefined && left > 0) {
      fail(new SERVER_STREAM_INVALID([`it is ${left} bytes shorter than its Content-Length of ${length}`]))
    } else if (sendHead()) target.end()
  })
  return progress
}
