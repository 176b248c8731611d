import { checkFunction, checkObject } from '../../lib/errors/arguments.ts'
import { type CodedErrorClass, defineError } from '../../lib/errors/http-error.ts'
import type { Request } from '../../lib/http/request.ts'
import type { RouteDefinition } from '../../lib/routing/route.ts'
import { describeValue } from '../../lib/text/describe-value.ts'
import type { Routes } from '../bundle.ts'
import type { Controller } from '../controller.ts'

/**
 * The path of `mountFetchHandler` or `mountNodeHandler` has no slash at its beginning, one at its end, or a wildcard.
 * Write `/api`: all paths below it belong to the mount.
 */
export const MOUNT_PATH_INVALID: CodedErrorClass<[path: string, reason: string]> = defineError(
  'MOUNT_PATH_INVALID',
  500,
  'A handler cannot be mounted at "%s": %s.',
)

/**
 * The handler of `mountFetchHandler` or `mountNodeHandler` is no function. Pass `hono.fetch`, or the application of
 * Express.
 */
export const MOUNT_HANDLER_INVALID: CodedErrorClass<[path: string, found: string]> = defineError(
  'MOUNT_HANDLER_INVALID',
  500,
  'The handler mounted at "%s" must be a function, such as the "fetch" of a Hono application, but it is %s.',
)

/**
 * The path of a request has a segment `.` or `..`, or its host cannot be in a URL. Nothing needs to be done:
 * browsers do not send this.
 */
export const MOUNT_URL_INVALID: CodedErrorClass<[reason: string]> = defineError(
  'MOUNT_URL_INVALID',
  400,
  'The mounted handler cannot get this request: %s.',
)

/**
 * A mounted handler has returned no `Response` of the Fetch API, `Response.error()`, or one whose body was read
 * already. Return a new response.
 */
export const MOUNT_RESPONSE_INVALID: CodedErrorClass<[path: string, found: string]> = defineError(
  'MOUNT_RESPONSE_INVALID',
  500,
  'The handler mounted at "%s" must return a "Response" of the Fetch API, but it returned %s.',
)

/**
 * Other members of a mount's route, such as its `priority`, or `defaults: { _body_limit: 1e8 }`.
 * Its default name is that of its path: `api_v1` for `/api/v1`.
 */
export type MountOptions = Partial<Omit<RouteDefinition, 'path' | 'controller'>>

/**
 * A function; Node.js runs TypeScript without a check of its types. @throws MOUNT_PATH_INVALID MOUNT_HANDLER_INVALID
 */
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
  checkObject('mounting a handler', options, { methods: true, host: true, defaults: true })
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

/**
 * A handler may resolve the path: it would see one that no route and no listener has seen. @throws
 * MOUNT_URL_INVALID (400)
 */
export function checkSegments({ rawPath }: Request): void {
  if (dotSegment.test(rawPath)) throw new MOUNT_URL_INVALID(['its path has a segment "." or ".."'])
}

const requests = new WeakMap<object, Request>()

/**
 * Keeps each message as long as its request: the signal of a message of the Fetch API that was
 * collected is never aborted.
 */
const messages = new WeakMap<Request, object>()

/** Remembers the request for which a message of a mounted handler was made. */
export function rememberRequest(message: object, request: Request): void {
  requests.set(message, request)
  messages.set(request, message)
}

/**
 * The request of the kernel behind a request that a mounted handler gets: its session, its attributes, and the address
 * of its client. The argument is the very object that the handler was called with, such as `c.req.raw` in Hono.
 */
export function kernelRequestOf(message: object): Request | undefined {
  return requests.get(message)
}

/** Whether the body is for this request: that of a main request is not for its sub-requests. */
export function hasOwnBody(request: Request): boolean {
  return request.parent === undefined && request.hasBody
}

/** Whether a field says how long a body is. */
export function isOfBody(name: string): boolean {
  return /^(?:content-length|transfer-encoding)$/i.test(name)
}

/** Fields of one connection only (RFC 9110, section 7.6.1): the server sets its own. */
const connectionHeaders: ReadonlySet<string> = new Set(
  'connection keep-alive proxy-connection te trailer transfer-encoding upgrade'.split(' '),
)

/** Whether a field is of one connection only. `name` is in lower case. */
export function isOfConnection(name: string): boolean {
  return connectionHeaders.has(name)
}
