import { Readable } from 'node:stream'
import { HttpError } from '../../lib/errors/http-error.ts'
import type { Request } from '../../lib/http/request.ts'
import { statusText } from '../../lib/http/response.ts'
import { currentRequest } from '../arguments/request-values.ts'
import type { Routes } from '../bundle.ts'
import { defineController } from '../controller.ts'
import { KERNEL_NO_ROUTE } from '../errors.ts'
import { hasOwnBody } from './fetch-messages.ts'
import { addMount, checkHandler, checkSegments, type MountOptions } from './mount.ts'
import { type MountedUrl, type NodeHandler, NodeMessages } from './node-messages.ts'

/**
 * Mounts a handler of node:http: it answers all requests for a path and for the paths below it, with every method.
 * `mountNodeHandler(routes, '/legacy', express)`. As in Express, its `req.url` is without the path, and `req.originalUrl` is
 * whole. `next()` is answered by 404, and `next(error)` by the error page.
 *
 * @throws MOUNT_HANDLER_INVALID MOUNT_PATH_INVALID ROUTE_DEFINITION_INVALID ROUTE_NAME_TAKEN
 */
export function mountNodeHandler(routes: Routes, path: string, handler: NodeHandler, options: MountOptions = {}): void {
  checkHandler(path, handler)
  const controller = defineController(`node handler ${path}`, [currentRequest], request => {
    const body = hasOwnBody(request) ? request.body.stream() : Readable.from([])
    const messages = new NodeMessages(request, splitUrl(request), () => body)
    callNodeHandler(handler, messages, () => messages.fail(missing(request)))
    return messages.response
  })
  addMount(routes, path, options, controller)
}

/**
 * Splits the URL before the rest of the path, as it was sent.
 *
 * @throws MOUNT_URL_INVALID (400); KERNEL_NO_ROUTE if an encoded slash precedes the rest
 */
function splitUrl(request: Request): MountedUrl {
  checkSegments(request)
  const { attributes, queryString, rawPath } = request
  const query = queryString === '' ? '' : `?${queryString}`
  const decoded = attributes.get('_rest')
  if (decoded === undefined) return { base: rawPath.replace(/\/$/, ''), rest: `/${query}` }
  const wanted = String(decoded).length
  const segments = rawPath.split('/')
  const rest: string[] = []
  let length = -1
  while (length < wanted && segments.length > 1) {
    const segment = segments.pop() ?? ''
    rest.unshift(segment)
    length += 1 + decodeURIComponent(segment).length
  }
  if (length !== wanted) throw missing(request)
  return { base: segments.join('/'), rest: `/${rest.join('/')}${query}` }
}

/** Calls a handler. `pass` is called when the handler calls `next()` without an error. */
export function callNodeHandler(handler: NodeHandler, messages: NodeMessages, pass: () => void): void {
  const next = (error?: unknown) => {
    // Routers of Express have these words for "no more handlers of this route".
    if (error === undefined || error === null || error === 'route' || error === 'router') pass()
    else messages.fail(asHttpError(error))
  }
  const run = async () => handler(messages.incoming, messages.outgoing, next)
  run().catch((error: unknown) => messages.fail(asHttpError(error)))
}

function missing({ basePath, method, origin, rawPath }: Request): Error {
  return new KERNEL_NO_ROUTE([method, `${origin}${basePath}${rawPath}`, ''])
}

/** The convention of http-errors: an error may have a status, and `expose` is true if clients may see its message. */
function asHttpError(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof HttpError) return error
  const { expose, status, statusCode = status } = error as { expose?: unknown; status?: unknown; statusCode?: unknown }
  if (typeof statusCode !== 'number' || !Number.isInteger(statusCode)) return error
  if (statusCode < 400 || statusCode > 599) return error
  const message = expose === true ? error.message : statusText(statusCode)
  return new HttpError(statusCode, message, { cause: error })
}
