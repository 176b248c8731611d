import { checkFunction, checkObject, checkOptions } from '../errors/arguments.ts'
import { isThenable } from '../event-dispatcher/event-dispatcher.ts'
import type { Request } from '../http/request.ts'
import { noteDeclaration } from '../stack/declaration-sites.ts'
import type { ShapeOf } from '../text/mistakes.ts'
import { ROUTE_DEFINITION_INVALID, ROUTE_GROUP_INVALID, ROUTE_NAME_TAKEN } from './errors.ts'
import {
  definitionShape,
  type NoDefaults,
  type ParametersOf,
  Route,
  type RouteDefaults,
  type RouteDefinition,
  type RouteMethod,
  type RouteParameters,
  type RouteRequirements,
  type SharedDefinition,
} from './route.ts'
import type { DefineSourced, SourcesOf } from './sources.ts'

/**
 * A function that answers requests: the short form of a controller. `parameters` are those of the
 * route: the values of its variables, and its defaults.
 */
export type RequestHandler<parameters = RouteParameters> = (request: Request, parameters: parameters) => unknown

/** A controller, or a function with the parameters of the variables in `source` and of the defaults. */
type Answering<controller, source extends string, defaults extends object> =
  | controller
  | RequestHandler<ParametersOf<source, defaults>>

/** The options of a route group. What a route of the group declares itself comes first. */
interface RouteGroupOptions<
  prefix extends string = string,
  host extends string = string,
  defaults extends RouteDefaults = RouteDefaults,
> extends Pick<
    RouteDefinition<unknown, string, host, defaults>,
    'defaults' | 'host' | 'schemes' | 'condition' | 'guard'
  > {
  /** The beginning of each path: `/admin`, `/:_locale`, `{/:_locale}`. It does not end with a slash. */
  readonly prefix?: prefix
  /** The beginning of each name: `admin_`. */
  readonly name?: string
  /** Requirements for variables of the prefix, and for variables of any path in the group. */
  readonly requirements?: RouteRequirements
}

const groupShape: ShapeOf<RouteGroupOptions> = {
  prefix: 'string',
  name: 'string',
  requirements: 'object',
  defaults: 'object',
  host: 'string',
  schemes: 'list',
  condition: 'sync function',
  // Other values are refused with the route.
  guard: true,
}

/** The defaults of a group and a route of it together. */
type Merged<outer extends object, inner extends object> = {
  readonly [name in keyof outer | keyof inner]: name extends keyof inner
    ? inner[name]
    : name extends keyof outer
      ? outer[name]
      : never
}

/** Declares a route for one method. As methods, they let a collection for controllers be used as one for any values. */
declare abstract class Short<controller, prefix extends string, host extends string, defaults extends object> {
  /** With a controller, or a function that takes the request and the parameters of the route. */
  abstract declare<path extends string>(
    name: string,
    path: path,
    controller: Answering<controller, `${prefix}${path} ${host}`, defaults>,
  ): Route
  /** With sources by name. The function takes their values by the same names, and the request. */
  abstract declare<values extends object>(
    name: string,
    path: string,
    sources: SourcesOf<values>,
    call: (values: values, request: Request) => unknown,
  ): Route
}

/**
 * The arguments of `get` and the like. In other frameworks, functions that run before the controller come between them.
 */
type ShortDefinition = readonly [name: string, path: string, controller: unknown, ...others: unknown[]]

const manyControllers =
  "it has one controller: sources are an object before it, as in get('books', '/books', { page: queryValue() }, function), and what runs before it is a guard, or a listener of RequestEvent"

/** Declares routes: all of an application, or those of a group. The type parameters are those of the group. */
export abstract class RouteDeclarations<
  controller = unknown,
  prefix extends string = '',
  host extends string = '',
  defaults extends object = NoDefaults,
