import { checkConditions } from './conditions.ts'
import { discard } from './discard.ts'
import type { Request } from './request.ts'
import type { Response } from './response.ts'

/** Whether the client of a GET or HEAD request has what a response with an etag or a last change would send again. */
export function isNotModified({ headers, method }: Request, response: Response): boolean {
  if (response.status !== 200 || (method !== 'GET' && method !== 'HEAD')) return false
  if (!headers.has('if-none-match') && !headers.has('if-modified-since')) return false
  return checkConditions(headers, response.headers) === 'not-modified'
}

/** What describes a body that is not sent (RFC 9110, section 15.4.5). */
const fields = ['content-encoding', 'content-language', 'content-length', 'content-range', 'content-type']

/** Turns a response into a 304: what the client has is still good. A stream that is not sent is let go. */
export function toNotModified(response: Response): Response {
  const { body, headers } = response
  for (const field of fields) headers.delete(field)
  discard(body)
  response.status = 304
  response.body = null
  return response
}
