import type { KnownAttributes } from '../lib/http/attributes.ts'
import { corsShape, describeNoOrigin, findCorsMistakes, isOrigin } from '../lib/http/cors.ts'
import { ROUTE_DEFINITION_INVALID } from '../lib/routing/errors.ts'
import type { Route } from '../lib/routing/route.ts'
import { describeValue } from '../lib/text/describe-value.ts'
import { nearestNames } from '../lib/text/nearest-names.ts'
import { findShapeMistakes, type ShapeOf } from '../lib/text/shape.ts'
import { type ControllerResolver, createDeclarations, type Declaring } from './controller-resolver.ts'
// For the types of the attributes.
import type {} from './request-attributes.ts'

/** The shape of the attributes that the defaults of a route can set. */
const routeAttributes: ShapeOf<
  Pick<
    KnownAttributes,
    | '_body_limit'
    | '_body_unread'
    | '_stateless'
    | '_cross_origin'
    | '_cors'
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
  _log: 'boolean',
  _public: ['string'],
  _format: 'string',
  _locale: 'string',
}

/**
 * Refuses a route whose controller cannot answer, or whose defaults would have no effect: a request would be the first to notice.
 *
 * @throws ROUTE_DEFINITION_INVALID
 */
export function checkRoutes({
  controllers,
  directory,
  routes,
}: Declaring & { readonly controllers: ControllerResolver }): void {
  for (const route of routes) {
    const mistake = controllers.findMistake(route) ?? findDefaultMistake(route.defaults)
    if (mistake === undefined) continue
    const place = createDeclarations({ controllers, directory, routes }).find(route)
    throw new ROUTE_DEFINITION_INVALID([route.name, `${mistake}${place && ` (${place.file}:${place.line})`}`])
  }
}

function findDefaultMistake(defaults: Route['defaults']): string | undefined {
  const known = Object.entries(defaults).filter(([name]) => name in routeAttributes)
  const [mistake] = [
    ...findShapeMistakes('default', Object.fromEntries(known), routeAttributes),
    ...findMistypedDefaults(defaults),
    ...findPolicyMistakes(defaults._cors),
    ...findOriginMistakes(defaults._cross_origin),
  ]
  return mistake && `in its defaults, ${mistake}`
}

/** Attributes of the application may have short names that are similar to a known one. */
const mistypable = Object.keys(routeAttributes).filter(name => name.length > 8)

function findMistypedDefaults(defaults: Route['defaults']): string[] {
  return Object.keys(defaults).flatMap(name => {
    const [nearest] = name.startsWith('_') && !(name in routeAttributes) ? nearestNames(name, mistypable, 2) : []
    return nearest === undefined ? [] : `"${name}" is not known; the nearest is "${nearest}"`
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
