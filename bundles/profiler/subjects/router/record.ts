import { redirectController } from '../../../../kernel/controller.ts'
import { KERNEL_METHOD_NOT_ALLOWED, KERNEL_NO_ROUTE } from '../../../../kernel/errors.ts'
import type { Request } from '../../../../lib/http/request.ts'
import type { Redactor } from '../../../../lib/redact/redactor.ts'
import { NearestRoutes } from '../../../../lib/routing/nearest-routes.ts'
import type { Route } from '../../../../lib/routing/route.ts'
import { readProperty } from '../../../../lib/text/describe-value.ts'
import { shownRoutes } from '../../profile/links.ts'
import type { CollectorOf } from '../../record/collect.ts'
import type { Trace } from '../../record/trace.ts'
import {
  type MissingRouteData,
  maskNearRoute,
  type RouteData,
  type RouterData,
  type RouterProcessData,
} from './data.ts'

const nearestLimit = 20

/** Collects the route that matched; without a match, the nearest routes that are similar. */
export class RouterCollector implements CollectorOf<'router'> {
  readonly name = 'router'
  readonly #routes: Iterable<Route>
  readonly #redactor: Redactor
  #nearestRoutes: NearestRoutes | undefined

  constructor({ routes, redactor }: { readonly routes: Iterable<Route>; readonly redactor: Redactor }) {
    this.#routes = routes
    this.#redactor = redactor
  }

  /** `undefined` for a request that was not routed: a forward, an error page, or one that failed before. */
  collect(trace: Trace): RouterData | undefined {
    const { request, thrown } = trace
    const route = request.attributes.get('_route')
    if (typeof route === 'string') return this.#found(route, request)
    for (const error of thrown) {
      const code = readProperty(error, 'code')
      if (code === KERNEL_NO_ROUTE.code) return this.#missed('not-found', trace)
      if (code === KERNEL_METHOD_NOT_ALLOWED.code) {
        const allow = String(readProperty(readProperty(error, 'headers'), 'allow')).split(', ')
        return { ...this.#missed('method-not-allowed', trace), allow }
      }
    }
    return undefined
  }

  describeProcess(): RouterProcessData {
    return { routes: shownRoutes(this.#routes).map(route => describe(route)) }
  }

  #found(route: string, { attributes }: Request): RouterData {
    const parameters = this.#redactor.value('', attributes.get('_route_params'))
    if (attributes.get('_controller') !== redirectController) return { outcome: 'match', route, parameters }
    const location = this.#redactor.text(attributes.get('_location') ?? '')
    return { outcome: 'redirect', route, parameters, location }
  }

  #missed(outcome: MissingRouteData['outcome'], trace: Trace): MissingRouteData {
    // When the first profile is written, all bundles have added their routes.
    this.#nearestRoutes ??= new NearestRoutes(shownRoutes(this.#routes))
    const routes = this.#nearestRoutes
    trace.nearest ??= routes
      .findSimilar(trace.request, nearestLimit)
      // A route of development is no help.
      .filter(({ name }) => name !== '_preview_error')
      .map(near => maskNearRoute(near, this.#redactor))
    return { outcome, nearest: trace.nearest, total: routes.size }
  }
}

function describe({ controller, host, methods, name, path, schemes }: Route): RouteData {
  const requirements = [...path.requirements, ...(host?.requirements ?? [])]
  return {
    name,
    path: path.source,
    controller: String(readProperty(controller, 'name')),
    ...(methods.length > 0 && { methods }),
    ...(host && { host: host.source }),
    ...(schemes.length > 0 && { schemes }),
    ...(requirements.length > 0 && { requirements: requirements.map(({ name, text }) => ({ name, text })) }),
  }
}
