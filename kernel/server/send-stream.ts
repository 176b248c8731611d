import { AsyncResource } from 'node:async_hooks'
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { finished, type Readable } from 'node:stream'
import { discard } from '../../lib/http/discard.ts'
import type { Headers } from '../../lib/http/headers.ts'
import type { Response } from '../../lib/http/response.ts'
import { SERVER_STREAM_INVALID } from './errors.ts'

/** Called once when a stream cannot be sent to its end. Before the head was sent, another response can take its place. */
export type OnStreamFailure = (error: unknown) => void

/** Milliseconds after which the system asks whether a client is still there that has nothing to say. */
const probeDelay = 60_000

/** Milliseconds that the head waits for the first chunk: until then, a stream that fails can become an error page. */
const headDelay = 100

/**
 * Sends a stream while it is read. The head goes with the first chunk, or after a short delay: at once for server-sent
 * events, whose readers wait for the head alone. What is longer than its Content-Length would be read as the next response,
 * what is shorter waited for (RFC 9112, section 6.3). Everything that reads the stream runs in the caller's async context.
 */
export function sendStream(
  body: Readable,
  response: Response,
  target: ServerResponse,
  onFailure: OnStreamFailure,
): void {
  const { headers, status } = response
  const sendHead = () => {
    if (target.headersSent) return
    clearTimeout(timer)
    // A flat list of names and values: node takes it as it is.
    target.writeHead(status, headers.toRaw() as string[])
  }
  const sendHeadAlone = () => {
    sendHead()
    target.flushHeaders()
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
  // Not `pipe`, which throws where nobody catches when a chunk is neither text nor bytes.
  body.on('data', (chunk: unknown) => {
    if (target.destroyed || hasFailed) return
    if (typeof chunk !== 'string' && !(chunk instanceof Uint8Array)) {
      fail(new SERVER_STREAM_INVALID(['a chunk of it is neither text nor bytes']))
      return
    }
    if (left !== undefined) left -= Buffer.byteLength(chunk)
    if (left !== undefined && left < 0) {
      fail(new SERVER_STREAM_INVALID([`it is longer than its Content-Length of ${length}`]))
      return
    }
    sendHead()
    if (!target.write(chunk)) body.pause()
  })
  target.on(
    'drain',
    AsyncResource.bind(() => body.resume()),
  )
  target.on('timeout', (socket: Socket) => {
    if (target.writableLength > 0) target.destroy()
    // The client has taken all: it is the application that is silent, for as long as it likes.
    else socket.setKeepAlive(true, probeDelay)
  })
  finished(body, { writable: false }, error => {
    if (target.destroyed || hasFailed) return
    if (error) fail(error)
    else if (left !== undefined && left > 0) {
      fail(new SERVER_STREAM_INVALID([`it is ${left} bytes shorter than its Content-Length of ${length}`]))
    } else {
      sendHead()
      target.end()
    }
  })
}

function isEventStream(headers: Headers): boolean {
  return headers.get('content-type')?.startsWith('text/event-stream') === true
}
