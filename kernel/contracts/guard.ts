import type { Request } from '../../lib/http/request.ts'
import type { Response } from '../../lib/http/response.ts'
import type { ExtensionPoint } from './extension-point.ts'

/** Decides for the routes that name it whether a request may pass. */
export interface Guard {
  /** The name that routes and groups have as `guard`. */
  readonly name: string
  /**
   * Runs before the body is read, also for sub-requests. A request passes if it returns true. A
   * response is the answer, such as a redirect to the login. To refuse, throw an `HttpError`. Any
   * other result is an error, and no request passes, as where a `return` is forgotten.
   */
  check(request: Request): Response | true | Promise<Response | true>
}

/** What `app.guards` takes. */
export const guardPoint: ExtensionPoint<Guard> = {
  noun: 'guard',
  shape: { name: 'string', check: 'function' },
  required: ['name', 'check'],
}
