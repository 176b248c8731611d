import { HttpError } from '../lib/errors/http-error.ts'
import { Response } from '../lib/http/response.ts'
import { KERNEL_RESPONSE_INVALID } from './errors.ts'

/** Checks the response of a listener, which may be written in JavaScript. @throws KERNEL_RESPONSE_INVALID */
export function asResponse(response: unknown): Response {
  if (response instanceof Response) return response
  throw new KERNEL_RESPONSE_INVALID([describeResult(response)])
}

const keyLimit = 10
const lengthLimit = 40

/**
 * Describes a value that should be a response, as the end of a sentence: `an object with the keys "id", "name".`. The
 * values of the keys are left out: they may be secrets, and error pages and logs contain the message.
 */
export function describeResult(result: unknown): string {
  if (result === undefined) return 'nothing: did you forget a "return" somewhere in your controller?'
  if (result instanceof globalThis.Response) {
    return 'the "Response" of the platform: import "Response" from "sinfonietta".'
  }
  return `${describeValue(result)}.`
}

/** A sentence on how a controller can make a response of its result; empty if that is obvious or impossible. */
export function adviseOnResult(result: unknown): string {
  if (result === undefined || result instanceof globalThis.Response) return ''
  const way = typeof result === 'string' ? 'Response.text() or Response.html()' : 'Response.json()'
  return ` Use ${way}, or a listener of kernel.view that makes a response of it.`
}

/** Describes a value of another type than expected, without the values in it: `a string of 3 characters`. */
export function describeValue(result: unknown): string {
  if (result === null || result === undefined) return String(result)
  if (typeof result === 'string') return `a string of ${count(result.length, 'character')}`
  if (Array.isArray(result)) return `an array of ${count(result.length, 'item')}`
  if (typeof result !== 'object') return `a ${typeof result}`
  return describeObject(result)
}

function describeObject(result: object): string {
  try {
    const prototype: unknown = Object.getPrototypeOf(result)
    const isPlain = prototype === null || prototype === Object.prototype
    const name: unknown = isPlain ? '' : result.constructor?.name
    if (typeof name === 'string' && name !== '') return `an object of the class ${name.slice(0, lengthLimit)}`
    const keys = Object.keys(result)
    if (keys.length === 0) return 'an object without keys'
    const names = keys.slice(0, keyLimit).map(key => JSON.stringify(key.slice(0, lengthLimit)))
    const more = keys.length > keyLimit ? `, and ${keys.length - keyLimit} more` : ''
    return `an object with the ${keys.length === 1 ? 'key' : 'keys'} ${names.join(', ')}${more}`
  } catch {
    // A proxy may throw.
    return 'an object'
  }
}

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`
}

/** Gives the response to an error the status and the headers of the error; the status is 500 by default. */
export function copyStatusAndHeaders(error: unknown, response: Response): void {
  response.status = error instanceof HttpError ? error.status : 500
  if (!(error instanceof HttpError)) return
  for (const [name, value] of Object.entries(error.headers)) response.headers.set(name, value)
}
