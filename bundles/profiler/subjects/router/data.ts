import * as v from 'valibot'
import { type NearRoute, outcomesByNearness } from '../../../../lib/routing/nearest-routes.ts'
import { check, count, flag, list, maybe, type Schema, text, texts } from '../../profile/schema.ts'

/** The result of the router. */
export type RouterData = v.InferOutput<typeof routerSchema>

/** Some of its outcomes. */
export type RouterDataOf<Outcome extends RouterData['outcome']> = Extract<RouterData, { readonly outcome: Outcome }>

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

export const routerSchema = v.variant('outcome', [
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
    /** The guard that has answered or refused the request. */
    guard: maybe(text),
    /** The page of the page cache that was sent, with its age in seconds. */
    cached: maybe(v.object({ age: count, isStale: flag })),
    /** The route that the framework of a mounted handler has found, such as `/legacy/orders/:id`. */
    mounted: maybe(v.object({ pattern: text, parameters: v.optional(v.unknown()) })),
  }),
  v.object({ outcome: v.literal('redirect'), route: text, parameters: v.optional(v.unknown()), location: text }),
  v.object({
    outcome: v.picklist(['not-found', 'method-not-allowed']),
    /** The methods that the routes of the path declare; of a 405. */
    allow: maybe(texts),
    /** The nearest first. */
    nearest: list(nearRoute),
    /** How many routes there were. */
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

/** Splits a recorded URL into its parts, without decoding or resolving it. `undefined` if it is no URL. */
export function splitUrl(url: string) {
  const [, scheme, host, target] = /^(?:(https?):\/\/([\w.:[\]-]+))?([/*].*)$/s.exec(url) ?? []
  return target === undefined ? undefined : ({ scheme: scheme === 'https' ? 'https' : 'http', host, target } as const)
}
