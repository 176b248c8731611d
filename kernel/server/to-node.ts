import type { ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import type { Response } from '../../lib/http/response.ts'
import { isBodiless } from '../../lib/http/status.ts'

/**
 * Sends a response. The only place that computes a Content-Length: of a text or bytes always, of a stream never (whoever
 * knows it sets it). HEAD gets the headers of GET; 204 and 304 have no body and no length (RFC 9110, section 8.6).
 */
export function toNode(response: Response, target: ServerResponse): void {
  const { body, headers, status } = response
  if (isBodiless(status)) {
    headers.delete('content-length')
    discard(body)
    writeHead(target, response)
    target.end()
    return
  }
  if (body instanceof Readable) {
    writeHead(target, response)
    sendStream(body, target)
    return
  }
  headers.set('content-length', String(body === null ? 0 : Buffer.byteLength(body)))
  writeHead(target, response)
  // Node itself leaves the body of an answer to HEAD away.
  target.end(body ?? undefined)
}

function writeHead(target: ServerResponse, { headers, status }: Response): void {
  // A flat list of names and values: node takes it as it is.
  target.writeHead(status, headers.toRaw() as string[])
}

/** A stream that fails, or a client that leaves, ends both: what was sent so far cannot be taken back. */
function sendStream(body: Readable, target: ServerResponse): void {
  if (target.req.method === 'HEAD') {
    discard(body)
    target.end()
    return
  }
  target.on('close', () => discard(body))
  body.on('error', () => target.destroy())
  body.pipe(target)
}

function discard(body: Response['body']): void {
  // Without a listener, an error of the stream would end the process.
  if (body instanceof Readable) body.on('error', () => undefined).destroy()
}
