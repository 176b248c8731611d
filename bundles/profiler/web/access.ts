import type { DebugGate } from '../../../kernel/debug-gate.ts'
import { findCrossOrigin } from '../../../lib/http/cors.ts'
import type { Request } from '../../../lib/http/request.ts'
import type { RouteCollection } from '../../../lib/routing/route-collection.ts'
import { RouteMatcher } from '../../../lib/routing/route-matcher.ts'
import { home, toolbarLink } from '../profile/links.ts'

/** The parts of a request that say which page made it. */
export type Fetch = Pick<Request, 'headers' | 'method' | 'origin'>

/**
 * Whether the profiler answers a fetch, by the headers that browsers send about the page that made it (Fetch Metadata, and
 * the Origin of RFC 6454). Another site can neither read a profile nor change anything. It can link to a page: the
 * developer who follows the link sees the page, the site does not. Programs without these headers may read only.
 */
export function acceptsFetch(request: Fetch): boolean {
  const { headers, method } = request
  if (!hasOwnOrigin(request)) return false
  const sign = findCrossOrigin(request)
  if (sign !== undefined) {
    const isLink = sign.value === 'cross-site' || sign.value === 'same-site'
    return isLink && method === 'GET' && isTopLevelNavigation(headers)
  }
  return method === 'GET' || method === 'HEAD' || headers.has('sec-fetch-site') || headers.has('origin')
}

/** Frames and embedded objects are navigated as well; their destination differs. */
function isTopLevelNavigation(headers: Fetch['headers']): boolean {
  return headers.get('sec-fetch-mode') === 'navigate' && (headers.get('sec-fetch-dest') ?? 'document') === 'document'
}

/**
 * Whether the client is a program. Browsers send an Origin (RFC 6454) and Fetch Metadata, programs do not, and no page
 * of another site is let in. A site that takes our address under its own name (DNS rebinding) is of the same origin:
 * the debug gate refuses that name.
 */
export function isProgram(request: Pick<Fetch, 'headers' | 'origin'>): boolean {
  return hasOwnOrigin(request) && findCrossOrigin(request) === undefined
}

/** Whether the Origin is absent or that of this server. Sandboxed pages and some redirects send `null`, another origin. */
function hasOwnOrigin({ headers, origin }: Pick<Fetch, 'headers' | 'origin'>): boolean {
  const from = headers.get('origin')
  return from === null || from === origin
}

/** The paths of all own pages begin so; the slash at the end may be missing. */
const beginnings: readonly string[] = [home, toolbarLink('')].map(link => link.slice(0, -1))

/** Whether a client asks for the profiler, and may not see debug output. */
export function isRefused(request: Request, debugGate: Pick<DebugGate, 'allows'>): boolean {
  const isOwn = beginnings.some(beginning => `${request.path}/`.startsWith(`${beginning}/`))
  return isOwn && !debugGate.allows(request)
}

/** Whether the routes of the profiler exist for a request. */
export function seesProfiler(request: Request, debugGate: Pick<DebugGate, 'allows'>): boolean {
  return acceptsFetch(request) && debugGate.allows(request)
}

/** Finds whether a request leads to one of the profiler's own pages, directly (`match`) or by a redirect of the router. */
export type FindOwnPage = (request: Request) => 'match' | 'redirect' | undefined

/**
 * Creates the function that finds own pages. They are not recorded, and are shown without the listeners of the
 * application, because a listener may be the error that the developer looks for.
 */
export function createFindOwnPage(routes: RouteCollection, own: ReadonlySet<unknown>): FindOwnPage {
  let matcher: RouteMatcher | undefined
  return request => {
    if (!beginnings.some(beginning => request.path.startsWith(beginning))) return undefined
    // At the first request, all bundles have added their routes.
    matcher ??= new RouteMatcher(routes)
    const match = matcher.match(request)
    return 'route' in match && own.has(match.route.controller) ? match.outcome : undefined
  }
}
