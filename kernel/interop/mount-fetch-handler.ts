import { currentRequest } from '../arguments/request-values.ts'
import type { Routes } from '../bundle.ts'
import { defineController } from '../controller.ts'
import { fromFetchResponse, toFetchRequest } from './fetch-messages.ts'
import { addMount, checkHandler, type MountOptions, rememberRequest } from './mount.ts'

/** A function from a request to a response of the Fetch API, such as `fetch` of a Hono or h3 application. */
export type FetchHandler = (request: globalThis.Request) => globalThis.Response | Promise<globalThis.Response>

/**
 * Mounts a handler of the Fetch API: it answers all requests for a path and for the paths below it, with every method.
 * `mountFetchHandler(routes, '/api', hono.fetch)`. Bodies are streams in both directions. The URL of its request has the
 * whole path: a Hono application has `basePath('/api')`.
 *
 * @throws MOUNT_HANDLER_INVALID MOUNT_PATH_INVALID ROUTE_DEFINITION_INVALID ROUTE_NAME_TAKEN
 */
export function mountFetchHandler(
  routes: Routes,
  path: string,
  handler: FetchHandler,
  options: MountOptions = {},
): void {
  checkHandler(path, handler)
  const controller = defineController(`fetch handler ${path}`, [currentRequest], async request => {
    const message = toFetchRequest(request)
    rememberRequest(message, request)
    return fromFetchResponse(await handler(message), path, request.method)
  })
  addMount(routes, path, options, controller)
}
