import { ARGUMENT_INVALID, checkArguments, checkFunction, checkString } from '../lib/errors/arguments.ts'
import { isThenable } from '../lib/event-dispatcher/event-dispatcher.ts'
import type { Request } from '../lib/http/request.ts'
import { Response } from '../lib/http/response.ts'
import type { Route, RouteParameters } from '../lib/routing/route.ts'
import type { RequestHandler } from '../lib/routing/route-collection.ts'
import type { Argument, SourcesOf } from '../lib/routing/sources.ts'
import { Declarations, noteDeclaration } from '../lib/stack/declaration-sites.ts'
import { describeValue, isClass, isPlainObject, readProperty } from '../lib/text/describe-value.ts'
import { explainSplitName, suggestNames } from '../lib/text/mistakes.ts'
import { KERNEL_CONTROLLER_INVALID, KERNEL_CONTROLLER_MISSING } from './errors.ts'

/** Answers requests: a name for profiles, what computes the arguments, and the function that takes them. */
export interface Controller {
  /** The name in profiles, logs and `debug:routes`. */
  readonly name: string
  /** Each computes an argument of `call` from the request. */
  readonly arguments: readonly Argument[]
  /** Returns a response, a promise of one, or a value for the listeners of `kernel.view`. */
  readonly call: (...values: unknown[]) => unknown
  /** Always absent. A function has all other members: without this one, the compiler would take it for a controller. */
  readonly apply?: never
}

/**
 * Declares a controller: a name for profiles, and a function that takes the request and the parameters of its
 * route; or sources by name, and a function that takes their values by the same names, and the request:
 * `defineController('item', { id: routeParameter(asInteger) }, ({ id }, request) => …)`. @throws ARGUMENT_INVALID
 */
export function defineController(name: string, call: RequestHandler): Controller
export function defineController<values extends object>(
  name: string,
  sources: SourcesOf<values>,
  call: (values: values, request: Request) => unknown,
): Controller
export function defineController(name: string, ...rest: readonly [unknown, unknown?]): Controller {
  const controller =
    rest.length === 1
      ? defineNamed(name, rest[0])
      : defineSourced('defineController(name, { sources }, function)', name, rest[0], rest[1])
  noteDeclaration([controller], defineController)
  return controller
}

function defineNamed(name: string, call: unknown): Controller {
  checkString('defineController(name, function)', 'the name', name)
  checkFunction('defineController(name, function)', `the last argument of "${name}"`, call)
  return create(name, handlerArguments, call)
}

/** Makes a controller, also for a route that is declared with sources and a function. @throws ARGUMENT_INVALID */
export function defineSourced(definition: string, name: string, sources: unknown, call: unknown): Controller {
  checkString(definition, 'the name', name)
  const named = nameSources(definition, name, sources)
  checkBodies(definition, name, Object.values(named))
  checkFunction(definition, `the last argument of "${name}"`, call)
  const { length } = call as Controller['call']
  if (length > 2) {
    throw new ARGUMENT_INVALID([
      definition,
      `the function of "${name}" takes ${length} arguments: it gets (values, request)`,
    ])
  }
  const values = resolveByName(Object.entries(named))
  sourcesOf.set(values, named)
  return create(name, [values, itself], call)
}

function create(name: string, values: readonly Argument[], call: unknown): Controller {
  nameFunction(call as Controller['call'], name)
  return { name, arguments: values, call: call as Controller['call'] }
}

/** Whether a value is the result of {@link defineController} or {@link toController}. */
export function isController(value: unknown): value is Controller {
  return typeof value === 'object' && value !== null && 'call' in value && 'arguments' in value
}

/** The functions that make sources. As a source itself, such a function would give the controller a function. */
const makers: readonly string[] = [
  'routeParameter',
  'queryValue',
  'headerValue',
  'cookieValue',
  'uploadedFile',
  'jsonBody',
  'formBody',
  'checkedForm',
  'queryValues',
  'routeParameters',
]

