import { Response } from '../lib/http/response.ts'
import { describeResult } from './controller/describe-result.ts'
import { KERNEL_RESPONSE_INVALID } from './errors.ts'

/** The response of an event. Listeners need not be written in TypeScript. @throws KERNEL_RESPONSE_INVALID */
export function asResponse(response: unknown): Response {
  if (response instanceof Response) return response
  throw new KERNEL_RESPONSE_INVALID([describeResult(response)])
}
