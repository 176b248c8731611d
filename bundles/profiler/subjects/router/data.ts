import * as v from 'valibot'
import { type NearRoute, outcomesByNearness } from '../../../../lib/routing/nearest-routes.ts'
import { check, count, flag, list, maybe, type Schema, text, texts } from '../../profile/schema.ts'

/** The result of the router. */
export type RouterData = FoundRouteData | RedirectRouteData | MissingRouteData

/** A route that matched. */
export interface FoundRouteData {
  readonly outcome: 'match'
  readonly route: string
  readonly parameters?: unknown
  /** The pattern of a route of another server, such as `/users/:id`. */
  readonly pattern?: string | undefined
  /** The route is not known: the pattern is made of the path. */
  readonly isMadeOfPath?: boolean | undefined
  /** Of a 404 of another server without a route: the nearest of the routes that earlier requests met. */
  readonly nearest?: string | undefined
  /** The guard that has answered or refused the request. */
  readonly guard?: string | undefined
  /** The page cache has answered the request. */
  readonly cached?: CachedPageData | undefined
  /** The route that the framework of a mounted handler has found. */
  readonly mounted?: MountedRouteData | undefined
}

/** A page of the page cache. */
interface CachedPageData {
  /** Seconds since the page was stored. */
  readonly age: number
  /** Whether its lifetime was over: it is made again after the response. */
  readonly isStale: boolean
}

/** A route of another framework. */
interface MountedRouteData {
  /** With the path of the mount, such as `/legacy/orders/:id`. */
  readonly pattern: string
  readonly parameters?: unknown
}

/** A route that matched after its slash was corrected. */
export interface RedirectRouteData {
  readonly outcome: 'redirect'
  readonly route: string
  readonly parameters?: unknown
  readonly location: string
}

/** No route matched. */
export interface MissingRouteData {
  readonly outcome: 'not-found' | 'method-not-allowed'
  /** The methods that the routes of the path declare; of a 405. */
  readonly allow?: readonly string[] | undefined
  /** The nearest first. */
  readonly nearest: readonly NearRoute[]
  /** How many routes there were. */
  readonly total: number
}

/** The routes of the process, in the order in which they are tried. */
export type RouterProcessData = v.InferOutput<typeof routerProcessSchema>

/** A route; absent lists stand for all methods or schemes. */
export type RouteData = RouterProcessData['routes'][number]

const nearRoute: Schema<NearRoute> = v.object({
  position: count,
  name: text,
  path: text,
  reason: v.fallback(v.picklist(outcomesByNearness), 'path'),
  text,
})

export const routerSchema: Schema<RouterData> = v.variant('outcome', [
  v.object({
    outcome: v.literal('match'),
    route: text,
    parameters: v.optional(v.unknown()),
    /** The pattern of a route of another server; without its framework, the path with `*` in the place of numbers. */
    pattern: maybe(text),
    /** Whether the pattern is made of the path, because the route is not known. */
    isMadeOfPath: maybe(flag),
    /** Of a 404 of another server: the nearest of the routes that earlier requests met, such as `GET /users/:id`. */
    nearest: maybe(text),
    guard: maybe(text),
    /** The page of the page cache that was sent, with its age in seconds. */
    cached: maybe(v.object({ age: count, isStale: flag })),
    mounted: maybe(v.object({ pattern: text, parameters: v.optional(v.unknown()) })),
  }),
  v.object({ outcome: v.literal('redirect'), route: text, parameters: v.optional(v.unknown()), location: text }),
  v.object({
    outcome: v.picklist(['not-found', 'method-not-allowed']),
    allow: maybe(texts),
    nearest: list(nearRoute),
    total: count,
  }),
])

export const routerProcessSchema = v.object({
  routes: list(
    v.object({
      name: text,
      path: text,
      controller: text,
      methods: maybe(texts),
      host: maybe(check.text),
      schemes: maybe(texts),
      guards: maybe(texts),
      /** Its cache policy, such as `public, max-age=60; etag`. */
      cache: maybe(text),
      requirements: maybe(list(v.object({ name: text, text }))),
    }),
  ),
})

/** The parts of the URL of a request. */
interface UrlParts {
  readonly scheme: 'http' | 'https'
  /** With its port; `undefined` of a request without a host. */
  readonly host: string | undefined
  /** As it stands in the request line: `/path?query`. */
  readonly target: string
}

/** Splits a recorded URL into its parts, without decoding or resolving it. `undefined` if it is no URL. */
export function splitUrl(url: string): UrlParts | undefined {
  const [, scheme, host, target] = /^(?:(https?):\/\/([\w.:[\]-]+))?([/*].*)$/s.exec(url) ?? []
  return target === undefined ? undefined : { scheme: scheme === 'https' ? 'https' : 'http', host, target }
}