> {
  /** Makes the controllers of routes with sources. */
  protected readonly define: DefineSourced
  /** The beginning of the names of all routes. */
  readonly #names: string
  /** Routes that were declared here and in groups of it. */
  #count = 0

  constructor(define: DefineSourced, names = '') {
    this.define = define
    this.#names = names
  }

  /** Declares a route. `shared` is what the groups around it have declared. */
  protected abstract declare(definition: RouteDefinition, shared: SharedDefinition): Route

  #declare(definition: RouteDefinition, shared: SharedDefinition): Route {
    this.#count++
    return this.declare(definition, shared)
  }

  /**
   * Declares a route. The second parameter of a function as controller has the variables of the path,
   * the host and the group, and the defaults. @throws ROUTE_DEFINITION_INVALID ROUTE_NAME_TAKEN
   */
  add<path extends string, ownHost extends string = host, own extends RouteDefaults = NoDefaults>(
    definition: RouteDefinition<
      Answering<controller, `${prefix}${path} ${ownHost}`, Merged<defaults, own>>,
      path,
      ownHost,
      own
    >,
  ): Route {
    checkObject('routes.add(definition)', definition, definitionShape)
    return this.#declare(definition, {})
  }

  /** Declares a route for GET and HEAD. @throws ROUTE_DEFINITION_INVALID ROUTE_NAME_TAKEN ARGUMENT_INVALID */
  readonly get: Short<controller, prefix, host, defaults>['declare'] = (...definition: ShortDefinition) =>
    this.#declareFor('GET', definition)

  /** Declares a route for POST. @throws ROUTE_DEFINITION_INVALID ROUTE_NAME_TAKEN ARGUMENT_INVALID */
  readonly post: Short<controller, prefix, host, defaults>['declare'] = (...definition: ShortDefinition) =>
    this.#declareFor('POST', definition)

  /** Declares a route for PUT. @throws ROUTE_DEFINITION_INVALID ROUTE_NAME_TAKEN ARGUMENT_INVALID */
  readonly put: Short<controller, prefix, host, defaults>['declare'] = (...definition: ShortDefinition) =>
    this.#declareFor('PUT', definition)

  /** Declares a route for PATCH. @throws ROUTE_DEFINITION_INVALID ROUTE_NAME_TAKEN ARGUMENT_INVALID */
  readonly patch: Short<controller, prefix, host, defaults>['declare'] = (...definition: ShortDefinition) =>
    this.#declareFor('PATCH', definition)

  /** Declares a route for DELETE. @throws ROUTE_DEFINITION_INVALID ROUTE_NAME_TAKEN ARGUMENT_INVALID */
  readonly delete: Short<controller, prefix, host, defaults>['declare'] = (...definition: ShortDefinition) =>
    this.#declareFor('DELETE', definition)

  /**
   * Declares a route for QUERY: a GET with a body. @throws ROUTE_DEFINITION_INVALID ROUTE_NAME_TAKEN ARGUMENT_INVALID
   */
  readonly query: Short<controller, prefix, host, defaults>['declare'] = (...definition: ShortDefinition) =>
    this.#declareFor('QUERY', definition)

  /**
   * Declares routes with a common prefix of their paths and names, with common defaults, requirements, host, schemes or
   * condition. Groups can be nested. @throws ROUTE_GROUP_INVALID ARGUMENT_INVALID, and the errors of {@link add}
   */
  group<inner extends string = '', ownHost extends string = host, own extends RouteDefaults = NoDefaults>(
    options: RouteGroupOptions<inner, ownHost, own>,
    declare: (routes: RouteGroup<controller, `${prefix}${inner}`, ownHost, Merged<defaults, own>>) => void,
  ): void {
    checkOptions('routes.group(options, function)', options, groupShape)
    checkFunction('routes.group(options, function)', 'the second argument', declare)
    const group = new RouteGroup<controller, `${prefix}${inner}`, ownHost, Merged<defaults, own>>(
      options,
      (definition, shared) => this.#declare(definition, shared),
      this.define,
      this.#names,
    )
    const before = this.#count
    group.check(declare(group))
    if (declare.length === 0 && group.#count === 0 && this.#count > before) {
      const mistake = 'its function takes no routes, so what it declares is outside of the group: write routes => …'
      throw new ROUTE_GROUP_INVALID([options.prefix ?? '', mistake])
    }
  }

  #declareFor(method: RouteMethod, [name, path, ...rest]: ShortDefinition): Route {
    const [first, call] = rest
    const sources = rest.length > 1 && typeof first === 'object' && first !== null ? first : undefined
    if (rest.length > (sources === undefined ? 1 : 2)) throw new ROUTE_DEFINITION_INVALID([name, manyControllers])
    const controller = sources === undefined ? first : this.#defineSourced(method, name, sources, call)
    return this.#declare({ name, path, controller, methods: [method] }, {})
  }

  #defineSourced(method: RouteMethod, name: string, sources: object, call: unknown): object {
    const definition = `routes.${method.toLowerCase()}(name, path, { sources }, function)`
    const controller = this.define(definition, `${this.#names}${name}`, sources, call)
    noteDeclaration([controller], this.#defineSourced)
    return controller
  }
}

/** Declares the routes of a group. */
class RouteGroup<
  controller = unknown,
  prefix extends string = '',
  host extends string = '',
  defaults extends object = NoDefaults,
