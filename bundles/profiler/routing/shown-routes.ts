import type { Route } from '../../../lib/routing/route.ts'

/** The routes of the application, without those of the profiler itself. */
export function shownRoutes(routes: Iterable<Route>): Route[] {
  return [...routes].filter(({ name }) => !/^_(?:profiler|wdt)/.test(name))
}
