import { checkFunction } from '../../lib/errors/arguments.ts'
import type { Request } from '../../lib/http/request.ts'
import type { RouteDefinition } from '../../lib/routing/route.ts'
import { describeValue } from '../../lib/text/describe-value.ts'
import type { Routes } from '../bundle.ts'
import type { Controller } from '../controller.ts'
import { MOUNT_HANDLER_INVALID, MOUNT_PATH_INVALID, MOUNT_URL_INVALID } from './errors.ts'

/**
 * Other members of a mount's route, such as its `priority`, or `defaults: { _body_limit: 1e8 }`. Its default name is that of
 * its path: `api_v1` for `/api/v1`.
 */
export type MountOptions = Partial<Omit<RouteDefinition, 'path' | 'controller'>>

/** A function; Node.js runs TypeScript without a check of its types. @throws MOUNT_PATH_INVALID MOUNT_HANDLER_INVALID */
export function checkHandler(path: string, handler: unknown): void {
  if (typeof path !== 'string') throw new MOUNT_PATH_INVALID([describeValue(path), 'a path is a text'])
  if (typeof handler !== 'function') throw new MOUNT_HANDLER_INVALID([path, describeValue(handler)])
}

/** Adds the route of a mount: it matches its path and all paths below. @throws MOUNT_PATH_INVALID */
export function addMount(routes: Routes, path: string, options: MountOptions, controller: Controller): void {
  if (!path.startsWith('/')) throw new MOUNT_PATH_INVALID([path, 'a path begins with a slash'])
  if (path !== '/' && path.endsWith('/')) throw new MOUNT_PATH_INVALID([path, 'leave out the slash at its end'])
  if (/[*{}]/.test(path))
    throw new MOUNT_PATH_INVALID([path, 'all paths below it belong to the mount without a wildcard'])
  checkFunction(
    'mounting a handler',
    'the first argument has the routes of the application: its method add()',
    routes?.add,
  )
  routes.add({
    name: path === '/' ? 'mount' : path.slice(1).replace(/\W+/g, '_'),
    ...options,
    path: path === '/' ? '/{*_rest}' : `${path}{/{*_rest}}`,
    // The handler reads the body as a stream.
    defaults: { _body_unread: true, ...options.defaults },
    controller,
  })
}

/** A segment that URLs resolve. */
const dotSegment = /\/(?:\.|%2e){1,2}(?:\/|$)/i

/** A handler may resolve the path: it would see one that no route and no listener has seen. @throws MOUNT_URL_INVALID (400) */
export function checkSegments({ rawPath }: Request): void {
  if (dotSegment.test(rawPath)) throw new MOUNT_URL_INVALID(['its path has a segment "." or ".."'])
}

const requests = new WeakMap<object, Request>()

/** Remembers the request for which a message of a mounted handler was made. */
export function rememberRequest(message: object, request: Request): void {
  requests.set(message, request)
}

/**
 * The request of the kernel behind a request that a mounted handler gets: its session, its attributes, and the address of
 * its client. The argument is the very object that the handler was called with, such as `c.req.raw` in Hono.
 */
export function kernelRequestOf(message: object): Request | undefined {
  return requests.get(message)
}
