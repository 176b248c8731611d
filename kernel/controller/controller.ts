import type { Request } from '../../lib/http/request.ts'

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
