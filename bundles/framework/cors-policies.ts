import { allowsSending, type CorsPolicy } from '../../lib/http/cors.ts'
import type { Request } from '../../lib/http/request.ts'

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
