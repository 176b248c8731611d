import type { FindingRule } from '../../kernel/contracts/collectors.ts'
import { describeHiddenRoute, findHiddenRoutes, type HiddenRoute } from '../../lib/routing/hidden-routes.ts'
import type { RouteCollection } from '../../lib/routing/route-collection.ts'

/** Creates the rule for requests of a route that hides a later route: no request reaches the later one. */
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
      const hidden = known.filter(
        ({ by, methods }) => by.name === route && (methods.length === 0 || methods.includes(method)),
      )
      const [first] = hidden
      if (first === undefined) return []
      const more = hidden.length === 1 ? '' : `; so it is with ${formatCount(hidden.length - 1)}`
      return [
        {
          severity: 'warning',
          problem: `${describeHiddenRoute(first)}${more}.`,
          advice: 'Remove one of the two routes, or give one of them another path, other methods or a higher priority.',
          place: { panel: 'router' },
          evidence: { routes: hidden.length },
        },
      ]
    },
  }
}

function formatCount(count: number): string {
  return count === 1 ? 'one more route' : `${count} more routes`
}
