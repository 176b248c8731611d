import type { Request } from '../http/request.ts'

/** Computes the value of one argument from a request. */
export type Argument<value = unknown> = (request: Request) => value | PromiseLike<value>

/** The types of the values of argument sources. */
export type ValuesOf<sources extends readonly unknown[]> = {
  -readonly [index in keyof sources]: sources[index] extends Argument<infer value> ? value : never
}

/** Makes the controller of a route from sources and a function. `definition` is the call that declares it, for messages. */
export type DefineSourced = (definition: string, name: string, sources: readonly unknown[], call: unknown) => object
