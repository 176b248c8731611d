import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible'
import { type Bundle, HttpError, type Request, RequestEvent, type Response, ResponseEvent } from 'sinfonietta'

declare module 'sinfonietta' {
  interface KnownAttributes {
    /** Route: the requests that a client may send in a number of seconds. */
    _rate_limit: RateLimit
  }
}

/** So many requests in so many seconds. */
export interface RateLimit {
  readonly points: number
  readonly duration: number
}

/** Counts the requests of each client. `consume` rejects with a RateLimiterRes if there were too many. */
export interface Limiter {
  consume(client: string): Promise<RateLimiterRes>
}

/** Creates the counter of a route, whose keys begin with a prefix. */
export type CreateLimiter = (options: RateLimit & { readonly keyPrefix: string }) => Limiter

/** After the router (32), and before the body is read (10). */
const priority = 25

/** Limits the requests of routes with the default `_rate_limit`. By default each process counts for itself. */
export function createLimitsBundle(createLimiter: CreateLimiter = options => new RateLimiterMemory(options)): Bundle {
  const limiters = new Map<string, Limiter>()
  const counts = new WeakMap<Request, RateLimiterRes>()

  const count = async (request: Request, route: string, limit: RateLimit): Promise<void> => {
    const limiter = limiters.get(route) ?? createLimiter({ ...limit, keyPrefix: route })
    limiters.set(route, limiter)
    try {
      counts.set(request, await limiter.consume(request.clientIp))
    } catch (error) {
      if (!(error instanceof RateLimiterRes)) throw error
      counts.set(request, error)
      const headers = { 'retry-after': secondsUntilNext(error) }
      throw new HttpError(429, 'Too many requests. Please wait.', { headers })
    }
  }

  return {
    name: 'limits',
    routeDefaults: ['_rate_limit'],
    register({ dispatcher }) {
      const onRequest = ({ isMainRequest, request }: RequestEvent) => {
        const limit = request.attributes.get('_rate_limit')
        return isMainRequest && limit ? count(request, String(request.attributes.get('_route')), limit) : undefined
      }
      // The header fields of draft-ietf-httpapi-ratelimit-headers-11.
      const onResponse = (event: ResponseEvent) => event.complete(addFields)
      const addFields = ({ headers }: Response, request: Request) => {
        const found = counts.get(request)
        const limit = request.attributes.get('_rate_limit')
        if (found === undefined || limit === undefined) return
        const name = `"${request.attributes.get('_route')}"`
        headers.set('ratelimit-policy', `${name};q=${limit.points};w=${limit.duration}`)
        headers.set('ratelimit', `${name};r=${found.remainingPoints};t=${secondsUntilNext(found)}`)
      }
      dispatcher.on(RequestEvent, onRequest, priority)
      dispatcher.on(ResponseEvent, onResponse)
    },
  }
}

function secondsUntilNext({ msBeforeNext }: RateLimiterRes): string {
  return String(Math.ceil(msBeforeNext / 1000))
}
