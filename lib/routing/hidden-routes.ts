import type { Pattern } from './pattern.ts'
import type { Route } from './route.ts'

/** A route that some requests never reach, because another route with the same path is tried first and matches them. */
export interface HiddenRoute {
  readonly route: Route
  /** The route that is tried first. */
  readonly by: Route
  /** The methods for which the route is hidden. Empty for all methods. */
  readonly methods: readonly string[]
}

/**
 * Finds routes that are hidden by an earlier route with the same path and methods. Only declarations are compared: if the
 * first route has a condition, or a host or schemes that the second does not have, both can be reached.
 */
export function findHiddenRoutes(routes: Iterable<Route>): HiddenRoute[] {
  const hidden: HiddenRoute[] = []
  const byPath = new Map<string, Route[]>()
  for (const route of routes) {
    const path = spell(route.path)
    const earlier = byPath.get(path) ?? []
    byPath.set(path, [...earlier, route])
    for (const by of earlier) {
      const methods = hiddenMethods(route, by)
      if (methods !== undefined && matchesAllElse(route, by)) hidden.push({ route, by, methods })
    }
  }
  return hidden
}

/** A sentence without a full stop. */
export function describeHiddenRoute({ by, methods, route }: HiddenRoute): string {
  const requests = methods.length === 0 ? 'any request' : methods.join(', ')
  return `The route "${route.name}" is never reached by ${requests}: "${by.name}" has the same path, ${by.path.source}, and comes first`
}

/** The pattern with its requirements, but without the names of variables: `/a/:id` and `/a/:slug` match the same paths. */
function spell({ names, requirements, source }: Pattern): string {
  const texts = names.map(name => requirements.find(requirement => requirement.name === name)?.text ?? '')
  return JSON.stringify([source.replace(/([:*])(?:"[^"]*"|[\p{ID_Start}$_][\p{ID_Continue}$]*)/gu, '$1'), texts])
}

/** `undefined` if no method is hidden; empty if all are. */
function hiddenMethods({ methods }: Route, by: Route): readonly string[] | undefined {
  if (by.methods.length === 0) return []
  if (methods.length === 0) return by.methods
  const shared = methods.filter(method => by.methods.includes(method))
  if (shared.length === 0) return undefined
  return shared.length === methods.length ? [] : shared
}

/** Whether the first of two routes matches all requests of the second, apart from path and method. */
function matchesAllElse(route: Route, by: Route): boolean {
  const isAnyHost = by.host === undefined || (route.host !== undefined && spell(route.host) === spell(by.host))
  const hasSchemes =
    by.schemes.length === 0 || (route.schemes.length > 0 && route.schemes.every(scheme => by.schemes.includes(scheme)))
  return isAnyHost && hasSchemes && (by.condition === undefined || by.condition === route.condition)
}
