import { redirectController } from '../../../../kernel/controller.ts'
import { KERNEL_METHOD_NOT_ALLOWED, KERNEL_NO_ROUTE } from '../../../../kernel/errors.ts'
import { describeCachePolicy } from '../../../../lib/http/cache-policy.ts'
import type { Redactor } from '../../../../lib/redact/redactor.ts'
import { type ForeignRoute, findSimilarRoute, NearestRoutes } from '../../../../lib/routing/nearest-routes.ts'
import type { Route } from '../../../../lib/routing/route.ts'
import { readProperty } from '../../../../lib/text/describe-value.ts'
import { shownRoutes } from '../../profile/links.ts'
import type { CollectorOf } from '../../record/collect.ts'
import { middlewarePart, routePatternOf } from '../../record/middleware-trace.ts'
import type { RecordedApplication, RecordedSubject } from '../../record/recorded-subject.ts'
import type { Trace } from '../../record/trace.ts'
import type { RouteData, RouterData } from './data.ts'
import { maskNearRoute } from './near-route.ts'

/** The route of a request. */
export const routerSubject: RecordedSubject = {
  createCollectors: app => [createRouterCollector(app)],
}

const nearestLimit = 20

/** Collects the route that matched; without a match, the nearest routes that are similar. */
function createRouterCollector({
  redactor,
  routes,
}: Pick<RecordedApplication, 'redactor' | 'routes'>): CollectorOf<'router'> {
  const seen = new SeenRoutes()
  let nearestRoutes: NearestRoutes | undefined
  const describeMissed = (outcome: 'not-found' | 'method-not-allowed', trace: Trace) => {
    // When the first profile is written, all bundles have added their routes.
    nearestRoutes ??= new NearestRoutes(shownRoutes(routes))
    trace.nearest ??= nearestRoutes
      .findSimilar(trace.request, nearestLimit)
      // A route of development is no help.
      .filter(({ name }) => name !== '_preview_error')
      .map(near => maskNearRoute(near, redactor))
    return { outcome, nearest: trace.nearest, total: nearestRoutes.size }
  }
  return {
    name: 'router',
    /** `undefined` for a request that was not routed: a forward, an error page, or one that failed before. */
    collect(trace) {
      const { request, thrown } = trace
      const route = request.attributes.get('_route')
      if (typeof route === 'string') return describeFound(route, trace, redactor, seen)
      for (const error of thrown) {
        const code = readProperty(error, 'code')
        if (code === KERNEL_NO_ROUTE.code) return describeMissed('not-found', trace)
        if (code === KERNEL_METHOD_NOT_ALLOWED.code) {
          const allow = String(readProperty(readProperty(error, 'headers'), 'allow')).split(', ')
          return { ...describeMissed('method-not-allowed', trace), allow }
        }
      }
      return undefined
    },
    describeProcess: () => ({ routes: shownRoutes(routes).map(route => describe(route)) }),
  }
}

/** The routes of another framework that answer requests of this process. It does not say which ones it has. */
class SeenRoutes {
  readonly #routes = new Map<string, ForeignRoute>()

  /** Notes the route of a request; of one that was answered with 404 without a route, returns the nearest one. */
  meet({ request, response }: Trace, name: string, pattern: string, hasRoute: boolean): string | undefined {
    const isMissing = response?.status === 404
    if (!hasRoute) return isMissing ? findSimilarRoute(request, this.#routes.values()) : undefined
    if (!isMissing && this.#routes.size < seenLimit) this.#routes.set(name, { name, method: request.method, pattern })
    return undefined
  }
}

const seenLimit = 500

function describeFound(route: string, trace: Trace, redactor: Redactor, seen: SeenRoutes): RouterData {
  const { attributes } = trace.request
  const parameters = redactor.value('', attributes.get('_route_params'))
  const pattern = attributes.get('_route_pattern')
  if (pattern !== undefined) {
    const hasRoute = middlewarePart.find(trace)?.route?.pattern === pattern
    const near = seen.meet(trace, route, pattern, hasRoute)
    const isMadeOfPath = !hasRoute && pattern === routePatternOf(undefined, trace.request.path, redactor)
    const nearest = near && { nearest: redactor.text(near) }
    const made = isMadeOfPath && { isMadeOfPath }
    return { outcome: 'match', route, parameters, pattern: redactor.text(pattern), ...made, ...nearest }
  }
  const guard = attributes.get('_guard')
  if (guard !== undefined || attributes.get('_controller') !== redirectController) {
    const inner = middlewarePart.find(trace)?.route
    const mounted = inner && {
      pattern: redactor.text(inner.pattern),
      parameters: redactor.value('', inner.parameters),
    }
    const cached = attributes.get('_page_cache')
    const answered = { ...(guard && { guard }), ...(cached && { cached }) }
    return { outcome: 'match', route, parameters, ...answered, ...(mounted && { mounted }) }
  }
  const location = redactor.text(attributes.get('_location') ?? '')
  return { outcome: 'redirect', route, parameters, location }
}

function describe({ controller, defaults, guards, host, methods, name, path, schemes }: Route): RouteData {
  const requirements = [...path.requirements, ...(host?.requirements ?? [])]
  const cache = describeCachePolicy(defaults)
  return {
    name,
    path: path.source,
    controller: String(readProperty(controller, 'name')),
    ...(methods.length > 0 && { methods }),
    ...(host && { host: host.source }),
    ...(schemes.length > 0 && { schemes }),
    ...(guards.length > 0 && { guards }),
    ...(cache !== '' && { cache }),
    ...(requirements.length > 0 && { requirements: requirements.map(({ name, text }) => ({ name, text })) }),
  }
}
