import type { FindingRule } from '../../kernel/profiler-contract.ts'
import { describeHiddenRoute, findHiddenRoutes, type HiddenRoute } from '../../lib/routing/hidden-routes.ts'
import type { RouteCollection } from '../../lib/routing/route-collection.ts'

/** Creates the rule that finds requests of a route with the same path as a later route, which such requests never reach. */
export function createHiddenRouteRule(routes: RouteCollection): FindingRule {
  let known: readonly HiddenRoute[] = []
  let size = 0
  return {
    name: 'hidden-route',
    title: 'Route never reached',
    find({ summary: { method, route } }) {
      if (routes.size !== size) {
        known = findHiddenRoutes(routes)
        size = routes.size
      }
      return known
        .filter(({ by, methods }) => by.name === route && (methods.length === 0 || methods.includes(method)))
        .map(hidden => ({
          severity: 'warning',
          problem: `${describeHiddenRoute(hidden)}.`,
          advice: 'Remove one of the two routes, or give one of them another path, other methods or a higher priority.',
          place: { panel: 'router' },
          evidence: {},
        }))
    },
  }
}
