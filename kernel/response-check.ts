import { HttpError } from '../lib/errors/http-error.ts'
import { Response } from '../lib/http/response.ts'
import { describeValue } from '../lib/text/describe-value.ts'
import { KERNEL_RESPONSE_INVALID } from './errors.ts'

/** Checks the response of a listener, which may be written in JavaScript. @throws KERNEL_RESPONSE_INVALID */
export function asResponse(response: unknown): Response {
  if (response instanceof Response) return response
  throw new KERNEL_RESPONSE_INVALID([describeResult(response)])
}

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

/** Gives the response to an error the status and the headers of the error; the status is 500 by default. */
export function copyStatusAndHeaders(error: unknown, response: Response): void {
  response.status = error instanceof HttpError ? error.status : 500
  if (!(error instanceof HttpError)) return
  for (const [name, value] of Object.entries(error.headers)) response.headers.set(name, value)
}
