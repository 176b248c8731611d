import type { Pattern } from './pattern.ts'
import type { Route } from './route.ts'

/** A route that some requests never reach: another route with the same path is tried first, and takes them. */
export interface HiddenRoute {
  readonly route: Route
  /** The route that is tried first. */
  readonly by: Route
  /** The methods for which the route is hidden; empty for all. */
  readonly methods: readonly string[]
}

/**
 * Finds routes that are hidden by an earlier one with the same path and methods. Only differences that are written down are
 * compared: routes of which the first has a condition, or a host or schemes that the second has not, may both be reached.
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
      if (methods !== undefined && takesAllElse(route, by)) hidden.push({ route, by, methods })
    }
  }
  return hidden
}

/** A sentence without its full stop. */
export function describeHiddenRoute({ by, methods, route }: HiddenRoute): string {
  const requests = methods.length === 0 ? 'any request' : methods.join(', ')
  return `The route "${route.name}" is never reached by ${requests}: "${by.name}" has the same path, ${by.path.source}, and comes first`
}

/** The pattern with its requirements, and without the names of its variables: `/a/:id` and `/a/:slug` take the same paths. */
function spell({ names, requirements, source }: Pattern): string {
  const texts = names.map(name => requirements.find(requirement => requirement.name === name)?.text ?? '')
  return JSON.stringify([source.replace(/([:*])(?:"[^"]*"|[\p{ID_Start}$_][\p{ID_Continue}$]*)/gu, '$1'), texts])
}

/** `undefined` where there are none; empty where there is nothing left for the second route. */
function hiddenMethods({ methods }: Route, by: Route): readonly string[] | undefined {
  if (by.methods.length === 0) return []
  if (methods.length === 0) return by.methods
  const shared = methods.filter(method => by.methods.includes(method))
  if (shared.length === 0) return undefined
  return shared.length === methods.length ? [] : shared
}

/** Whether the first of two routes takes whatever the second one takes, as far as path and method have no say. */
function takesAllElse(route: Route, by: Route): boolean {
  const isAnyHost = by.host === undefined || (route.host !== undefined && spell(route.host) === spell(by.host))
  const hasSchemes =
    by.schemes.length === 0 || (route.schemes.length > 0 && route.schemes.every(scheme => by.schemes.includes(scheme)))
  return isAnyHost && hasSchemes && (by.condition === undefined || by.condition === route.condition)
}
