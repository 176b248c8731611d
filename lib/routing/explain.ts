import type { Request } from '../http/request.ts'
import type { Evaluation, Route } from './route.ts'
import type { RouteCollection } from './route-collection.ts'
import { correctSlash } from './trailing-slash.ts'

/** Why a route takes a request, or the first reason why it does not. */
export interface RouteExplanation {
  readonly name: string
  readonly path: string
  /** `slash`: the route takes the path with its slash added or removed. */
  readonly reason: Evaluation['outcome'] | 'slash'
  /** The reason as a sentence without its full stop. */
  readonly text: string
}

/** Tells for each route, in the order in which they are tried, whether it takes the request. */
export function explainRoutes(routes: RouteCollection, request: Request): RouteExplanation[] {
  return [...routes].map(route => {
    const evaluation = route.evaluate(request)
    const isSlashWrong =
      evaluation.outcome === 'path' && correctSlash(request.path).some(path => route.path.match(path)?.names)
    const because = isSlashWrong ? ({ outcome: 'slash' } as const) : evaluation
    return { name: route.name, path: route.path.source, reason: because.outcome, text: toText(because, route, request) }
  })
}

function toText(because: Evaluation | { outcome: 'slash' }, route: Route, request: Request): string {
  switch (because.outcome) {
    case 'match':
      return 'Route matches!'
    case 'path':
      return 'Path does not match'
    case 'slash':
      return 'Path almost matches, but for the slash at its end'
    case 'requirement':
      return `Requirement for "${because.requirement.name}" does not match (${because.requirement.text})`
    case 'host':
      return `Host "${request.hostname}" does not match the requirement ("${route.host?.source}")`
    case 'condition':
      return `Condition "${route.condition}" does not evaluate to "true"`
    case 'scheme':
      return `Scheme "${request.scheme}" does not match any of the required schemes (${route.schemes.join(', ')})`
    case 'method': {
      const required = route.methods.join(', ')
      return `Path almost matches, but Method "${request.method}" does not match any of the required methods (${required})`
    }
  }
}
