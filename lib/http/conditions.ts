import type { Headers } from './headers.ts'
import { parseHttpDate } from './http-date.ts'
import type { Request } from './request.ts'
import { discard, type Response } from './response.ts'

/**
 * Whether a method asks for a content that the client may keep: conditions then save its transfer,
 * and ranges are parts of it.
 */
export function isRetrieval(method: string): boolean {
  return method === 'GET' || method === 'HEAD'
}

/** A client may also keep the answer to a QUERY (RFC 10008); ranges of it are not sent. */
function canBeKept(method: string): boolean {
  return isRetrieval(method) || method === 'QUERY'
}

/**
 * Compares the conditions of a request with the `etag` and `last-modified` of the response that a GET
 * would get (RFC 9110, section 13.2.2). Only GET, HEAD and QUERY can have the result `not-modified`.
 */
export function checkConditions(
  { headers, method }: Pick<Request, 'headers' | 'method'>,
  selected: Headers,
): 'fulfilled' | 'not-modified' | 'failed' {
  // Section 13.2.1
  if (method === 'OPTIONS') return 'fulfilled'
  const etag = selected.get('etag')
  const ifMatch = headers.get('if-match')
  const ifUnmodifiedSince = ifMatch === null ? headers.get('if-unmodified-since') : null
  if (ifMatch !== null && !listsTag(ifMatch, etag, matchesStrongly)) return 'failed'
  if (ifUnmodifiedSince !== null && timeOf(selected) > parseHttpDate(ifUnmodifiedSince)) return 'failed'

  const ifNoneMatch = headers.get('if-none-match')
  if (ifNoneMatch !== null) {
    if (!listsTag(ifNoneMatch, etag, matchesWeakly)) return 'fulfilled'
    return canBeKept(method) ? 'not-modified' : 'failed'
  }
  const ifModifiedSince = canBeKept(method) ? headers.get('if-modified-since') : null
  return ifModifiedSince !== null && timeOf(selected) <= parseHttpDate(ifModifiedSince) ? 'not-modified' : 'fulfilled'
}

/** The time of the last change; `NaN`, which is neither before nor after any time, if it is not known. */
function timeOf(selected: Headers): number {
  return parseHttpDate(selected.get('last-modified') ?? '')
}

/**
 * Whether a Range is for exactly this representation. Without If-Range it is (RFC 9110, section
 * 13.1.5). A date is weak until its second is over, because the representation may change again
 * (section 8.8.2.2). `now` is the Date of the response.
 */
export function isRangeFresh(request: Headers, selected: Headers, now: number = Date.now()): boolean {
  const ifRange = request.get('if-range')
  if (ifRange === null || matchesStrongly(ifRange, selected.get('etag'))) return true
  return ifRange === selected.get('last-modified') && now - parseHttpDate(ifRange) >= 1000
}

/**
 * Whether a list of etags contains a matching one. An element counts only as a whole. A comma in
 * quotes belongs to its element, and `*` is no element of a list.
 */
function listsTag(list: string, etag: string | null, matches: (a: string, b: string | null) => boolean): boolean {
  if (list.trim() === '*') return true
  return list.match(/(?:[^,"]|"[^"]*"?)+/g)?.some(element => matches(element.trim(), etag)) ?? false
}

/** The strong comparison of RFC 9110, section 8.8.3.2: weak tags are never equal. */
function matchesStrongly(a: string, b: string | null): boolean {
  return a === b && !a.startsWith('W/')
}

/** The weak comparison: `W/` does not matter. */
function matchesWeakly(a: string, b: string | null): boolean {
  return b !== null && a.replace(/^W\//, '') === b.replace(/^W\//, '')
}

/** Whether the client of a GET, HEAD or QUERY already has the body of a response. */
export function isNotModified(request: Request, response: Response): boolean {
  if (response.status !== 200 || !canBeKept(request.method)) return false
  if (!request.headers.has('if-none-match') && !request.headers.has('if-modified-since')) return false
  return checkConditions(request, response.headers) === 'not-modified'
}

/** Fields that describe a body. A 304 has none (RFC 9110, section 15.4.5). */
const bodyFields = ['content-encoding', 'content-language', 'content-length', 'content-range', 'content-type']

/** Turns a response into a 304: the copy of the client is still valid. A stream is destroyed. */
export function toNotModified(response: Response): Response {
  const { body, headers } = response
  for (const field of bodyFields) headers.delete(field)
  discard(body)
  response.status = 304
  response.body = null
  return response
}
