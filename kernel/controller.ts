import type { Request } from '../lib/http/request.ts'
import { Response } from '../lib/http/response.ts'
import {
  KERNEL_ARGUMENT_MISSING,
  KERNEL_QUERY_VALUE_INVALID,
  KERNEL_QUERY_VALUE_MISSING,
  KERNEL_ROUTE_VALUE_INVALID,
} from './errors.ts'

/** Finds the value of one argument in a request. */
export type Argument<value = unknown> = (request: Request) => value | Promise<value>

/** What answers requests: a name for profiles, where each argument comes from, and the function that takes them. */
export interface Controller {
  readonly name: string
  readonly arguments: readonly Argument[]
  readonly call: (...values: unknown[]) => unknown
}

/** A function that answers a request as it is; the short form of a controller. */
export type RequestHandler = (request: Request) => unknown

/**
 * Declares a controller and where its arguments come from, which also gives them their types:
 * `defineController('item', [routeParameter('id', asInteger), currentRequest], (id, request) => …)`.
 */
export function defineController<
  const sources extends readonly Argument[],
  // A parameter of its own: the sources are inferred from their list alone.
  call extends (...values: ValuesOf<sources>) => unknown,
>(name: string, sources: sources, call: call): Controller {
  // The values are resolved from these very sources.
  return { name, arguments: sources, call: call as unknown as Controller['call'] }
}

/** The types of the values that the sources of a controller give. */
export type ValuesOf<sources extends readonly Argument[]> = {
  -readonly [index in keyof sources]: sources[index] extends Argument<infer value> ? value : never
}

/** The controller that a function is the short form of; a function without a name of its own has that of its route. */
export function toController(handler: RequestHandler, route = 'anonymous'): Controller {
  return { name: nameOfHandler(handler, route), arguments: requestOnly, call: handler as Controller['call'] }
}

/** JavaScript names a function that is written into the definition of a route after the property: `controller`. */
export function nameOfHandler({ name }: { readonly name: string }, route: string): string {
  return name === '' || name === 'controller' ? route : name
}

const requestOnly: readonly Argument[] = [request => request]

/** Reads text as a value; `undefined` when it is none. `expected` completes the sentence "it must be …". */
export interface Conversion<value> {
  readonly expected: string
  convert(text: string): value | undefined
}

/** Text as it is. */
export const asText: Conversion<string> = { expected: 'text', convert: text => text }

/** A whole number that can be counted with. */
export const asInteger: Conversion<number> = {
  expected: 'an integer',
  convert: text => (/^-?\d+$/.test(text) && Number.isSafeInteger(Number(text)) ? Number(text) : undefined),
}

/** The request itself. */
export const currentRequest: Argument<Request> = request => request

/** A parameter of the matched route; one that cannot be converted means that there is no such page (404). */
export function routeParameter(name: string): Argument<string>
export function routeParameter<value>(name: string, conversion: Conversion<value>): Argument<value>
export function routeParameter(name: string, conversion: Conversion<unknown> = asText): Argument {
  return request => {
    const text = request.attributes.get(name)
    if (text === undefined) throw new KERNEL_ARGUMENT_MISSING([name, String(request.attributes.get('_route'))])
    const value = conversion.convert(String(text))
    if (value === undefined) throw new KERNEL_ROUTE_VALUE_INVALID([name, conversion.expected, String(text)])
    return value
  }
}

/** A value of the query string; without a fallback, a request that lacks it is a bad one (400). */
export function queryValue(name: string): Argument<string>
export function queryValue<value>(name: string, conversion: Conversion<value>, fallback?: value): Argument<value>
export function queryValue(name: string, conversion: Conversion<unknown> = asText, fallback?: unknown): Argument {
  return request => {
    const text = request.query.get(name)
    if (text === null) {
      if (fallback === undefined) throw new KERNEL_QUERY_VALUE_MISSING([name])
      return fallback
    }
    const value = conversion.convert(text)
    if (value === undefined) throw new KERNEL_QUERY_VALUE_INVALID([name, conversion.expected, text])
    return value
  }
}

/** The values of a controller's arguments, in order; a promise only when one of them has to be waited for. */
export function resolveArguments(controller: Controller, request: Request): unknown[] | Promise<unknown[]> {
  const values = controller.arguments.map(argument => argument(request))
  return values.some(value => value instanceof Promise) ? Promise.all(values) : values
}

/** Answers a request whose path or scheme is nearly that of a route: sends the client to the attribute `_location`. */
export const redirectController: Controller = defineController(
  'redirect_controller',
  [routeParameter('_location')],
  location => Response.redirect(location, 301),
)
