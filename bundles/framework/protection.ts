import type { Application } from '../../kernel/bundle.ts'
import type { FindingRule } from '../../kernel/contracts/collectors.ts'
import { RequestEvent, ResponseEvent } from '../../kernel/events.ts'
import { type HttpError, withoutStack } from '../../lib/errors/http-error.ts'
import type { EventDispatcher } from '../../lib/event-dispatcher/event-dispatcher.ts'
import {
  addCorsHeaders,
  allowsSending,
  type CorsPolicy,
  type CrossOriginSign,
  corsShape,
  createPreflightResponse,
  describeNoOrigin,
  findCorsMistakes,
  findCrossOrigin,
  isOrigin,
  readPreflight,
} from '../../lib/http/cors.ts'
import { HTTP_CROSS_ORIGIN } from '../../lib/http/errors.ts'
import { Headers } from '../../lib/http/headers.ts'
import type { Request } from '../../lib/http/request.ts'
import { isSafe } from '../../lib/http/request-target.ts'
import type { Logger } from '../../lib/log/logger.ts'
import type { RouteCollection } from '../../lib/routing/route-collection.ts'
import { RouteMatcher } from '../../lib/routing/route-matcher.ts'
import type { ShapeOf } from '../../lib/text/mistakes.ts'

/** Adds the listeners for requests of other origins, and for methods that forms cannot send. */
export function addProtection(
  { debugGate, dispatcher, logger, routes, signals }: Application,
  { cors, crossOrigin, methodOverride }: ResolvedProtection,
  refusesCrossOrigin: boolean,
): void {
  if (methodOverride) new MethodOverrideListener().subscribe(dispatcher)
  const policies = new CorsPolicies(cors)
  if (refusesCrossOrigin) {
    const services = { origins: crossOrigin, policies, logger, isDebug: debugGate.isDebug }
    new CrossOriginListener(services).subscribe(dispatcher)
  }
  // Not earlier: then all bundles have added their routes. An application without CORS has no such listener.
  signals.on('kernel.booted', () => {
    const isUsed = cors !== undefined || [...routes].some(({ defaults }) => '_cors' in defaults)
    if (isUsed) new CorsListener(policies, routes).subscribe(dispatcher)
  })
}

/** The options of {@link createFrameworkBundle} against misuse by other sites. */
export interface ProtectionOptions {
  /**
   * Other origins whose pages may send requests that change something, to all routes: `https://admin.example.org`. The
   * default `_cross_origin` of a route is an exception for one route.
   */
  readonly crossOrigin?: readonly string[] | undefined
  /** Other origins whose scripts may read the responses of all routes. The default `_cors` of a route replaces it. */
  readonly cors?: CorsPolicy | undefined
  /**
   * Headers of all responses with a body, in addition to {@link defaultHeaders} or instead of them. `false` removes a
   * default. A header that a response has already wins.
   */
  readonly headers?: Readonly<Record<string, string | false>> | undefined
  /**
   * Whether a POST with the query parameter `_method` counts as PUT, PATCH or DELETE: HTML forms
   * only know GET and POST.
   */
  readonly methodOverride?: boolean | undefined
}

/** The checked options. */
export interface ResolvedProtection {
  readonly crossOrigin: readonly string[]
  readonly cors: CorsPolicy | undefined
  readonly headers: Headers
  readonly methodOverride: boolean
}

/** The headers of all responses with a body; by default browsers then show fewer errors of an application to others. */
export const defaultHeaders: Readonly<Record<string, string>> = {
  // Otherwise a browser may interpret a text of a client as a script or a page.
  'x-content-type-options': 'nosniff',
  // Only pages of the same origin show a page in a frame: a click in a hidden frame is no click of the user.
  'x-frame-options': 'SAMEORIGIN',
  // Other sites learn the origin of a link, not its path.
  'referrer-policy': 'strict-origin-when-cross-origin',
}

/** The shape of the options, which is checked before {@link findProtectionMistakes}. */
export const protectionShape: ShapeOf<ProtectionOptions> = {
  crossOrigin: 'list',
  cors: corsShape,
  headers: 'object',
  methodOverride: 'boolean',
}