/** The sources of an argument that has the values of all of them. */
const sourcesOf = new WeakMap<Argument, Readonly<Record<string, Argument>>>()

/** The sources of a controller. */
export function listSources({ arguments: all }: Controller): Argument[] {
  return all.flatMap(argument => Object.values(sourcesOf.get(argument) ?? {}))
}

/** The names of the sources of a controller; none for a function of the request. */
export function listSourceNames({ arguments: all }: Controller): string[] {
  return all.flatMap(argument => Object.keys(sourcesOf.get(argument) ?? {}))
}

/** The sources that have the name of their key, such as the route parameter in `{ id: routeParameter(asInteger) }`. */
const namedByKey = new WeakMap<Argument, (key: string) => Argument>()

/** Creates a source that has the name of its key. */
export function createNamedByKey(source: (key: string) => Argument): Argument {
  const argument: Argument = () => {
    throw new KERNEL_CONTROLLER_INVALID(['a source without a name', ': it has the name of its key in { sources }'])
  }
  namedByKey.set(argument, source)
  return argument
}

/** Refuses sources that the compiler would refuse. @throws ARGUMENT_INVALID */
function nameSources(definition: string, name: string, sources: unknown): Record<string, Argument> {
  if (!isPlainObject(sources)) {
    const mistake = `the sources of "${name}" are ${describeValue(sources)}, not an object such as { id: routeParameter() }`
    throw new ARGUMENT_INVALID([definition, mistake])
  }
  const found: Record<string, Argument> = Object.create(null)
  for (const [key, source] of Object.entries(sources)) {
    checkFunction(definition, `the source "${key}" of "${name}", such as queryValue(),`, source)
    if (makers.includes(source.name)) {
      throw new ARGUMENT_INVALID([
        definition,
        `the source "${key}" of "${name}" is not called: write ${source.name}(…)`,
      ])
    }
    found[key] = namedByKey.get(source as Argument)?.(key) ?? (source as Argument)
  }
  return found
}

/** Refuses sources that read one body as JSON and as a form. @throws ARGUMENT_INVALID */
function checkBodies(definition: string, name: string, sources: readonly Argument[]): void {
  if (kindsOfBody(sources).size < 2) return
  const mistake = `the sources of "${name}" read one body as JSON and as a form, which refuses each request: use one of them`
  throw new ARGUMENT_INVALID([definition, mistake])
}

/** The names of the route parameters that arguments read. */
const parameterNames = new WeakMap<Argument, string>()

/** Remembers that an argument reads a parameter of the route, so that a route without it is refused at boot. */
export function noteParameter<argument extends Argument>(argument: argument, name: string): argument {
  parameterNames.set(argument, name)
  return argument
}

type BodyKind = 'json' | 'form'

/** How arguments read the body. */
const bodyKinds = new WeakMap<Argument, BodyKind>()

/** Remembers how an argument reads the body: a body is JSON or a form, never both. */
export function noteBody<argument extends Argument>(argument: argument, kind: BodyKind): argument {
  bodyKinds.set(argument, kind)
  return argument
}

function kindsOfBody(sources: readonly Argument[]): Set<BodyKind> {
  return new Set(sources.flatMap(source => bodyKinds.get(source) ?? []))
}

/** Whether a source of a controller reads the body. */
export function readsBody(controller: unknown): boolean {
  return isController(controller) && kindsOfBody(listSources(controller)).size > 0
}

/** The parameters of a route that a controller needs. */
export function listParameters(controller: Controller): string[] {
  return listSources(controller).flatMap(source => parameterNames.get(source) ?? [])
}

/**
 * Makes a controller of a function, which takes the request and the parameters of its route. A
 * function without a name gets the name of the route.
 */
export function toController(handler: RequestHandler, route?: string): Controller {
  checkFunction('toController(function)', 'its argument', handler)
  return create(nameOfController(handler, route), handlerArguments, handler)
}

