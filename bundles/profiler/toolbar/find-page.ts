import { Readable } from 'node:stream'
import type { Request } from '../../../lib/http/request.ts'
import { isBodiless, type Response } from '../../../lib/http/response.ts'
import type { Page } from './body-end.ts'

/** A client that wants its pages as they are, such as an end-to-end test, says `x-profiler-toolbar: off`. */
const optOutHeader = 'x-profiler-toolbar'

/** Within another page, which has a toolbar of its own. */
const innerDestinations: readonly string[] = ['iframe', 'frame', 'embed', 'object']

/** Headers of a body that would be wrong once it is changed. */
const bodyHeaders: readonly string[] = ['content-encoding', 'content-range', 'content-digest', 'repr-digest']

/** More bytes are not searched; text is, as it is cheap. */
const byteLimit = 1024 * 1024

/**
 * Finds the page that a toolbar can be put into, by Symfony's rules (HTML in content type and format; no script asks for
 * it, no redirect, no download), and where that breaks nothing: not in what is streamed, encoded or signed. HEAD is
 * treated as GET, because its length must be that of GET.
 */
export function findPage(request: Request, response: Response): Page | undefined {
  return wantsToolbar(request) ? pageOf(response) : undefined
}

function wantsToolbar({ attributes, headers }: Request): boolean {
  return (
    headers.get('x-requested-with') !== 'XMLHttpRequest' &&
    headers.get(optOutHeader)?.toLowerCase() !== 'off' &&
    !innerDestinations.includes(headers.get('sec-fetch-dest') ?? '') &&
    (attributes.get('_format') ?? 'html') === 'html'
  )
}

function pageOf({ body, headers, status }: Response): Page | undefined {
  if (body === null || body instanceof Readable || isBodiless(status) || (status >= 300 && status < 400))
    return undefined
  const contentType = headers.get('content-type') ?? 'text/html'
  if (!/html/i.test(contentType) || bodyHeaders.some(name => headers.has(name))) return undefined
  if (/^\s*attachment\b/i.test(headers.get('content-disposition') ?? '')) return undefined
  // Text is sent as UTF-8; bytes are what they say.
  if (typeof body === 'string') return body
  const isOtherEncoding = /charset=(?!"?(?:utf-8|us-ascii)\b)/i.test(contentType)
  return body.byteLength > byteLimit || isOtherEncoding ? undefined : body
}
