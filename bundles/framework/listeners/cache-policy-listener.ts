import { ResponseEvent } from '../../../kernel/events.ts'
import type { EventDispatcher } from '../../../lib/event-dispatcher/event-dispatcher.ts'
import { type CachePolicy, isShared, toCacheControl } from '../../../lib/http/cache-policy.ts'
import { isRetrieval } from '../../../lib/http/conditions.ts'
import { addVary } from '../../../lib/http/headers.ts'
import type { Request } from '../../../lib/http/request.ts'
import type { Response } from '../../../lib/http/response.ts'
import type { Logger } from '../../../lib/log/logger.ts'

/** Before the ResponseListener, which completes a missing Cache-Control. */
const policyPriority = 1

/** After listeners that change the page, and before the toolbar, whose token differs each time. */
const etagPriority = -100

/** After the session is saved: from then on no listener sets a cookie. */
const privacyPriority = -1001

/**
 * Applies the cache policies of routes (`_cache`) to successful responses to GET and HEAD. A
 * Cache-Control that a controller has set stays. A response for one client never becomes public:
 * one with a cookie, a used session or a login by Authorization.
 */
export class CachePolicyListener {
  readonly #logger: Logger
  readonly #isDebug: boolean
  readonly #placeOf: (request: Request) => string

  /**
   * In debug mode, a public policy that does not apply to a response is logged. `placeOf` says where its request has
   * used the session.
   */
  constructor(logger: Logger, isDebug: boolean, placeOf: (request: Request) => string) {
    this.#logger = logger
    this.#isDebug = isDebug
    this.#placeOf = placeOf
  }

  subscribe(dispatcher: EventDispatcher): void {
    dispatcher.subscribe(ResponseEvent, this, 'onResponse', policyPriority)
    dispatcher.subscribe(ResponseEvent, this, 'addEtag', etagPriority)
    dispatcher.subscribe(ResponseEvent, this, 'keepPrivate', privacyPriority)
  }

  onResponse(event: ResponseEvent): void {
    const policy = findPolicy(event.request)
    if (policy !== undefined) event.complete(response => apply(policy, response))
  }

  addEtag({ request, response }: ResponseEvent): void {
    if (response.status === 200 && findPolicy(request)?.etag === true) response.withEtag()
  }

  keepPrivate({ isMainRequest, request, response }: ResponseEvent): void {
    const policy = isMainRequest && isSuccess(response) ? findPolicy(request) : undefined
    const reason = policy && isShared(policy) ? findOwner(request, response, this.#placeOf) : undefined
    if (policy === undefined || reason === undefined) return
    const { headers } = response
    const isUnchanged = headers.get('cache-control') === toCacheControl(policy)
    if (isUnchanged) headers.set('cache-control', 'no-cache, private')
    // The SessionListener has made its response private already.
    if (!this.#isDebug || /\bpublic\b/.test(headers.get('cache-control') ?? '')) return
    const message = 'The response is private, although the route "{route}" has a public cache policy: {reason}.'
    const route = request.attributes.get('_route')
    this.#logger.withRequestId(request.id).warning(message, { route, reason })
  }
}

function findPolicy({ attributes, method }: Request): CachePolicy | undefined {
  return isRetrieval(method) ? attributes.get('_cache') || undefined : undefined
}

function isSuccess({ status }: Response): boolean {
  return status >= 200 && status < 300
}

function apply(policy: CachePolicy, response: Response): void {
  if (!isSuccess(response)) return
  const { headers } = response
  for (const name of policy.vary ?? []) addVary(headers, name)
  const control = toCacheControl(policy)
  if (control !== undefined && !headers.has('cache-control')) headers.set('cache-control', control)
}

/** Why a response is only for its client; `undefined` if it may be for all. */
function findOwner(request: Request, response: Response, placeOf: (request: Request) => string): string | undefined {
  if ((request.requestedSession?.useCount ?? 0) > 0) return `the session was used${placeOf(request)}`
  if (response.headers.has('set-cookie')) return 'it sets a cookie'
  return request.headers.has('authorization') ? 'its request has an Authorization header' : undefined
}