/** Without a name, a function would have that of the property in stacks: `Object.call`. */
function nameFunction(call: { readonly name: string }, name: string): void {
  if (isUnnamed(call)) Reflect.defineProperty(call, 'name', { value: `${prefix} ${name}`, configurable: true })
}

const prefix = 'controller'

/** JavaScript names an inline function of a route definition after the property. */
function isUnnamed({ name }: { readonly name: string }): boolean {
  return name === '' || name === prefix || name.startsWith(`${prefix} `)
}

/**
 * The name of a controller, which may be a name, a function or any value; a function without a
 * name has that of its route.
 */
export function nameOfController(controller: unknown, route = 'anonymous'): string {
  if (typeof controller === 'string') return controller
  const name = String(readProperty(controller, 'name') ?? '')
  return isUnnamed({ name }) ? route : name
}

/** The function of a controller, if it has no name in the source and got that of its controller or route. */
export function namedFunctionOf(controller: unknown): { readonly name: string }[] {
  const call: unknown = typeof controller === 'function' ? controller : Object(controller).call
  return typeof call === 'function' && call.name.startsWith(`${prefix} `) ? [call] : []
}

const handlerArguments: readonly Argument[] = [itself, parametersOf]

function itself(request: Request): Request {
  return request
}

function parametersOf({ attributes }: Request): RouteParameters {
  return attributes.get('_route_params') ?? noParameters
}

/** The parameters of a request without a route: a forward, or the error page. */
const noParameters: RouteParameters = Object.freeze(Object.create(null))

/**
 * The values of a controller's arguments, in order; a promise only if one of them is a promise or
 * has a `then` like one.
 */
export function resolveArguments(controller: Controller, request: Request): unknown[] | Promise<unknown[]> {
  // Most controllers are functions, whose arguments are never promises.
  if (controller.arguments === handlerArguments) return [itself(request), parametersOf(request)]
  return resolveAll(controller.arguments, request)
}

function resolveAll(sources: readonly Argument[], request: Request): unknown[] | Promise<unknown[]> {
  const { length } = sources
  const values = new Array<unknown>(length)
  try {
    for (let index = 0; index < length; index++) values[index] = sources[index]?.(request)
    return values.some(isThenable) ? Promise.all(values) : values
  } catch (error) {
    // No code waits for the earlier values any more. If one of them rejects, this must not end the process.
    for (const value of values) Promise.resolve(value).catch(() => undefined)
    throw error
  }
}

/** An argument with the values of sources, by the names of the sources. */
function resolveByName(named: readonly (readonly [name: string, source: Argument])[]): Argument<object> {
  const sources = named.map(([, source]) => source)
  const toObject = (values: readonly unknown[]) =>
    Object.fromEntries(named.map(([name], index) => [name, values[index]]))
  return request => {
    const values = resolveAll(sources, request)
    return Array.isArray(values) ? toObject(values) : values.then(toObject)
  }
}

/** Redirects a request whose path or scheme is nearly that of a route to the attribute `_location`. */
export const redirectController: Controller = defineController('redirect_controller', ({ attributes }) =>
  Response.redirect(attributes.get('_location') ?? '/', 301),
)

/** Finds the controller of a request by its attribute `_controller`: a controller, a function, or a registered name. */
export class ControllerResolver {
  readonly #named = new Map<string, Controller>()
  readonly #handlers = new WeakMap<RequestHandler, Controller>()

  /**
   * Registers a controller under a name, which requests can use as `_controller`. @throws
   * KERNEL_CONTROLLER_INVALID ARGUMENT_INVALID
   */
  register(name: string, controller: Controller): void {
    checkString('controllers.register(name, controller)', 'the name', name)
    if (this.#named.has(name)) {
      const right = `to replace it, call controllers.decorate("${name}", () => controller)`
      throw new ARGUMENT_INVALID([`controllers.register("${name}")`, `there is one of that name already: ${right}`])
    }
    this.#set(name, controller)
  }

