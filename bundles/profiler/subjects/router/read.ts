import type { NearRoute } from '../../../../lib/routing/nearest-routes.ts'
import type { Profile } from '../../profile/profile.ts'

/** The routes that a request has met, or would meet now. */
export interface RouteLog {
  readonly routes: readonly NearRoute[]
  readonly total: number
  readonly isRecorded: boolean
  /** The methods that the routes of the path declare; only of a 405. */
  readonly allow: readonly string[]
}

/**
 * Reads the name of the route of the application that has matched: of a mounted handler, that of
 * its mount. Empty without one.
 */
export function readMatchedRoute({ collectors: { router }, summary }: Profile): string {
  return (router !== undefined && 'route' in router ? router.route : summary.route) ?? ''
}

/** Reads the name of the guard that has answered or refused the request; `undefined` if none has. */
export function readGuard({ collectors: { router } }: Profile): string | undefined {
  return router?.outcome === 'match' ? router.guard : undefined
}

/** Reads the nearest route that another server has used before; only of a 404 without a route. */
export function readSeenRoute({ collectors: { router } }: Profile): string | undefined {
  return router?.outcome === 'match' ? router.nearest : undefined
}

/** Describes the page of the page cache that was sent: `stored 12 s ago`; empty if the controller has answered. */
export function describeCachedPage({ collectors: { router } }: Profile): string {
  if (router?.outcome !== 'match' || router.cached === undefined) return ''
  const { age, isStale } = router.cached
  return `stored ${age} s ago${isStale ? ', past its lifetime' : ''}`
}

/**
 * Reads the routes that came nearest when none was found; `undefined` where one was found, or the router was not asked.
 */
export function readRouteLog({ collectors: { router } }: Profile): RouteLog | undefined {
  if (router === undefined || router.outcome === 'match' || router.outcome === 'redirect') return undefined
  return { routes: router.nearest, total: router.total, isRecorded: true, allow: router.allow ?? [] }
}
