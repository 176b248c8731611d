import type { Request } from '../http/request.ts'
import type { Route, RouteParameters, RouteScheme } from './route.ts'
import type { RouteCollection } from './route-collection.ts'
import { RouteIndex } from './route-index.ts'
import { applySlash, correctSlash, trimSlashes } from './trailing-slash.ts'

/** Where a request belongs. */
export type RouteMatch =
  | { readonly outcome: 'match'; readonly route: Route; readonly parameters: RouteParameters }
  | {
      readonly outcome: 'redirect'
      /** The route that will answer at the location. */
      readonly route: Route
      readonly parameters: RouteParameters
      /** An absolute URL on the host of the request. */
      readonly location: string
    }
  | {
      readonly outcome: 'method-not-allowed'
      /** The methods that the routes of this path declare, in order. */
      readonly allow: readonly string[]
    }
  | {
      readonly outcome: 'not-found'
      /** The path as it was sent, without slashes at its end unless it consists of slashes. */
      readonly path: string
    }

/**
 * Finds the route of a request among those that a collection has at this moment. The first route that takes the request
 * as it is wins. GET and HEAD may otherwise be sent to the other scheme or to the path with its slash corrected (301, as
 * in Symfony); only then a method is said not to be allowed.
 */
export class RouteMatcher {
  readonly #index: RouteIndex

  constructor(routes: RouteCollection) {
    this.#index = new RouteIndex(routes)
  }

  /** Throws nothing of its own: what to answer instead of a route is for the caller to say. */
  match(request: Request): RouteMatch {
    const found = this.#lookUp(request, request.path, request.scheme)
    if (found.outcome === 'match') return found
    const redirect = this.#findRedirect(request, found)
    if (redirect !== undefined) return redirect
    if (found.allow.length > 0) return { outcome: 'method-not-allowed', allow: [...new Set(found.allow)] }
    return { outcome: 'not-found', path: trimSlashes(request.rawPath) || request.rawPath }
  }

  #findRedirect(request: Request, asSent: Missed): RouteMatch | undefined {
    if (request.method !== 'GET' && request.method !== 'HEAD') return undefined
    // Without a host there is no absolute URL, and a path on its own (`//evil/`) could name another host.
    if (request.hostname === '') return undefined
    const otherScheme = request.scheme === 'http' ? 'https' : 'http'
    for (const path of [request.path, ...correctSlash(request.path)]) {
      const here = path === request.path ? asSent : this.#lookUp(request, path, request.scheme)
      if (here.outcome === 'match') return redirect(here, request, path, request.origin)
      const there = here.wantsOtherScheme ? this.#lookUp(request, path, otherScheme) : here
      // The port of one scheme says nothing about that of the other: its default is meant.
      if (there.outcome === 'match') return redirect(there, request, path, `${otherScheme}://${request.hostname}`)
    }
    return undefined
  }

  #lookUp(request: Request, path: string, scheme: RouteScheme): Matched | Missed {
    const allow: string[] = []
    let wantsOtherScheme = false
    for (const route of this.#index.candidates(path)) {
      const evaluation = route.evaluate(request, path, scheme)
      if (evaluation.outcome === 'match') return { outcome: 'match', route, parameters: evaluation.parameters }
      if (evaluation.outcome === 'scheme') wantsOtherScheme = true
      if (evaluation.outcome === 'method') allow.push(...route.methods)
    }
    return { outcome: 'missed', allow, wantsOtherScheme }
  }
}

type Matched = Extract<RouteMatch, { outcome: 'match' }>

interface Missed {
  readonly outcome: 'missed'
  readonly allow: readonly string[]
  readonly wantsOtherScheme: boolean
}

function redirect({ route, parameters }: Matched, request: Request, path: string, origin: string): RouteMatch {
  const rawPath = path === request.path ? request.rawPath : applySlash(request.rawPath, path)
  const query = request.queryString === '' ? '' : `?${request.queryString}`
  return { outcome: 'redirect', route, parameters, location: `${origin}${request.basePath}${rawPath}${query}` }
}
