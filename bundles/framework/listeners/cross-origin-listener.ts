import { RequestEvent } from '../../../kernel/events.ts'
import { type HttpError, withoutStack } from '../../../lib/errors/http-error.ts'
import type { EventDispatcher } from '../../../lib/event-dispatcher/event-dispatcher.ts'
import { type CrossOriginSign, findCrossOrigin } from '../../../lib/http/cross-origin.ts'
import { HTTP_CROSS_ORIGIN } from '../../../lib/http/errors.ts'
import type { Request } from '../../../lib/http/request.ts'
import type { Logger } from '../../../lib/log/logger.ts'
import type { CorsPolicies } from '../cors-policies.ts'

/** After routing (32): a route can be an exception. Before the body is read (10). */
const priority = 30

/** Milliseconds between two warnings about one kind of refused requests. */
const warningInterval = 60_000

/** The services and options of the listener. */
export interface CrossOriginListenerServices {
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
 * Refuses requests that pages of other origins make a browser send, if their method may change something: all but GET, HEAD
 * and OPTIONS. The default `_cross_origin` of a route, and the origins of its CORS policy, are exceptions.
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
    dispatcher.subscribe(RequestEvent, this, 'onRequest', priority)
  }

  onRequest({ isMainRequest, request }: RequestEvent): void {
    const { method } = request
    if (method === 'GET' || method === 'HEAD' || method === 'OPTIONS' || !isMainRequest) return
    const { isDebug, origins, policies } = this.#services
    const sign = findCrossOrigin(request, origins)
    if (sign === undefined || isException(request) || policies.allowsSending(request)) return
    if (!isDebug) this.#warn(request, sign)
    throw isDebug ? refuse(request, sign) : withoutStack(() => refuse(request, sign))
  }

  /** In production a refusal is below the default level of the log, as all mistakes of clients; one in a minute is not. */
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
