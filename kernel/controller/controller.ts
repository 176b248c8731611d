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
export function defineController<values extends readonly unknown[]>(
  name: string,
  sources: { readonly [index in keyof values]: Argument<values[index]> },
  call: (...values: values) => unknown,
): Controller {
  // The mapped tuple type says it element by element; values are resolved from these very sources.
  return { name, arguments: sources as readonly Argument[], call: call as unknown as Controller['call'] }
}

/** The controller that a function is the short form of. */
export function toController(handler: RequestHandler): Controller {
  return { name: handler.name || 'anonymous', arguments: requestOnly, call: handler as Controller['call'] }
}

const requestOnly: readonly Argument[] = [request => request]
