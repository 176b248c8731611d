import { RequestEvent, ResponseEvent } from '../../../kernel/events.ts'
import type { EventDispatcher } from '../../../lib/event-dispatcher/event-dispatcher.ts'
import { addCorsHeaders, type CorsPolicy, createPreflightResponse, readPreflight } from '../../../lib/http/cors.ts'
import type { RouteCollection } from '../../../lib/routing/route-collection.ts'
import { RouteMatcher } from '../../../lib/routing/route-matcher.ts'
import type { CorsPolicies } from '../cors-policies.ts'

/** Before the router, which refuses OPTIONS for most routes. */
const requestPriority = 33

/** The default. */
const responsePriority = 0

/** Answers preflight requests, and lets scripts of other origins read responses, by the CORS policies. */
export class CorsListener {
  readonly #policies: CorsPolicies
  readonly #routes: RouteCollection
  #matcher: RouteMatcher | undefined

  constructor(policies: CorsPolicies, routes: RouteCollection) {
    this.#policies = policies
    this.#routes = routes
  }

  subscribe(dispatcher: EventDispatcher): void {
    dispatcher.subscribe(RequestEvent, this, 'onRequest', requestPriority)
    dispatcher.subscribe(ResponseEvent, this, 'onResponse', responsePriority)
  }

  onRequest(event: RequestEvent): void {
    const { isMainRequest, request } = event
    const method = isMainRequest ? readPreflight(request) : undefined
    if (method === undefined) return
    this.#matcher ??= new RouteMatcher(this.#routes)
    const match = this.#matcher.match(request.duplicate({ method }))
    // Without such a route, the router answers.
    if (match.outcome !== 'match') return
    // The kernel has checked the defaults of all routes.
    const own = match.parameters._cors as CorsPolicy | false | undefined
    const policy = this.#policies.choose(own)
    if (policy === undefined) return
    request.attributes.set('_route', match.route.name)
    request.attributes.set('_cors', policy)
    event.respond(createPreflightResponse(method, policy, request))
  }

  onResponse({ isMainRequest, request, response }: ResponseEvent): void {
    if (!isMainRequest) return
    const policy = this.#policies.find(request)
    if (policy !== undefined) addCorsHeaders(response.headers, policy, request)
  }
}
