import type { Pattern, PatternForm } from './pattern.ts'
import type { Route } from './route.ts'

/** A route that some requests never reach, because another route is tried first and matches them. */
export interface HiddenRoute {
  readonly route: Route
  /** The route that is tried first. */
  readonly by: Route
  /** The methods for which the route is hidden. Empty for all methods. */
  readonly methods: readonly string[]
}

/**
 * Finds routes that are hidden by an earlier route: one with the same path, with a variable where the later
 * path has a text, or with a wildcard for the rest of the path. Only declarations are compared: if the
 * first route has a condition, or a host or schemes that the second does not have, both can be reached.
 */
export function findHiddenRoutes(routes: Iterable<Route>): HiddenRoute[] {
  const hidden: HiddenRoute[] = []
  const earlier: Route[] = []
  for (const route of routes) {
    for (const by of earlier) {
      if (!covers(by.path, route.path)) continue
      const methods = hiddenMethods(route, by)
      if (methods !== undefined && matchesAllElse(route, by)) hidden.push({ route, by, methods })
    }
    earlier.push(route)
  }
  return hidden
}

/** A sentence without a full stop. */
export function describeHiddenRoute({ by, methods, route }: HiddenRoute): string {
  const requests = methods.length === 0 ? 'any request' : methods.join(', ')
  const [name, first] = [route, by].map(({ name, path }) => `"${name}" (${path.source})`)
  return `The route ${name} is never reached by ${requests}: ${first} matches the same paths, and comes first`
}

/** Whether a pattern certainly matches each text that another one matches. */
function covers(by: Pattern, pattern: Pattern): boolean {
  return pattern.forms.every(form => {
    // Most patterns begin with another text.
    if (!by.forms.some(({ leadingText }) => form.leadingText.startsWith(leadingText))) return false
    if (form.isFixed) return by.match(form.leadingText)?.names !== undefined
    return by.forms.some(other => matchesRest(other, form, by) || isLike(other, form, by, pattern))
  })
}

/**
 * Whether a form consists of a text and a wildcard, such as `/files/*path`, and matches all texts
 * of a form with variables.
 */
function matchesRest({ leadingText, sequence }: PatternForm, form: PatternForm, by: Pattern): boolean {
  const last = sequence.at(-1)
  if (sequence.length > 2 || last?.type !== 'wildcard' || requirementOf(by, last.name) !== undefined) return false
  return form.leadingText.startsWith(leadingText)
}

/**
 * Whether two forms have the same texts, and the first one has the same or less strict variables in the same places.
 */
function isLike(first: PatternForm, second: PatternForm, by: Pattern, pattern: Pattern): boolean {
  if (first.sequence.length !== second.sequence.length) return false
  return first.sequence.every((token, index) => {
    const other = second.sequence[index]
    if (token.type === 'text' || other === undefined || other.type === 'text') {
      return token.type === 'text' && other?.type === 'text' && token.value === other.value
    }
    if (token.type === 'param' && other.type === 'wildcard') return false
    const requirement = requirementOf(by, token.name)
    return requirement === undefined || requirement === requirementOf(pattern, other.name)
  })
}

function requirementOf({ requirements }: Pattern, variable: string): string | undefined {
  return requirements.find(({ name }) => name === variable)?.text
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
  const isAnyHost = by.host === undefined || (route.host !== undefined && covers(by.host, route.host))
  const hasSchemes =
    by.schemes.length === 0 || (route.schemes.length > 0 && route.schemes.every(scheme => by.schemes.includes(scheme)))
  return isAnyHost && hasSchemes && (by.condition === undefined || by.condition === route.condition)
}
