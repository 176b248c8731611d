import type { Headers } from './headers.ts'
import type { Request } from './request.ts'
import { discard, type Response } from './response.ts'

/** What the conditions of a request come to: it is answered as usual, with 304, or with 412. */
export type Verdict = 'fulfilled' | 'not-modified' | 'failed'

/**
 * Compares what a GET or HEAD request says of the representation that the client has with the `etag` and
 * `last-modified` of the one that it would get (RFC 9110, section 13.2.2).
 */
export function checkConditions(request: Headers, selected: Headers): Verdict {
  const etag = selected.get('etag')
  const modified = parseDate(selected.get('last-modified'))

  const ifMatch = request.get('if-match')
  if (ifMatch !== null) {
    if (!listsTag(ifMatch, etag, isSame)) return 'failed'
  } else if (modified > parseDate(request.get('if-unmodified-since'))) return 'failed'

  const ifNoneMatch = request.get('if-none-match')
  if (ifNoneMatch !== null) return listsTag(ifNoneMatch, etag, meansSame) ? 'not-modified' : 'fulfilled'
  return modified <= parseDate(request.get('if-modified-since')) ? 'not-modified' : 'fulfilled'
}

/** Whether a Range is meant for this very representation; without If-Range it is (RFC 9110, section 13.1.5). */
export function isRangeFresh(request: Headers, selected: Headers): boolean {
  const ifRange = request.get('if-range')
  if (ifRange === null) return true
  return isSame(ifRange, selected.get('etag')) || ifRange === selected.get('last-modified')
}

/** Tags may contain commas; what is not in quotes is no tag. */
function listsTag(list: string, etag: string | null, matches: (a: string, b: string | null) => boolean): boolean {
  if (list.trim() === '*') return true
  return list.match(/(?:W\/)?"[^"]*"/g)?.some(tag => matches(tag, etag)) ?? false
}

function isSame(a: string, b: string | null): boolean {
  return a === b && a.startsWith('"')
}

function meansSame(a: string, b: string | null): boolean {
  return b !== null && a.replace(/^W\//, '') === b.replace(/^W\//, '')
}

const httpDate = /^[A-Z][a-z]{2,8},? .*\d\d:\d\d:\d\d/

/** Milliseconds since 1970, `NaN`, which is neither before nor after anything, for what is no date of HTTP. */
function parseDate(text: string | null): number {
  if (text === null || !httpDate.test(text)) return Number.NaN
  // The oldest of the three forms names no zone, and always means UTC (RFC 9110, section 5.6.7).
  return Date.parse(text.endsWith('GMT') ? text : `${text} GMT`)
}

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
