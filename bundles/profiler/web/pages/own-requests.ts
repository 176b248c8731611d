import type { Request } from '../../../../lib/http/request.ts'
import type { RouteCollection } from '../../../../lib/routing/route.ts'
import { RouteMatcher } from '../../../../lib/routing/route-matcher.ts'
import { home, toolbarLink } from '../../profile/links.ts'

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

/** What the paths of all own pages begin with; the slash at the end may be missing. */
const beginnings: readonly string[] = [home, toolbarLink('')].map(link => link.slice(0, -1))

/**
 * Creates the test whether a request leads to one of the profiler's own pages: those are shown without the application's
 * listeners, which may be what a developer looks for an error in. A client that may not see the page is led elsewhere.
 */
export function createOwnPageTest(routes: RouteCollection, own: ReadonlySet<unknown>): (request: Request) => boolean {
  let matcher: RouteMatcher | undefined
  return request => {
    if (!beginnings.some(beginning => request.path.startsWith(beginning))) return false
    // With the first request all bundles have added their routes.
    matcher ??= new RouteMatcher(routes)
    const match = matcher.match(request)
    return 'route' in match && own.has(match.route.controller)
  }
}
