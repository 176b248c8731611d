import type { Request } from '../http/request.ts'
import type { Evaluation, Route } from './route.ts'

/** Why a route takes a request, or the first reason why it does not. */
export interface RouteExplanation {
  readonly name: string
  readonly path: string
  /** `slash`: the route takes the path with its slash added or removed. */
  readonly reason: Judgement['outcome']
  /** The reason as a sentence without its full stop. */
  readonly text: string
}

/** Whether a route takes a request; when not, the first reason why, and whether a slash is all that is wrong. */
export type Judgement = Evaluation | { readonly outcome: 'slash' }

/**
 * Judges a route; `paths` are the request's own and those with another slash at the end. A condition that throws is one that
 * does not hold: for the request itself it has not thrown.
 */
export function judgeRoute(route: Route, request: Request, paths: readonly string[]): Judgement {
  try {
    const evaluation = route.evaluate(request)
    const isSlashWrong = evaluation.outcome === 'path' && paths.some(path => route.path.match(path)?.names)
    return isSlashWrong ? { outcome: 'slash' } : evaluation
  } catch {
    return { outcome: 'condition' }
  }
}

/** Puts a judgement into words. */
export function explainRoute(route: Route, request: Request, judgement: Judgement): RouteExplanation {
  const text = toText(judgement, route, request)
  return { name: route.name, path: route.path.source, reason: judgement.outcome, text }
}

function toText(because: Judgement, route: Route, request: Request): string {
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
