import { cacheShape, findCacheMistakes, isShared } from '../../lib/http/cache-policy.ts'
import { corsShape, describeNoOrigin, findCorsMistakes, isOrigin } from '../../lib/http/cors.ts'
import type { KnownAttributes } from '../../lib/http/request.ts'
import { ROUTE_DEFINITION_INVALID } from '../../lib/routing/errors.ts'
import type { Route } from '../../lib/routing/route.ts'
import { describeValue } from '../../lib/text/describe-value.ts'
import { findShapeMistakes, type ShapeOf, suggestNames } from '../../lib/text/mistakes.ts'
import type { Bundle } from '../bundle.ts'
import { type ControllerResolver, createDeclarations, type Declaring } from '../controller.ts'
// The import adds the types of the kernel's attributes.
import type {} from '../request-attributes.ts'

/** The shape of the attributes that the defaults of a route can set. */
const routeAttributes: ShapeOf<
  Pick<
    KnownAttributes,
    | '_body_limit'
    | '_body_unread'
    | '_stateless'
    | '_cross_origin'
    | '_cors'
    | '_cache'
    | '_log'
    | '_public'
    | '_format'
    | '_locale'
  >
> = {
  _body_limit: 'number',
  _body_unread: 'boolean',
  _stateless: 'boolean',
  _cross_origin: true,
  _cors: true,
  _cache: true,
  _log: 'boolean',
  _public: ['string'],
  _format: 'string',
  _locale: 'string',
}

/**
 * Refuses a route whose controller cannot answer, or whose defaults would have no effect: a
 * request would be the first to notice.
 *
 * @throws ROUTE_DEFINITION_INVALID
 */
export function checkRoutes(
  {
    controllers,
    directory,
    guards,
    routes,
  }: Declaring & { readonly controllers: ControllerResolver; readonly guards: readonly { readonly name: string }[] },
  bundles: readonly Bundle[],
): void {
  const declared = bundles.flatMap(({ routeDefaults = [] }) => routeDefaults)
  const guardNames = guards.map(({ name }) => name)
  const names: ReadonlySet<string> = new Set([...Object.keys(routeAttributes), ...declared])
  for (const route of routes) {
    const mistake =
      controllers.findMistake(route) ?? findGuardMistake(route, guardNames) ?? findDefaultMistake(route, names)
    if (mistake === undefined) continue
    const place = createDeclarations({ controllers, directory, routes }).find(route)
    const where = place === undefined ? '' : ` (${place.file}:${place.line})`
    throw new ROUTE_DEFINITION_INVALID([route.name, mistake + where])
  }
}

/** A route that nothing guards would be open. */
function findGuardMistake({ guards }: Route, known: readonly string[]): string | undefined {
  const unknown = guards.find(name => !known.includes(name))
  if (unknown === undefined) return undefined
  if (/[\s,|&]/.test(unknown)) {
    return `its guard "${unknown}" is no name: a route has one guard, and each group around it may have another one`
  }
  const advice = suggestNames(unknown, known) || `: a bundle adds it by app.guards.push({ name: '${unknown}', check })`
  return `no bundle of the list has the guard "${unknown}"${advice}`
}

function findDefaultMistake(route: Route, names: ReadonlySet<string>): string | undefined {
  const { defaults, guards } = route
  const known = Object.entries(defaults).filter(([name]) => name in routeAttributes)
  const [mistake] = [
    ...findShapeMistakes('default', Object.fromEntries(known), routeAttributes),
    ...findUndeclared(defaults, names),
    ...findMisplaced(route, names),
    ...findPolicyMistakes(defaults._cors),
    ...findOriginMistakes(defaults._cross_origin),
    ...findCachePolicyMistakes(defaults._cache, guards),
    ...findFormatMistakes(defaults._format),
  ]
  return mistake && `in its defaults, ${mistake}`
}

/** Errors of a route with an unknown format would be pages. */
function findFormatMistakes(format: unknown): string[] {
  if (typeof format !== 'string' || !/^\.|[A-Z/]/.test(format)) return []
  return [`"_format" is the name of a format, such as "json", "html", "txt" or "md", not "${format}"`]
}

/** A default that nothing reads may be a guard that is mistyped, or whose bundle is not in the list. */
function findUndeclared(defaults: Route['defaults'], names: ReadonlySet<string>): string[] {
  const unknown = Object.keys(defaults).filter(name => name.startsWith('_') && !names.has(name))
  return unknown.map(name => {
    const advice = suggestNames(name, names) || `: the bundle that reads it has routeDefaults: ['${name}']`
    return `"${name}" is declared by no bundle of the list${advice}`
  })
}

/** The keys of a route that would have no effect as defaults, and are no usual names of attributes. */
const routeKeys: readonly string[] = ['guard', 'methods', 'requirements', 'schemes', 'condition']

/** A default that is no variable is an attribute: a guard would let all requests pass. */
function findMisplaced({ defaults, host, path }: Route, names: ReadonlySet<string>): string[] {
  const variables = [...path.names, ...(host?.names ?? [])]
  return Object.keys(defaults).flatMap(name => {
    if (variables.includes(name)) return []
    if (routeKeys.includes(name)) return `"${name}" has no effect: write it beside "defaults"`
    return names.has(`_${name}`) ? `"${name}" has no effect: write "_${name}"` : []
  })
}

function findPolicyMistakes(policy: unknown): readonly string[] {
  if (policy === undefined || policy === false) return []
  const mistakes = findShapeMistakes('key', { _cors: policy }, { _cors: corsShape })
  // A value of the right shape is a policy.
  return mistakes.length > 0 ? mistakes : findCorsMistakes(policy as Parameters<typeof findCorsMistakes>[0], '_cors')
}

function findOriginMistakes(origins: unknown): string[] {
  if (origins === undefined || typeof origins === 'boolean') return []
  if (!Array.isArray(origins)) return [`"_cross_origin" must be true, false or a list, not ${describeValue(origins)}`]
  return origins.filter(origin => !isOrigin(origin)).map(origin => describeNoOrigin('_cross_origin', origin))
}

function findCachePolicyMistakes(policy: unknown, [guard]: readonly string[]): readonly string[] {
  if (policy === undefined || policy === false) return []
  const mistakes = findShapeMistakes('key', { _cache: policy }, { _cache: cacheShape })
  if (mistakes.length > 0) return mistakes
  // A value of the right shape is a policy.
  const cache = policy as Parameters<typeof findCacheMistakes>[0]
  const isOpen = guard !== undefined && isShared(cache)
  const advice = `a shared cache would answer without the guard "${guard}": use maxAge, without public and sMaxAge`
  return [...findCacheMistakes(cache), ...(isOpen ? [`_cache is public, and ${advice}`] : [])]
}
