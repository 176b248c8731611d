import type { ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { discard } from '../../lib/http/discard.ts'
import { HTTP_STREAM_USED } from '../../lib/http/errors.ts'
import type { Response } from '../../lib/http/response.ts'
import { isBodiless } from '../../lib/http/status.ts'
import { type OnStreamFailure, sendStream } from './send-stream.ts'

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
 * Sends a response; that of a stream may begin later.
 *
 * @throws HTTP_STREAM_USED
 */
export function toNode(response: Response, target: ServerResponse, onFailure: OnStreamFailure): void {
  const { body, status } = response
  setContentLength(response)
  if (isBodiless(status)) {
    discard(body)
    writeHead(target, response)
    target.end()
    return
  }
  if (body instanceof Readable) {
    if (body.destroyed) throw new HTTP_STREAM_USED([])
    if (target.req.method !== 'HEAD') {
      sendStream(body, response, target, onFailure)
      return
    }
    discard(body)
    writeHead(target, response)
    target.end()
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
