import { Readable } from 'node:stream'
import { checkFunction } from '../../lib/errors/arguments.ts'
import { HttpError } from '../../lib/errors/http-error.ts'
import type { EventDispatcher } from '../../lib/event-dispatcher/event-dispatcher.ts'
import type { Request } from '../../lib/http/request.ts'
import { discard, type Response, statusText } from '../../lib/http/response.ts'
import { currentRequest } from '../arguments/request-values.ts'
import type { Routes } from '../bundle.ts'
import { defineController } from '../controller.ts'
import { KERNEL_NO_ROUTE } from '../errors.ts'
import { RequestEvent, ResponseEvent } from '../events.ts'
import { WebSocketUpgrade } from '../server/websocket-upgrade.ts'
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
function callNodeHandler(handler: NodeHandler, messages: NodeMessages, pass: () => void): void {
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

/** Before routing, so that middleware can answer any request; after the checks of the request. */
const defaultPriority = 40

/** After the listeners that add headers, before compression. */
const responsePriority = -1000

/**
 * Adds middleware of Connect or Express to all requests: `addNodeMiddleware(dispatcher, helmet())`. If it calls `next()`, the kernel
 * handles the request, and its response is written to `res`: headers that the middleware has set stay, and functions of `res`
 * that it has replaced are called. `priority` is that of its listener of `kernel.request`; by default it is before routing.
 */
export function addNodeMiddleware(
  dispatcher: EventDispatcher,
  middleware: NodeHandler,
  priority: number = defaultPriority,
): void {
  const call = 'addNodeMiddleware(dispatcher, middleware)'
  checkFunction(call, 'the method on() of the dispatcher', dispatcher?.on)
  checkFunction(call, 'the middleware', middleware)
  const name = middleware.name || 'middleware'
  const passed = new WeakMap<Request, NodeMessages>()
  const onRequest = async (event: RequestEvent) => {
    if (!event.isMainRequest) return
    const { request } = event
    const { queryString, rawPath } = request
    const rest = queryString === '' ? rawPath : `${rawPath}?${queryString}`
    const messages = new NodeMessages(request, { base: '', rest }, () => request.body.stream())
    const response = await new Promise<Response | undefined>((resolve, reject) => {
      callNodeHandler(middleware, messages, () => {
        passed.set(request, messages)
        resolve(undefined)
      })
      messages.response.then(resolve, reject)
    })
    if (response !== undefined) event.respond(response)
  }
  const onResponse = async (event: ResponseEvent) => {
    const messages = passed.get(event.request)
    // The head of an upgrade is written by its library.
    if (messages === undefined || event.response instanceof WebSocketUpgrade) return
    passed.delete(event.request)
    become(event.response, await passThrough(event.response, messages))
  }
  dispatcher.on(RequestEvent, onRequest, priority, name)
  dispatcher.on(ResponseEvent, onResponse, responsePriority, name)
}

/** Writes a response to the messages of a middleware, and returns the response that comes out. */
async function passThrough({ body, headers, status }: Response, messages: NodeMessages): Promise<Response> {
  const { outgoing } = messages
  outgoing.statusCode = status
  for (const [name] of headers) outgoing.removeHeader(name)
  for (const [name, value] of headers) outgoing.appendHeader(name, value)
  if (outgoing.req.method === 'HEAD') {
    outgoing.end()
    // The server takes the length from the body, and does not send it.
    return Object.assign(await messages.response, { body })
  }
  if (body instanceof Readable) {
    body.on('error', error => messages.fail(error)).pipe(outgoing)
    // `pipe` leaves its source open if the client leaves: a file would stay open.
    outgoing.once('close', () => discard(body))
  } else outgoing.end(body)
  return messages.response
}

/** The object stays: the server and listeners know an EventStream and a FileResponse by their classes. */
function become(response: Response, { body, headers, status }: Response): void {
  for (const [name] of [...response.headers]) response.headers.delete(name)
  for (const [name, value] of headers) response.headers.append(name, value)
  Object.assign(response, { body, status })
}
