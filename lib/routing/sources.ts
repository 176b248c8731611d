import type { Request } from '../http/request.ts'

/** Computes the value of one argument from a request. */
export type Argument<value = unknown> = (request: Request) => value | PromiseLike<value>

/** The sources of values, by the names of the values. */
export type SourcesOf<values extends object> = { readonly [name in keyof values]: Argument<values[name]> }

/**
 * Makes the controller of a route from sources and a function. `definition` is the call that declares it, for messages.
 */
export type DefineSourced = (definition: string, name: string, sources: object, call: unknown) => object
