import { cut } from '../../../lib/redact/masking-copier.ts'
import type { Redactor } from '../../../lib/redact/redactor.ts'
import type { NearRoute } from '../../../lib/routing/nearest-routes.ts'
import type { Route } from '../../../lib/routing/route.ts'
import type { RouterData } from './exchange-data.ts'

/** The routes of the application, without those of the profiler itself. */
export function shownRoutes(routes: Iterable<Route>): Route[] {
  return [...routes].filter(({ name }) => !/^_(?:profiler|wdt)/.test(name))
}

const textLimit = 500

/** Masks the reason why a route was not taken: it may have a condition's source in it, and words of the client's. */
export function maskNearRoute(near: NearRoute, redactor: Redactor): NearRoute {
  // Of most routes it is one and the same constant sentence.
  if (near.reason === 'path') return near
  const text = near.reason === 'condition' ? redactor.source(near.text) : redactor.text(near.text)
  return { ...near, text: cut(text, textLimit) }
}

/** The parts of the URL of a request. */
export interface UrlParts {
  readonly scheme: 'http' | 'https'
  /** With its port; `undefined` of a request without a host. */
  readonly host: string | undefined
  /** As it stands in the request line: `/path?query`. */
  readonly target: string
}

/** Splits a recorded URL into its parts, without decoding or resolving it. `undefined` if it is no URL. */
export function splitUrl(url: string): UrlParts | undefined {
  const [, scheme, host, target] = /^(?:(https?):\/\/([\w.:[\]-]+))?([/*].*)$/s.exec(url) ?? []
  return target === undefined ? undefined : { scheme: scheme === 'https' ? 'https' : 'http', host, target }
}

/** The routes that a request has met, or would meet now. */
export interface RouteLog {
  readonly routes: readonly NearRoute[]
  readonly total: number
  readonly isRecorded: boolean
  /** The methods that the routes of the path declare; only of a 405. */
  readonly allow: readonly string[]
}

/** Reads the routes that came nearest when none was found; `undefined` where one was found, or the router was not asked. */
export function readRouteLog(router: RouterData | undefined): RouteLog | undefined {
  if (router === undefined || router.outcome === 'match' || router.outcome === 'redirect') return undefined
  return { routes: router.nearest, total: router.total, isRecorded: true, allow: router.allow ?? [] }
}