/** Lists the mistakes of options that have the right shape. Each one is a sentence without a full stop. */
export function findProtectionMistakes(options: ProtectionOptions): string[] {
  const { cors, crossOrigin = [], headers = {} } = options
  return [
    ...crossOrigin.filter(origin => !isOrigin(origin)).map(origin => describeNoOrigin('crossOrigin', origin)),
    ...(cors === undefined ? [] : findCorsMistakes(cors, 'cors')),
    ...Object.entries(headers).flatMap(([name, value]) => findHeaderMistakes(name, value)),
  ]
}

function findHeaderMistakes(name: string, value: string | false): string[] {
  if (value === false) return []
  try {
    if (typeof value === 'string') new Headers({ [name]: value })
    else return [`headers.${name} is "${value}": use a text, or false to remove it`]
    return []
  } catch (error) {
    return [`headers.${name} is "${value}": ${(error as Error).message.replace(/\.$/, '')}`]
  }
}

/** Adds the defaults to checked options. */
export function resolveProtection(options: ProtectionOptions): ResolvedProtection {
  const { cors, crossOrigin = [], headers = {}, methodOverride = false } = options
  const own = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value] as const)
  const all = { ...defaultHeaders, ...Object.fromEntries(own) }
  const kept = Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== false)
  return { crossOrigin, cors, headers: new Headers(kept), methodOverride }
}

/** After routing (32): a route can be an exception. Before the body is read (10). */
const crossOriginPriority = 30

/** Milliseconds between two warnings about one kind of refused requests. */
const warningInterval = 60_000

interface CrossOriginListenerServices {
  /** Origins whose pages may send requests to all routes. */
  readonly origins: readonly string[]
  readonly policies: CorsPolicies
  readonly logger: Logger
  /** In debug mode each refusal is logged as an error anyway, with its place. */
  readonly isDebug: boolean
  /** Milliseconds; the clock of the process by default. */
  readonly now?: () => number
}

/**
 * Refuses requests that pages of other origins make a browser send, if their method may change something: all but GET,
 * HEAD, OPTIONS and QUERY. The default `_cross_origin` of a route, and the origins of its CORS policy, are exceptions.
 */
export class CrossOriginListener {
  readonly #services: CrossOriginListenerServices
  readonly #now: () => number
  readonly #warnings = new Map<string, { readonly time: number; refused: number }>()

  constructor(services: CrossOriginListenerServices) {
    this.#services = services
    this.#now = services.now ?? (() => performance.now())
  }

  subscribe(dispatcher: EventDispatcher): void {
    dispatcher.subscribe(RequestEvent, this, 'onRequest', crossOriginPriority)
  }

  onRequest({ isMainRequest, request }: RequestEvent): void {
    const { method } = request
    if (isSafe(method) || !isMainRequest) return
    const { isDebug, origins, policies } = this.#services
    const sign = findCrossOrigin(request, origins)
    if (sign === undefined || isException(request) || policies.allowsSending(request)) return
    if (!isDebug) this.#warn(request, sign)
    throw isDebug ? refuse(request, sign) : withoutStack(() => refuse(request, sign))
  }

  /**
   * In production a refusal is below the default level of the log, as all mistakes of clients; one in a minute is not.
   */
  #warn({ attributes, headers, method, origin }: Request, { header, value }: CrossOriginSign): void {
    // The value of Origin is a text of the client: it must not make more kinds.
    const kind = header === 'origin' ? header : value === 'same-site' ? value : 'cross-site'
    const last = this.#warnings.get(kind)
    const time = this.#now()
    if (last !== undefined && time - last.time < warningInterval) {
      last.refused++
      return
    }
    this.#warnings.set(kind, { time, refused: 0 })
    this.#services.logger.warning(
      'A {method} request to the route "{route}" was refused: its {header} is "{value}". The origin of the application is {origin}.',
      {
        method,
        route: attributes.get('_route'),
        header,
        value,
        origin,
        from: headers.get('origin'),
        refused_before: last?.refused ?? 0,
      },
    )
  }
}