  /** Replaces a registered controller by one that wraps it. @throws KERNEL_CONTROLLER_INVALID */
  decorate(name: string, decorator: (controller: Controller) => Controller): void {
    checkArguments('controllers.decorate(name, decorator)', ['string', 'sync function'], name, decorator)
    this.#set(name, decorator(this.#findNamed(name)))
  }

  #set(name: string, controller: Controller): void {
    if (!isController(controller) || typeof controller.call !== 'function' || !Array.isArray(controller.arguments))
      throw new KERNEL_CONTROLLER_INVALID([`"${name}"`, '; use toController(function)'])
    this.#named.set(name, controller)
  }

  /** The registered controllers. */
  get registered(): Iterable<Controller> {
    return this.#named.values()
  }

  /** @throws KERNEL_CONTROLLER_MISSING (404) KERNEL_CONTROLLER_INVALID */
  resolve(request: Request): Controller {
    const wanted = request.attributes.get('_controller')
    if (wanted === undefined) throw new KERNEL_CONTROLLER_MISSING([request.path])
    if (isController(wanted)) return wanted
    if (typeof wanted === 'function') return this.#ofHandler(wanted as RequestHandler, request)
    return this.#findNamed(String(wanted))
  }

  /** The mistake in the controller of a route, as the end of a sentence; `undefined` if requests can use it. */
  findMistake({ controller, defaults, host, path }: Route): string | undefined {
    if (typeof controller === 'string') {
      if (this.#named.has(controller)) return undefined
      return `there is no controller "${controller}"${this.#suggest(controller)}`
    }
    if (typeof controller === 'function') return findHandlerMistake(controller)
    if (!isController(controller)) {
      return `its controller is ${describeValue(controller)}, not a function or the result of defineController()`
    }
    const names = [...new Set([...path.names, ...(host?.names ?? []), ...Object.keys(defaults)])]
    const missing = listParameters(controller).find(name => !names.includes(name))
    if (missing === undefined) return undefined
    const variables = names.length === 0 ? '' : `: use ${names.join(', ')}`
    const suggestion =
      explainSplitName([path.source, host?.source], missing) || suggestNames(missing, names) || variables
    return `its controller needs the parameter "${missing}", but its path is ${path.source}${suggestion}`
  }

  #suggest(name: string): string {
    return name === 'error_controller'
      ? missingFramework
      : suggestNames(name, this.#named.keys()) || ': write the function itself'
  }

  #findNamed(name: string): Controller {
    const named = this.#named.get(name)
    if (named !== undefined) return named
    throw new KERNEL_CONTROLLER_INVALID([`"${name}"`, this.#suggest(name)])
  }

  #ofHandler(handler: RequestHandler, { attributes }: Request): Controller {
    const known = this.#handlers.get(handler)
    if (known !== undefined) return known
    const route = attributes.get('_route')
    const controller = toController(handler, typeof route === 'string' ? route : undefined)
    this.#handlers.set(handler, controller)
    return controller
  }
}

function findHandlerMistake(handler: { readonly length: number }): string | undefined {
  if (isClass(handler)) return `its controller is ${describeValue(handler)}, not a function`
  if (handler.length < 3) return undefined
  return `its controller takes ${handler.length} arguments: ${handlerRule}`
}

/** The end of a sentence about the handler of another framework. */
export const handlerRule = 'it gets (request, parameters), and returns a response, such as Response.text()'

/** The parts of an application that declare something. */
export interface Declaring {
  readonly routes: Iterable<Route>
  readonly controllers: Pick<ControllerResolver, 'registered'>
  readonly directory: string
}

/** Creates the search for the places where the routes and controllers of an application were declared. */
export function createDeclarations({ controllers, directory, routes }: Declaring): Declarations {
  const listAll = () => [...Array.from(routes, route => [route, route.controller]).flat(), ...controllers.registered]
  return new Declarations(listAll, directory)
}

const missingFramework =
  '; the framework bundle registers it: it has to be in the list of bundles, before those that build on it'
