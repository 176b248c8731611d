import type { Request } from '../../../lib/http/request.ts'

/** What of a request says where it was made. */
export type Fetch = Pick<Request, 'headers' | 'method' | 'origin'>

/**
 * Whether the profiler answers a fetch, going by what browsers say about the page that made it (Fetch Metadata, and the
 * Origin of RFC 6454): no other site may read a record or change anything. It may link to a page: whoever follows the
 * link sees it, the other site does not. Programs that say nothing may read, and not change.
 */
export function acceptsFetch({ headers, method, origin }: Fetch): boolean {
  const from = headers.get('origin')
  const site = headers.get('sec-fetch-site')
  // Sandboxed pages and some redirects say "null".
  if (from !== null && from !== origin) return false
  if (site === 'same-origin' || site === 'none') return true
  const isRead = method === 'GET' || method === 'HEAD'
  if (site === null) return isRead || from !== null
  return site === 'cross-site' || site === 'same-site' ? method === 'GET' && isTopLevelNavigation(headers) : false
}

/** Frames and embedded objects are navigated as well; what they are for tells them apart. */
function isTopLevelNavigation(headers: Fetch['headers']): boolean {
  return headers.get('sec-fetch-mode') === 'navigate' && (headers.get('sec-fetch-dest') ?? 'document') === 'document'
}
