import type { Request } from '../../../lib/http/request.ts'
import type { RouteCollection } from '../../../lib/routing/route.ts'
import { RouteMatcher } from '../../../lib/routing/route-matcher.ts'
import { home, toolbarLink } from '../links.ts'

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
