import { ROUTE_NAME_TAKEN } from './errors.ts'
import { Route, type RouteDefinition } from './route.ts'

/** The routes of an application, in the order in which they are tried: by priority, then as they were declared. */
export class RouteCollection<controller = unknown> implements Iterable<Route> {
  readonly #ordered: Route[] = []
  readonly #named = new Map<string, Route>()

  get size(): number {
    return this.#ordered.length
  }

  get names(): Iterable<string> {
    return this.#named.keys()
  }

  /** Declares a route. @throws ROUTE_DEFINITION_INVALID ROUTE_NAME_TAKEN */
  add(definition: RouteDefinition<controller>): Route {
    const route = new Route(definition)
    const taken = this.#named.get(route.name)
    if (taken !== undefined) throw new ROUTE_NAME_TAKEN([route.name, route.path.source, taken.path.source])
    this.#named.set(route.name, route)
    const earlier = this.#ordered.findLastIndex(other => other.priority >= route.priority)
    this.#ordered.splice(earlier + 1, 0, route)
    return route
  }

  find(name: string): Route | undefined {
    return this.#named.get(name)
  }

  [Symbol.iterator](): Iterator<Route> {
    return this.#ordered.values()
  }
}