/** Whether the route of a request accepts it from other origins. */
function isException({ attributes, headers }: Request): boolean {
  const exception = attributes.get('_cross_origin') ?? false
  return Array.isArray(exception) ? exception.includes(headers.get('origin') ?? '') : exception === true
}

function refuse({ method, origin }: Request, { header, value }: CrossOriginSign): HttpError {
  const name = header === 'origin' ? 'Origin' : 'Sec-Fetch-Site'
  return new HTTP_CROSS_ORIGIN([method, name, value, origin], { headers: { vary: 'Sec-Fetch-Site, Origin' } })
}

/** Before the router, which refuses OPTIONS for most routes. */
const corsRequestPriority = 33

/** The default. */
const corsResponsePriority = 0

/** Answers preflight requests, and lets scripts of other origins read responses, by the CORS policies. */
class CorsListener {
  readonly #policies: CorsPolicies
  readonly #routes: RouteCollection
  #matcher: RouteMatcher | undefined

  constructor(policies: CorsPolicies, routes: RouteCollection) {
    this.#policies = policies
    this.#routes = routes
  }

  subscribe(dispatcher: EventDispatcher): void {
    dispatcher.subscribe(RequestEvent, this, 'onRequest', corsRequestPriority)
    dispatcher.subscribe(ResponseEvent, this, 'onResponse', corsResponsePriority)
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

  onResponse(event: ResponseEvent): void {
    const policy = event.isMainRequest ? this.#policies.find(event.request) : undefined
    if (policy !== undefined) event.complete(({ headers }, request) => addCorsHeaders(headers, policy, request))
  }
}

/** Before the router, which finds the route by the method, and before static files. */
const methodOverridePriority = 100

const methods: readonly string[] = ['PUT', 'PATCH', 'DELETE']

/** Gives a POST the method in its query parameter `_method`: an HTML form cannot send PUT, PATCH or DELETE. */
class MethodOverrideListener {
  subscribe(dispatcher: EventDispatcher): void {
    dispatcher.subscribe(RequestEvent, this, 'onRequest', methodOverridePriority)
  }

  onRequest({ isMainRequest, request }: RequestEvent): void {
    if (!isMainRequest || request.method !== 'POST' || !request.queryString.includes('_method=')) return
    const method = request.query.get('_method')?.toUpperCase() ?? ''
    if (methods.includes(method)) request.method = method
  }
}

/** The CORS policies of an application: that of a route (`_cors`), or the one for all routes. */
export class CorsPolicies {
  readonly #general: CorsPolicy | undefined

  constructor(general?: CorsPolicy) {
    this.#general = general
  }

  /** Finds the policy of a matched request. */
  find({ attributes }: Pick<Request, 'attributes'>): CorsPolicy | undefined {
    return this.choose(attributes.get('_cors'))
  }

  /** Chooses between the policy of a route and the general one. */
  choose(own: CorsPolicy | false | undefined): CorsPolicy | undefined {
    return own === undefined ? this.#general : own || undefined
  }

  /** Whether the policy of a request names its origin, so that it may change something. */
  allowsSending(request: Request): boolean {
    const policy = this.find(request)
    return policy !== undefined && allowsSending(policy, request)
  }
}

/** Finds requests that were refused because a page of another origin has sent them, and says how to accept them. */
export const crossOriginRule: FindingRule = {
  name: 'cross-origin-request',
  title: 'Request of another origin',
  find({ summary: { exception } }) {
    if (exception !== HTTP_CROSS_ORIGIN.code) return []
    return [
      {
        severity: 'info',
        problem: 'The request was refused: a page of another origin has sent it.',
        advice:
          'If the page may send it, name its origin in the default _cross_origin of the route. If it is a page of this application, a proxy changes the host or the scheme: set TRUSTED_PROXIES.',
        place: { panel: 'exception' },
        evidence: {},
      },
    ]
  },
}
