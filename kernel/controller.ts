import { ARGUMENT_INVALID, checkFunction } from '../lib/errors/arguments.ts'
import { isThenable } from '../lib/event-dispatcher/event-dispatcher.ts'
import type { Request } from '../lib/http/request.ts'
import { Response } from '../lib/http/response.ts'
import type { RouteParameters } from '../lib/routing/path-parameters.ts'
import type { RequestHandler } from '../lib/routing/route-collection.ts'
import { noteDeclaration } from '../lib/stack/declaration-sites.ts'
import { readProperty } from '../lib/stack/read-property.ts'
import { describeValue } from '../lib/text/describe-value.ts'

/** Computes the value of one argument from a request. */
export type Argument<value = unknown> = (request: Request) => value | PromiseLike<value>

/** Answers requests: a name for profiles, the sources of the arguments, and the function that takes them. */
export interface Controller {
  readonly name: string
  readonly arguments: readonly Argument[]
  readonly call: (...values: unknown[]) => unknown
  /** Always absent. A function has all other members: without this one, the compiler would take it for a controller. */
  readonly apply?: never
}

/**
 * Declares a controller and the sources of its arguments. The sources also determine the types of the arguments:
 * `defineController('item', [routeParameter('id', asInteger), currentRequest], (id, request) => …)`. @throws ARGUMENT_INVALID
 */
export function defineController<
  // With a narrower bound, TypeScript would not infer the sources before a function that is declared elsewhere.
  const sources extends readonly unknown[],
  // A parameter of its own: the sources are inferred from their list alone.
  call extends (...values: ValuesOf<sources>) => unknown,
>(name: string, sources: sources & readonly Argument[], call: call): Controller {
  checkDefinition(name, sources, call)
  nameFunction(call, name)
  // The values are resolved from these very sources.
  const controller: Controller = { name, arguments: sources, call: call as unknown as Controller['call'] }
  noteDeclaration(controller, defineController)
  return controller
}

/** Whether a value is the result of {@link defineController} or {@link toController}. */
export function isController(value: unknown): value is Controller {
  return typeof value === 'object' && value !== null && 'call' in value && 'arguments' in value
}

const definition = 'defineController(name, [sources], function)'

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

/** Refuses arguments that the compiler would refuse. @throws ARGUMENT_INVALID */
function checkDefinition(name: unknown, sources: unknown, call: unknown): void {
  if (typeof name !== 'string') throw new ARGUMENT_INVALID([definition, `the name is ${describeValue(name)}`])
  if (!Array.isArray(sources)) {
    throw new ARGUMENT_INVALID([definition, `the sources of "${name}" are ${describeValue(sources)}, not a list`])
  }
  for (const source of sources) {
    checkFunction(definition, `a source of "${name}", such as currentRequest,`, source)
    if (!makers.includes(source.name)) continue
    throw new ARGUMENT_INVALID([definition, `a source of "${name}" is not called: write ${source.name}(…)`])
  }
  checkFunction(definition, `the last argument of "${name}"`, call)
  const { length } = call as Controller['call']
  if (length <= sources.length) return
  const mistake = `the function of "${name}" takes ${length} arguments, so the list needs ${length} sources, not ${sources.length}`
  throw new ARGUMENT_INVALID([definition, mistake])
}

/** The names of the route parameters that arguments read. */
const parameterNames = new WeakMap<Argument, string>()

/** Remembers that an argument reads a parameter of the route, so that a route without it is refused at boot. */
export function noteParameter<argument extends Argument>(argument: argument, name: string): argument {
  parameterNames.set(argument, name)
  return argument
}

/** The parameters of a route that a controller needs. */
export function listParameters(controller: Controller): string[] {
  return controller.arguments.flatMap(argument => parameterNames.get(argument) ?? [])
}

/** The types of the values of argument sources. */
export type ValuesOf<sources extends readonly unknown[]> = {
  -readonly [index in keyof sources]: sources[index] extends Argument<infer value> ? value : never
}

/**
 * Makes a controller of a function, which takes the request and the parameters of its route. A function without a name gets
 * the name of the route.
 */
export function toController(handler: RequestHandler, route?: string): Controller {
  checkFunction('toController(function)', 'its argument', handler)
  const name = nameOfController(handler, route)
  nameFunction(handler, name)
  return { name, arguments: handlerArguments, call: handler as Controller['call'] }
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

/** The name of a controller, which may be a name, a function or any value; a function without a name has that of its route. */
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

/** The values of a controller's arguments, in order; a promise only if one of them is a promise or has a `then` like one. */
export function resolveArguments(controller: Controller, request: Request): unknown[] | Promise<unknown[]> {
  // Most controllers are functions, whose arguments are never promises.
  if (controller.arguments === handlerArguments) return [itself(request), parametersOf(request)]
  const { length } = controller.arguments
  const values = new Array<unknown>(length)
  try {
    for (let index = 0; index < length; index++) values[index] = controller.arguments[index]?.(request)
    return values.some(isThenable) ? Promise.all(values) : values
  } catch (error) {
    // No code waits for the earlier arguments any more. If one of them rejects, this must not end the process.
    for (const value of values) Promise.resolve(value).catch(() => undefined)
    throw error
  }
}

/** Redirects a request whose path or scheme is nearly that of a route to the attribute `_location`. */
export const redirectController: Controller = defineController(
  'redirect_controller',
  [({ attributes }) => attributes.get('_location') ?? '/'],
  location => Response.redirect(location, 301),
)
