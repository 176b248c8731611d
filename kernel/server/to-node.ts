import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { finished, Readable } from 'node:stream'
import { discard } from '../../lib/http/discard.ts'
import { HTTP_STREAM_USED } from '../../lib/http/errors.ts'
import type { Response } from '../../lib/http/response.ts'
import { isBodiless } from '../../lib/http/status.ts'

/** Is told why a response was cut off, and of the error that was thrown, should there be one. */
export type OnProblem = (problem: string, error?: unknown) => void

/**
 * Computes the Content-Length, in this one place: of a text or bytes always, of a stream never: whoever knows it sets it.
 * HEAD gets the headers of GET; 204 and 304 have no body and no length (RFC 9110, section 8.6).
 */
export function setContentLength({ body, headers, status }: Response): void {
  if (isBodiless(status)) headers.delete('content-length')
  else if (!(body instanceof Readable)) {
    headers.set('content-length', String(body === null ? 0 : Buffer.byteLength(body)))
  }
}

/**
 * Sends a response. When the length of a stream turns out to be wrong, the connection is cut off.
 *
 * @throws HTTP_STREAM_USED
 */
export function toNode(response: Response, target: ServerResponse, onProblem: OnProblem): void {
  const { body, headers, status } = response
  setContentLength(response)
  if (isBodiless(status)) {
    discard(body)
    writeHead(target, response)
    target.end()
    return
  }
  if (body instanceof Readable) {
    if (body.destroyed) throw new HTTP_STREAM_USED([])
    writeHead(target, response)
    sendStream(body, target, headers.get('content-length'), onProblem)
    return
  }
  writeHead(target, response)
  // Node itself leaves the body of an answer to HEAD away.
  target.end(body ?? undefined)
}

function writeHead(target: ServerResponse, { headers, status }: Response): void {
  // A flat list of names and values: node takes it as it is.
  target.writeHead(status, headers.toRaw() as string[])
}

/** Milliseconds after which the system asks whether a client is still there that has nothing to say. */
const probeDelay = 60_000

/**
 * A stream that fails, or a client that leaves, ends both: what was sent so far cannot be taken back. What is longer than
 * its Content-Length would be read as the next response, what is shorter waited for (RFC 9112, section 6.3).
 */
function sendStream(body: Readable, target: ServerResponse, length: string | null, onProblem: OnProblem): void {
  target.on('close', () => discard(body))
  if (target.req.method === 'HEAD') {
    target.end()
    return
  }
  let left = length === null ? undefined : Number(length)
  const cutOff: OnProblem = (problem, error) => {
    onProblem(problem, error)
    target.destroy()
  }
  // Not `pipe`, which throws where nobody catches when a chunk is neither text nor bytes.
  body.on('data', (chunk: unknown) => {
    if (target.destroyed) return
    if (typeof chunk !== 'string' && !(chunk instanceof Uint8Array)) {
      cutOff('a chunk of it is neither text nor bytes')
      return
    }
    if (left !== undefined) left -= Buffer.byteLength(chunk)
    if (left !== undefined && left < 0) cutOff(`it is longer than its Content-Length of ${length}`)
    else if (!target.write(chunk)) body.pause()
  })
  target.on('drain', () => body.resume())
  target.on('timeout', (socket: Socket) => {
    if (target.writableLength > 0) target.destroy()
    // The client has taken all: it is the application that is silent, for as long as it likes.
    else socket.setKeepAlive(true, probeDelay)
  })
  finished(body, { writable: false }, error => {
    if (target.destroyed) return
    if (error) cutOff('its stream has failed', error)
    else if (left !== undefined && left > 0) cutOff(`it is ${left} bytes shorter than its Content-Length of ${length}`)
    else target.end()
  })
}
