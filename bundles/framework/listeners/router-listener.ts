import { relative } from 'node:path'
import type { Application } from '../../../kernel/bundle.ts'
import { redirectController } from '../../../kernel/controller.ts'
import type { DebugGate } from '../../../kernel/debug/debug-gate.ts'
import { KERNEL_METHOD_NOT_ALLOWED, KERNEL_NO_ROUTE } from '../../../kernel/errors.ts'
import { RequestEvent } from '../../../kernel/events.ts'
import { type HttpErrorOptions, withoutStack } from '../../../lib/errors/http-error.ts'
import type { EventDispatcher } from '../../../lib/event-dispatcher/event-dispatcher.ts'
import type { KnownAttributes, Request } from '../../../lib/http/request.ts'
import { knownMethods, refusedMethods } from '../../../lib/http/request-target.ts'
import { Response } from '../../../lib/http/response.ts'
import type { StaticFiles } from '../../../lib/http/static-files.ts'
import type { LogContext, Logger } from '../../../lib/log/logger.ts'
import { ROUTE_METHOD_NOT_ALLOWED, ROUTE_NOT_FOUND } from '../../../lib/routing/errors.ts'
import type { RouteCollection } from '../../../lib/routing/route-collection.ts'
import { RouteMatcher } from '../../../lib/routing/route-matcher.ts'

/** After validation, session and static files; before listeners that need the route. Symfony's priority. */
export const routingPriority = 32

/** The services that the router uses. For the files a request without a route has the wrong method. */
interface RouterServices extends Pick<Application, 'directory' | 'routes' | 'urls'> {
  readonly debugGate: Pick<DebugGate, 'isDebug'>
  readonly files: Pick<StaticFiles, 'find' | 'findMisplaced'>
  readonly logger: Logger
}

/**
 * Finds the route of a request and sets its parameters, `_route`, `_route_params` and
 * `_controller` as attributes. A request with a controller (a forward, the error page) keeps it.
 * `OPTIONS *` is for the whole server, and is answered here.
 */
export class RouterListener {
  readonly #routes: RouteCollection
  readonly #urls: Application['urls']
  readonly #logger: Logger
  readonly #isDebug: boolean
  readonly #files: Pick<StaticFiles, 'find' | 'findMisplaced'>
  readonly #directory: string
  #matcher: RouteMatcher | undefined
  /** The number of routes of the matcher. */
  #size = 0

  /**
   * Outside of debug mode, errors have no stack and no cause: both are always the same, and scanners cause many.
   */
  constructor({ debugGate, directory, files, logger, routes, urls }: RouterServices) {
    this.#directory = directory
    this.#routes = routes
    this.#urls = urls
    this.#logger = logger.channel('request')
    this.#isDebug = debugGate.isDebug
    this.#files = files
  }

  subscribe(dispatcher: EventDispatcher): void {
    dispatcher.subscribe(RequestEvent, this, 'onRequest', routingPriority)
  }

  /** Prepares the routes of all bundles for the first request: many of them take a moment. */
  prepare(): RouteMatcher {
    this.#size = this.#routes.size
    this.#matcher = new RouteMatcher(this.#routes)
    return this.#matcher
  }

  onRequest(event: RequestEvent): void {
    const { request } = event
    request.provideUrls(this.#urls)
    if (request.attributes.has('_controller')) return
    // A test may add routes to a booted application.
    const matcher = this.#size === this.#routes.size ? (this.#matcher ?? this.prepare()) : this.prepare()
    const match = matcher.match(request)
    if (match.outcome === 'method-not-allowed') {
      event.fail(this.#refuse(request, match.allow))
      return
    }
    // The route takes all methods.
    if (match.outcome === 'match' && refusedMethods.includes(request.method)) {
      event.fail(this.#refuse(request, knownMethods))
      return
    }
    if (match.outcome === 'not-found' && request.rawPath === '*') {
      event.respond(new Response(null, { status: 204, headers: { allow: knownMethods.join(', ') } }))
      return
    }
    if (match.outcome === 'not-found') {
      const isFile = !fileMethods.includes(request.method) && this.#files.find(request.path) !== undefined
      event.fail(isFile ? this.#refuse(request, fileMethods) : this.#miss(request, match.path))
      return
    }

    const { parameters, route } = match
    const { attributes } = request
    for (const name in parameters) attributes.set(name, parameters[name])
    attributes.set('_route', route.name)
    attributes.set('_route_params', parameters)
    // The controller of a route may be of any type here; the resolver refuses what it cannot call.
    const controller = route.controller as KnownAttributes['_controller']
    attributes.set('_controller', match.outcome === 'redirect' ? redirectController : controller)
    if (match.outcome === 'redirect') attributes.set('_location', match.location)
    if (!this.#logger.isLevelEnabled('debug') || attributes.get('_log') === false) return
    this.#logger.withRequestId(request.id).debug('Matched route "{route}".', {
      route: route.name,
      route_parameters: parameters,
      request_uri: request.url,
      method: request.method,
    })
  }

  #miss(request: Request, path: string): Error {
    const found = this.#isDebug ? this.#files.findMisplaced(this.#directory, path) : undefined
    if (found !== undefined)
      this.#advise(request, 'The URL of the file {file} is {url}.', {
        ...found,
        file: relative(this.#directory, found.file),
      })
    const referer = request.headers.get('referer')
    const origin = referer ? ` (from "${referer}")` : ''
    return this.#createError(
      () => new ROUTE_NOT_FOUND([path]),
      options => new KERNEL_NO_ROUTE([request.method, urlWithoutQuery(request), origin], options),
    )
  }

  #refuse(request: Request, methods: readonly string[]): Error {
    const allow = methods.join(', ')
    const advice = this.#isDebug ? adviseOnMethod(request, methods) : undefined
    if (advice !== undefined) this.#advise(request, advice, { allow })
    return this.#createError(
      () => new ROUTE_METHOD_NOT_ALLOWED([]),
      options =>
        new KERNEL_METHOD_NOT_ALLOWED([request.method, urlWithoutQuery(request), allow], {
          ...options,
          headers: { allow },
        }),
    )
  }

  #advise(request: Request, advice: string, context: LogContext): void {
    this.#logger.withRequestId(request.id).warning(advice, context)
  }

  #createError(createCause: () => Error, create: (options?: HttpErrorOptions) => Error): Error {
    return this.#isDebug ? create({ cause: createCause() }) : withoutStack(create)
  }
}

/** Why a client sends a method that the routes of the path do not have. */
function adviseOnMethod({ headers, method }: Request, methods: readonly string[]): string | undefined {
  if (method === 'OPTIONS' && headers.has('access-control-request-method')) return preflight
  const isOfForm = (method === 'GET' || method === 'POST') && methods.some(each => /^(?:PUT|PATCH|DELETE)$/.test(each))
  return isOfForm ? formMethod : undefined
}

const preflight =
  'A script of another origin asks whether it may send a request: allow it by the option "cors" of createFrameworkBundle(), or by the default "_cors" of the route.'
const formMethod =
  'If a form or a link has sent this: they send GET or POST only. With createFrameworkBundle({ methodOverride: true }) a POST with ?_method={allow} has that method.'

const fileMethods: readonly string[] = ['GET', 'HEAD']

function urlWithoutQuery({ basePath, origin, rawPath }: Request): string {
  return `${origin}${basePath}${rawPath}`
}
