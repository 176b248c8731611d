import type { ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { HTTP_STREAM_USED } from '../../lib/http/errors.ts'
import { discard, isBodiless, type Response } from '../../lib/http/response.ts'
import { type OnStreamFailure, sendStream } from './send-stream.ts'
import { writeHead } from './write-head.ts'

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
 * Sends a response. The head of a stream may be sent later.
 *
 * @throws HTTP_STREAM_USED
 */
export function toNode(response: Response, target: ServerResponse, onFailure: OnStreamFailure): void {
  const { body, status } = response
  setContentLength(response)
  if (body instanceof Readable && !isBodiless(status)) {
    if (body.destroyed) throw new HTTP_STREAM_USED([])
    if (target.req.method !== 'HEAD') {
      sendStream(body, response, target, onFailure)
      return
    }
  }
  writeHead(target, response)
  if (body instanceof Readable || isBodiless(status)) {
    discard(body)
    target.end()
  }
  // Node itself drops the body of a response to HEAD.
  else target.end(body ?? undefined)
}
