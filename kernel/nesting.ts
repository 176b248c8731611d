import type { DispatchOptions, RegisteredListener } from '../lib/event-dispatcher/event-dispatcher.ts'
import type { Request } from '../lib/http/request.ts'
import { KERNEL_TOO_DEEP } from './errors.ts'

/** Chooses the main requests for which only the listeners of core bundles are called. */
export interface Isolation {
  /** One test that returns `true` is enough. */
  readonly tests: readonly ((request: Request) => boolean)[]
  readonly isCore: (listener: RegisteredListener) => boolean
}

/** The limit of nested sub-requests. Deeper nesting means that a sub-request requests itself, without an end. */
const depthLimit = 10

/** The dispatch options for a request. A sub-request inherits those of its parent. @throws KERNEL_TOO_DEEP */
export function findDispatchOptions(request: Request, isolation: Isolation | undefined): DispatchOptions | undefined {
  if (request.parent === undefined) {
    return isolation?.tests.some(test => test(request)) ? { only: isolation.isCore } : undefined
  }
  if (depthOf(request) > depthLimit) throw new KERNEL_TOO_DEEP([depthLimit])
  return request.parent.dispatchOptions
}

/** The number of ancestors of a request; 0 for a main request. */
function depthOf(request: Request): number {
  let depth = 0
  for (let { parent } = request; parent !== undefined; parent = parent.parent) depth++
  return depth
}

/**
 * Whether a sub-request has failed because the nesting is too deep. Only the main request answers this error: the error
 * page of each sub-request would request itself again.
 */
export function isEndless(request: Request, error: unknown): boolean {
  return request.parent !== undefined && error instanceof KERNEL_TOO_DEEP
}
