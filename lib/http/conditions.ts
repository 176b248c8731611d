import type { Headers } from './headers.ts'
import type { Request } from './request.ts'
import { discard, type Response } from './response.ts'

/** The result of the conditions of a request: a usual response, 304, or 412. */
type ConditionResult = 'fulfilled' | 'not-modified' | 'failed'

/**
 * Compares the conditions of a GET or HEAD request with the `etag` and `last-modified` of the response that it would
 * get (RFC 9110, section 13.2.2).
 */
export function checkConditions(request: Headers, selected: Headers): ConditionResult {
  const etag = selected.get('etag')
  const modified = parseDate(selected.get('last-modified'))

  const ifMatch = request.get('if-match')
  if (ifMatch !== null) {
    if (!listsTag(ifMatch, etag, matchesStrongly)) return 'failed'
  } else if (modified > parseDate(request.get('if-unmodified-since'))) return 'failed'

  const ifNoneMatch = request.get('if-none-match')
  if (ifNoneMatch !== null) return listsTag(ifNoneMatch, etag, matchesWeakly) ? 'not-modified' : 'fulfilled'
  return modified <= parseDate(request.get('if-modified-since')) ? 'not-modified' : 'fulfilled'
}

/**
 * Whether a Range is for exactly this representation. Without If-Range it is (RFC 9110, section 13.1.5). A date is weak until
 * its second is over, because the representation may change again (section 8.8.2.2). `now` is the Date of the response.
 */
export function isRangeFresh(request: Headers, selected: Headers, now: number = Date.now()): boolean {
  const ifRange = request.get('if-range')
  if (ifRange === null || matchesStrongly(ifRange, selected.get('etag'))) return true
  return ifRange === selected.get('last-modified') && now - parseDate(ifRange) >= 1000
}

/** Whether a list of etags contains a matching one. Etags are in quotes, which may contain commas. */
function listsTag(list: string, etag: string | null, matches: (a: string, b: string | null) => boolean): boolean {
  if (list.trim() === '*') return true
  return list.match(/(?:W\/)?"[^"]*"/g)?.some(tag => matches(tag, etag)) ?? false
}

/** The strong comparison of RFC 9110, section 8.8.3.2: weak tags are never equal. */
function matchesStrongly(a: string, b: string | null): boolean {
  return a === b && a.startsWith('"')
}

/** The weak comparison: `W/` does not matter. */
function matchesWeakly(a: string, b: string | null): boolean {
  return b !== null && a.replace(/^W\//, '') === b.replace(/^W\//, '')
}

const httpDate = /^[A-Z][a-z]{2,8},? .*\d\d:\d\d:\d\d/

/** Milliseconds since 1970. `NaN`, which is neither before nor after any time, if the text is no HTTP date. */
function parseDate(text: string | null): number {
  if (text === null || !httpDate.test(text)) return Number.NaN
  // The oldest of the three forms has no zone and is always UTC (RFC 9110, section 5.6.7).
  return Date.parse(text.endsWith('GMT') ? text : `${text} GMT`)
}

/** Whether the client of a GET or HEAD request already has the body of a response. */
export function isNotModified({ headers, method }: Request, response: Response): boolean {
  if (response.status !== 200 || (method !== 'GET' && method !== 'HEAD')) return false
  if (!headers.has('if-none-match') && !headers.has('if-modified-since')) return false
  return checkConditions(headers, response.headers) === 'not-modified'
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
