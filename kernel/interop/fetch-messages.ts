import { Readable } from 'node:stream'
import type { Request } from '../../lib/http/request.ts'
import { Response } from '../../lib/http/response.ts'
import { describeValue } from '../../lib/text/describe-value.ts'
import { MOUNT_RESPONSE_INVALID, MOUNT_URL_INVALID } from './errors.ts'
import { checkSegments } from './mount.ts'
import { fromWebStream, toWebStream } from './web-streams.ts'

/**
 * The request of the Fetch API for a request of the kernel, with its stream, and with a signal that is aborted when the client
 * leaves. The URL has the origin that the client sees, and the path that the routes see.
 *
 * @throws MOUNT_URL_INVALID (400) BODY_TOO_LARGE (413) BODY_UNAVAILABLE
 */
export function toFetchRequest(request: Request): globalThis.Request {
  const { headers, method, signal } = request
  const body = method === 'GET' || method === 'HEAD' || !hasOwnBody(request) ? null : toWebStream(request.body.stream())
  const init = { method, headers: toFetchHeaders(headers, body !== null), signal }
  return new globalThis.Request(toUrl(request), body === null ? init : { ...init, body, duplex: 'half' })
}

/** Whether the body is for this request: that of a main request is not for its sub-requests. */
export function hasOwnBody(request: Request): boolean {
  return request.parent === undefined && request.hasBody
}

/** Whether a field says how long a body is. */
export function isOfBody(name: string): boolean {
  return /^(?:content-length|transfer-encoding)$/i.test(name)
}

function toUrl(request: Request): string {
  checkSegments(request)
  const { hostname, origin, queryString, rawPath, scheme } = request
  const url = `${origin || `${scheme}://localhost`}${rawPath}${queryString === '' ? '' : `?${queryString}`}`
  // The rules for hosts in URLs are stricter than those for the header.
  if (!URL.canParse(url)) throw new MOUNT_URL_INVALID([`its host "${hostname}" cannot be in a URL`])
  return url
}

function toFetchHeaders(fields: Request['headers'], hasBody: boolean): globalThis.Headers {
  const headers = new globalThis.Headers()
  for (const [name, value] of fields) if (hasBody || !isOfBody(name)) headers.append(name, value)
  // The Fetch API would join several fields by a comma.
  const cookie = fields.get('cookie')
  if (cookie !== null) headers.set('cookie', cookie)
  return headers
}

/** Fields of one connection only (RFC 9110, section 7.6.1): the server sets its own. */
const connectionHeaders: ReadonlySet<string> = new Set(
  'connection keep-alive proxy-connection te trailer transfer-encoding upgrade'.split(' '),
)

/** Whether a field is of one connection only. `name` is in lower case. */
export function isOfConnection(name: string): boolean {
  return connectionHeaders.has(name)
}

/**
 * The response of the kernel for the result of a handler of the Fetch API, at a path. A body that is there at once has a
 * Content-Length; all others are streams.
 *
 * @throws MOUNT_RESPONSE_INVALID
 */
export async function fromFetchResponse(result: unknown, path: string, method: string): Promise<Response> {
  const { body, headers, status } = checkFetchResponse(result, path)
  const content = body === null ? null : await fromWebStream(body)
  // A Content-Length of 0 would be wrong: the length of the body of GET is unknown.
  const isHeadOnly = method === 'HEAD' && content === null
  const response = new Response(isHeadOnly ? Readable.from([]) : content, { status })
  for (const [name, value] of headers) if (!isOfConnection(name)) response.headers.append(name, value)
  // Otherwise the ResponseListener would set that of HTML.
  if (content !== null && !headers.has('content-type')) response.headers.set('content-type', 'application/octet-stream')
  return response
}

/** Polyfills have classes of their own. */
function checkFetchResponse(result: unknown, path: string): globalThis.Response {
  if (Object.prototype.toString.call(result) !== '[object Response]') {
    const found = result instanceof Response ? 'the "Response" of "sinfonietta"' : describeValue(result)
    throw new MOUNT_RESPONSE_INVALID([path, found])
  }
  const response = result as globalThis.Response
  if (response.type === 'error') throw new MOUNT_RESPONSE_INVALID([path, 'Response.error()'])
  if (response.bodyUsed) throw new MOUNT_RESPONSE_INVALID([path, 'one whose body was read already'])
  return response
}
