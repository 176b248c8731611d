import type { CachePolicy } from '../lib/http/cache-policy.ts'
import type { CorsPolicy } from '../lib/http/cors.ts'
import type { Logger } from '../lib/log/logger.ts'
import type { RequestHandler } from '../lib/routing/route-collection.ts'
import type { Controller } from './controller.ts'

declare module '../lib/http/request.ts' {
  /**
   * The attributes of the kernel and of the framework bundle. Those marked "route" can be set as defaults of a route.
   */
  interface KnownAttributes {
    /** Answers the request: a controller, a function, or the name of a registered controller. */
    _controller: Controller | RequestHandler | string
    /** The name of the matched route. */
    _route: string
    /** The parameters of the matched route; each is an attribute of its own as well. */
    _route_params: Readonly<Record<string, unknown>>
    /** The path below a mount, decoded, without its first slash. */
    _rest: string
    /** The guard that has answered or refused the request. */
    _guard: string
    /** The page cache has answered the request: the age of the page in seconds, and whether its lifetime was over. */
    _page_cache: { readonly age: number; readonly isStale: boolean }
    /** The target of the redirect, if the path or the scheme of the request is nearly that of a route. */
    _location: string
    /** Route: the most bytes of a body. */
    _body_limit: number
    /**
     * Route: with `true`, the body is not read before the controller, which may read it as a
     * `stream()`, or as `encodedBytes()`.
     */
    _body_unread: boolean
    /** Route: with `true`, a use of the session is an error. */
    _stateless: boolean
    /**
     * Route: pages of other origins may send requests that change something: `true` for all, or a
     * list of origins, such as `https://pay.example`.
     */
    _cross_origin: boolean | readonly string[]
    /** Route: the pages of other origins whose scripts may read the response; `false` for none. */
    _cors: CorsPolicy | false
    /** Route: how long which caches may keep its responses; `false` to leave out the policy of its group. */
    _cache: CachePolicy | false
    /** Route: with `false`, the match is not logged, and the access log has no line. */
    _log: boolean
    /** Route: parameters whose values stay readable in paths, although their names look secret. */
    _public: readonly string[]
    /** The error page is shown: the Content-Security-Policy of the failed page does not apply to it. */
    _remove_csp_headers: boolean
    /** The error that the error page shows. */
    exception: unknown
    /** The logger of the error page. Nothing reads it; Symfony passes it to its error controller in the same way. */
    logger: Logger
  }
}
