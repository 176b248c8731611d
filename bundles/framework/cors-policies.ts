import { allowsSending, type CorsPolicy, findCorsMistakes } from '../../lib/http/cors.ts'
import type { Request } from '../../lib/http/request.ts'
import { FRAMEWORK_ROUTE_INVALID, listMistakes } from './errors.ts'

/** The CORS policies of an application: that of a route (`_cors`), or the one for all routes. */
export class CorsPolicies {
  readonly #general: CorsPolicy | undefined
  /** The policies of routes that were checked. */
  readonly #checked = new WeakSet<CorsPolicy>()

  constructor(general?: CorsPolicy) {
    this.#general = general
  }

  /** Finds the policy of a matched request. @throws FRAMEWORK_ROUTE_INVALID */
  find({ attributes }: Pick<Request, 'attributes'>): CorsPolicy | undefined {
    return this.choose(attributes.get('_cors'), attributes.get('_route') ?? '')
  }

  /** Chooses between the policy of a route and the general one. @throws FRAMEWORK_ROUTE_INVALID */
  choose(own: CorsPolicy | false | undefined, route: string): CorsPolicy | undefined {
    if (own === undefined) return this.#general
    if (own === false) return undefined
    if (this.#checked.has(own)) return own
    const mistakes = findCorsMistakes(own)
    if (mistakes.length > 0) throw new FRAMEWORK_ROUTE_INVALID([route, listMistakes(mistakes)])
    this.#checked.add(own)
    return own
  }

  /** Whether the policy of a request names its origin, so that it may change something. @throws FRAMEWORK_ROUTE_INVALID */
  allowsSending(request: Request): boolean {
    const policy = this.find(request)
    return policy !== undefined && allowsSending(policy, request)
  }
}