> extends RouteDeclarations<controller, prefix, host, defaults> {
  readonly #options: RouteGroupOptions
  readonly #declareOutside: (definition: RouteDefinition, shared: SharedDefinition) => Route
  readonly #routes: Route[] = []

  /** @throws ROUTE_GROUP_INVALID */
  constructor(
    options: RouteGroupOptions,
    declareOutside: (definition: RouteDefinition, shared: SharedDefinition) => Route,
    define: DefineSourced,
    names: string,
  ) {
    super(define, `${names}${options.name ?? ''}`)
    this.#options = options
    this.#declareOutside = declareOutside
    if (options.prefix?.endsWith('/')) this.#refuse('its prefix ends with a slash, with which each path begins')
  }

  /**
   * Checks the result of the function that has declared the routes, and the requirements. @throws ROUTE_GROUP_INVALID
   */
  check(result: unknown): void {
    if (isThenable(result)) {
      Promise.resolve(result).catch(() => undefined)
      this.#refuse('its function is asynchronous: wait for other data before the group is declared')
    }
    if (this.#routes.length === 0) return
    const variables = new Set(this.#routes.flatMap(({ host, path }) => [...path.names, ...(host?.names ?? [])]))
    const stray = Object.keys(this.#options.requirements ?? {}).find(variable => !variables.has(variable))
    if (stray === undefined) return
    const known = [...variables].join(', ') || 'none'
    this.#refuse(`it has a requirement for "${stray}", but the variables of its routes are: ${known}`)
  }

  protected override declare(definition: RouteDefinition, shared: SharedDefinition): Route {
    const { condition: ownCondition, guard, requirements, defaults, name = '', prefix = '', ...common } = this.#options
    const { condition = ownCondition } = definition
    if (prefix !== '' && typeof definition.path === 'string' && /^[\w:*]/.test(definition.path)) {
      this.#refuse(
        `the path "${definition.path}" of its route "${definition.name}" must begin with a slash, or be empty`,
      )
    }
    const route = this.#declareOutside(
      {
        ...common,
        ...definition,
        name: `${name}${definition.name}`,
        // Other values are refused with the route.
        path: typeof definition.path === 'string' ? `${prefix}${definition.path}` : definition.path,
        defaults: { ...defaults, ...definition.defaults },
        ...(condition && { condition: both(ownCondition, condition) }),
      },
      {
        requirements: { ...requirements, ...shared.requirements },
        guards: [...(guard === undefined ? [] : [guard]), ...(shared.guards ?? [])],
      },
    )
    this.#routes.push(route)
    return route
  }

  #refuse(reason: string): never {
    const { name, prefix } = this.#options
    throw new ROUTE_GROUP_INVALID([prefix ?? name ?? '', reason])
  }
}

type Condition = NonNullable<RouteDefinition['condition']>

/** One condition if the other one is missing or the same. */
function both(outer: Condition | undefined, inner: Condition): Condition {
  return outer === undefined || outer === inner ? inner : request => outer(request) && inner(request)
}

/** The routes of an application in the order in which they are tried: by priority, then by declaration. */
export class RouteCollection<controller = unknown> extends RouteDeclarations<controller> implements Iterable<Route> {
  readonly #ordered: Route[] = []
  readonly #named = new Map<string, Route>()
  readonly #aliases = new Map<string, Route>()

  /** By default, the controller of a route with sources is an object with the sources and the function. */
  constructor(define: DefineSourced = (_definition, name, sources, call) => ({ name, sources, call })) {
    super(define)
  }

  get size(): number {
    return this.#ordered.length
  }

  get names(): Iterable<string> {
    return this.#named.keys()
  }

  find(name: string): Route | undefined {
    return this.#named.get(name)
  }

  findByAlias(alias: string): Route | undefined {
    return this.#aliases.get(alias)
  }

  [Symbol.iterator](): Iterator<Route> {
    return this.#ordered.values()
  }

  protected override declare(definition: RouteDefinition, shared: SharedDefinition): Route {
    const route = new Route(definition, shared)
    for (const name of [route.name, ...route.aliases]) {
      const taken = this.#named.get(name) ?? this.#aliases.get(name)
      if (taken !== undefined) throw new ROUTE_NAME_TAKEN([name, route.path.source, taken.path.source])
    }
    const { controller } = definition
    noteDeclaration(typeof controller === 'function' ? [route, controller] : [route], this.declare)
    this.#named.set(route.name, route)
    for (const alias of route.aliases) this.#aliases.set(alias, route)
    const earlier = this.#ordered.findLastIndex(other => other.priority >= route.priority)
    this.#ordered.splice(earlier + 1, 0, route)
    return route
  }
}
