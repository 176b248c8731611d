import { Readable } from 'node:stream'
import { checkFunction } from '../../lib/errors/arguments.ts'
import type { EventDispatcher } from '../../lib/event-dispatcher/event-dispatcher.ts'
import type { Request } from '../../lib/http/request.ts'
import { discard, type Response } from '../../lib/http/response.ts'
import { RequestEvent, ResponseEvent } from '../events.ts'
import { WebSocketUpgrade } from '../server/websocket-upgrade.ts'
import { callNodeHandler } from './mount-node-handler.ts'
import { type NodeHandler, NodeMessages } from './node-messages.ts'

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
