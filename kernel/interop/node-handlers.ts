import { IncomingMessage, type OutgoingHttpHeader, type OutgoingHttpHeaders, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { Duplex, Readable } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { ARGUMENT_INVALID, checkFunction } from '../../lib/errors/arguments.ts'
import { HttpError } from '../../lib/errors/http-error.ts'
import type { EventDispatcher } from '../../lib/event-dispatcher/event-dispatcher.ts'
import { addVary, type Headers } from '../../lib/http/headers.ts'
import type { Request } from '../../lib/http/request.ts'
import { discard, isBodiless, Response, statusText } from '../../lib/http/response.ts'
import type { Routes } from '../bundle.ts'
import { defineController } from '../controller.ts'
import { KERNEL_NO_ROUTE } from '../errors.ts'
import { RequestEvent, ResponseEvent } from '../events.ts'
import { WebSocketUpgrade } from '../server/websocket-upgrade.ts'
import {
  addMount,
  checkHandler,
  checkSegments,
  hasOwnBody,
  isOfBody,
  isOfConnection,
  type MountOptions,
  rememberRequest,
} from './mount.ts'

/**
 * A handler of node:http: an application of Express, a `RequestListener`, or middleware of
 * Connect, which calls `next` for a request that it does not answer.
 */
export type NodeHandler = (
  request: IncomingMessage,
  response: ServerResponse,
  next: (error?: unknown) => void,
) => unknown

/**
 * Mounts a handler of node:http: it answers all requests for a path and for the paths below it, with every
 * method. `mountNodeHandler(routes, '/legacy', express)`. As in Express, its `req.url` is without the
 * path, and `req.originalUrl` is whole. `next()` is answered by 404, and `next(error)` by the error page.
 *
 * @throws MOUNT_HANDLER_INVALID MOUNT_PATH_INVALID ROUTE_DEFINITION_INVALID ROUTE_NAME_TAKEN
 */
export function mountNodeHandler(routes: Routes, path: string, handler: NodeHandler, options: MountOptions = {}): void {
  checkHandler(path, handler)
  const controller = defineController(`node handler ${path}`, request => {
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
  const wanted = decoded.length
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
  const check = (result: unknown) => {
    // Without the second argument, it cannot answer.
    if (typeof result !== 'function' || handler.length > 1) return
    const { name } = handler
    const mistake = `a handler (request, response, next) was expected, but ${name} returns one: write ${name}(), not ${name}`
    throw new ARGUMENT_INVALID([name, mistake])
  }
  run()
    .then(check)
    .catch((error: unknown) => messages.fail(asHttpError(error)))
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
 * Adds middleware of Connect or Express to all requests: `addNodeMiddleware(dispatcher, helmet())`.
 * If it calls `next()`, the kernel handles the request, and its response is written to `res`:
 * headers that the middleware has set stay, and functions of `res` that it has replaced are called.
 * `priority` is that of its listener of `kernel.request`; by default it is before routing.
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
  /** The header fields that the middleware has added to responses. */
  const added = new WeakMap<Request, readonly Field[]>()
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
    const { request, response } = event
    // The head of an upgrade is written by its library.
    if (response instanceof WebSocketUpgrade) return
    const messages = passed.get(request)
    if (messages !== undefined) {
      passed.delete(request)
      // The stream of the response may fail on its way: then the error page has these fields.
      added.set(request, findAdded(response.headers, messages.headers))
      const result = await passThrough(response, messages)
      added.set(request, findAdded(response.headers, result.headers))
      become(response, result)
    }
    const fields = added.get(request) ?? []
    if (fields.length > 0) event.complete(({ headers }) => addFields(headers, fields))
  }
  dispatcher.on(RequestEvent, onRequest, priority, name)
  dispatcher.on(ResponseEvent, onResponse, responsePriority, name)
}

type Field = readonly [name: string, value: string]

/** The fields that only the later headers have, without those that describe one body. */
function findAdded(before: Headers, after: Iterable<Field>): Field[] {
  return [...after].filter(([name, value]) => !describesBody.test(name) && !before.getAll(name).includes(value))
}

const describesBody =
  /^(?:content-(?!security-policy)|(?:accept-ranges|etag|last-modified|repr-digest|transfer-encoding)$)/i

/** Adds the fields that a response does not have: of its cookies, each one that has another name. */
function addFields(headers: Headers, fields: readonly Field[]): void {
  const own = [...headers].map(keyOf)
  for (const [name, value] of fields) {
    if (/^vary$/i.test(name)) for (const each of value.split(',')) addVary(headers, each.trim())
    else if (!own.includes(keyOf([name, value]))) headers.append(name, value)
  }
}

function keyOf([name, value]: Field): string {
  const key = name.toLowerCase()
  return key === 'set-cookie' ? `${key}: ${value.split('=', 1)}` : key
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

/** The status of nginx for a request whose client has left before the response. */
const clientHasLeft = 499

/** A path that a mount removes from the beginning of the URL, and the rest. */
interface MountedUrl {
  /** Empty for a mount at `/`. */
  readonly base: string
  /** Begins with a slash. */
  readonly rest: string
}

/**
 * The messages that a handler of node gets for a request, and the response that it makes. They are
 * real messages of node:http on a socket of their own, so that all listeners see the response
 * before it is sent, and errors can become error pages.
 */
class NodeMessages {
  readonly incoming: IncomingMessage
  readonly outgoing: ServerResponse
  /** Fulfilled when the handler has written the head; rejected by `fail`. */
  readonly response: Promise<Response>
  readonly #request: Request
  readonly #socket: HandlerSocket
  readonly #body: Readable
  #settle: { resolve(response: Response): void; reject(error: unknown): void } | undefined
  #isEnded = false

  /** `openBody` is called with the first read of the body. */
  constructor(request: Request, url: MountedUrl, openBody: () => Readable) {
    this.#request = request
    this.#body = new Readable({
      read: () => this.#socket.release(),
      destroy: (error, callback) => {
        this.#socket.destroy()
        callback(error)
      },
    })
    // It may fail before the kernel has it.
    this.#body.on('error', () => undefined)
    this.#socket = new HandlerSocket(request, bytes => this.#body.push(bytes))
    this.response = new Promise((resolve, reject) => {
      this.#settle = { resolve, reject }
    })
    // The caller may have no use for it.
    this.response.catch(() => undefined)
    this.incoming = createIncoming(request, url, this.#socket)
    this.#readBody(openBody)
    this.outgoing = this.#createOutgoing()
    this.#socket.on('drain', () => this.outgoing.emit('drain'))
    rememberRequest(this.incoming, request)
    this.#watchClient()
  }

  /** The headers that the handler has set so far. */
  get headers(): Field[] {
    const all = Object.entries(this.outgoing.getHeaders())
    return all.flatMap(([name, values]) => [values].flat().map((value): Field => [name, String(value)]))
  }

  /** Reports an error: before the head it becomes an error page, later it cuts the body off. */
  fail(error: unknown): void {
    this.#settle?.reject(error)
    if (this.outgoing.headersSent) this.#body.destroy(error instanceof Error ? error : new Error(String(error)))
  }

  #readBody(openBody: () => Readable): void {
    const { incoming } = this
    const end = () => {
      incoming.complete = true
      incoming.push(null)
    }
    const open = () => {
      const body = openBody()
      body.on('data', chunk => {
        if (!incoming.push(chunk)) body.pause()
      })
      body.on('end', end)
      body.on('error', error => this.#failBody(error))
      return body
    }
    let source: Readable | undefined
    incoming._read = () => {
      if (!hasOwnBody(this.#request)) end()
      else if (source !== undefined) source.resume()
      else {
        try {
          source = open()
        } catch (error) {
          this.#failBody(error)
        }
      }
    }
  }

  /**
   * The handler may answer an error of the body, and read the rest: `destroy` would close the socket of its response.
   */
  #failBody(error: unknown): void {
    const { incoming } = this
    // The client has left: the handler has that error.
    if (incoming.destroyed) return
    if (incoming.listenerCount('error') > 0) incoming.emit('error', error)
    else this.fail(error)
    incoming.complete = true
    incoming.push(null)
  }

  #createOutgoing(): ServerResponse {
    const { incoming } = this
    // For HTTP/1.0, node writes bodies without chunked coding: the server of the kernel adds that of its own.
    incoming.httpVersionMinor = 0
    const outgoing = new ServerResponse(incoming)
    incoming.httpVersionMinor = 1
    outgoing.sendDate = false
    outgoing.assignSocket(this.#socket as unknown as Socket)
    // As its own property: Express changes the prototype.
    outgoing.writeHead = (status: number, ...rest: readonly unknown[]) => this.#writeHead(status, rest)
    Object.assign(outgoing, {
      writeContinue: ignore,
      writeProcessing: ignore,
      writeEarlyHints: ({ link = [] }: { link?: string | string[] }, callback?: () => void) => {
        this.#request.sendEarlyHints([link].flat())
        callback?.()
      },
    })
    outgoing.on('finish', () => {
      this.#isEnded = true
      this.#body.push(null)
      this.#socket.destroy()
    })
    outgoing.on('close', () => {
      if (this.#isEnded) return
      if (this.#request.signal.aborted) this.#settle?.resolve(new Response(null, { status: clientHasLeft }))
      this.fail(new Error('The handler has closed the connection before the end of its response.'))
    })
    return outgoing
  }

  /** `rest` are a status text or none, and headers or none. */
  #writeHead(status: number, rest: readonly unknown[]): ServerResponse {
    const { outgoing } = this
    if (outgoing.headersSent) return ServerResponse.prototype.writeHead.call(outgoing, status)
    setHeaders(outgoing, rest.at(-1))
    for (const name of outgoing.getHeaderNames()) if (isOfConnection(name)) outgoing.removeHeader(name)
    ServerResponse.prototype.writeHead.call(outgoing, status)
    void this.#respond(status)
    return outgoing
  }

  /** A body that is written within a turn of the event loop has a length; all others are streams. */
  async #respond(status: number): Promise<void> {
    await nextTurn()
    try {
      const response = new Response(null, { status, headers: this.headers })
      // The length of the body of GET may be unknown.
      const isWhole = this.#isEnded && this.#request.method !== 'HEAD'
      response.body = isWhole ? readAll(this.#body) : this.#body
      // Otherwise the ResponseListener would set that of HTML.
      const isUntyped = response.body !== null && !isBodiless(status) && !response.headers.has('content-type')
      if (isUntyped) response.headers.set('content-type', 'application/octet-stream')
      this.#settle?.resolve(response)
    } catch (error) {
      this.fail(error)
    }
  }

  /** Ends the messages when the client leaves. */
  #watchClient(): void {
    const { signal } = this.#request
    const leave = () => {
      // Node destroys an aborted message with the same error.
      this.incoming.destroy(Object.assign(new Error('aborted'), { code: 'ECONNRESET' }))
      this.#socket.destroy()
    }
    if (signal.aborted) leave()
    signal.addEventListener('abort', leave)
    this.outgoing.once('close', () => signal.removeEventListener('abort', leave))
  }
}

function createIncoming(request: Request, { base, rest }: MountedUrl, socket: HandlerSocket): IncomingMessage {
  const incoming = new IncomingMessage(socket as unknown as Socket)
  const hasBody = hasOwnBody(request)
  incoming.method = request.method
  incoming.url = rest
  incoming.httpVersion = request.httpVersion
  incoming.httpVersionMajor = 1
  incoming.httpVersionMinor = 1
  const fields = [...request.headers].filter(([name]) => hasBody || !isOfBody(name)).flat()
  // As the parser does. The types of Node do not have it.
  const { _addHeaderLines } = incoming as unknown as { _addHeaderLines(fields: string[], count: number): void }
  _addHeaderLines.call(incoming, fields, fields.length)
  // Connect and Express keep the whole URL there.
  return Object.assign(incoming, { originalUrl: base + rest, baseUrl: base })
}

/** All bytes of a stream that has ended. From Node.js 26 on, `read` returns one chunk of them. */
function readAll(stream: Readable): Buffer | null {
  const chunks: Buffer[] = []
  for (let chunk = stream.read(); chunk !== null; chunk = stream.read()) chunks.push(chunk)
  return chunks.length === 0 ? null : Buffer.concat(chunks)
}

/** The kernel itself answers clients that wait for `100 Continue`. */
function ignore(callback?: () => void): void {
  callback?.()
}

/** Sets the headers of `writeHead`: a record, or names and values in turn. */
function setHeaders(outgoing: ServerResponse, headers: unknown): void {
  if (typeof headers !== 'object' || headers === null) return
  if (!Array.isArray(headers)) {
    for (const [name, value] of Object.entries(headers as OutgoingHttpHeaders)) {
      if (value !== undefined) outgoing.setHeader(name, value)
    }
    return
  }
  const fields = headers.flat() as OutgoingHttpHeader[]
  for (let at = 0; at < fields.length; at += 2) outgoing.removeHeader(String(fields[at]))
  for (let at = 0; at < fields.length; at += 2) outgoing.appendHeader(String(fields[at]), String(fields[at + 1]))
}

/**
 * The socket of the messages that a handler of node gets: it has the client of the request, and
 * passes on the bytes of the body.
 */
class HandlerSocket extends Duplex {
  readonly remoteAddress: string
  readonly encrypted: boolean
  readonly #take: (bytes: Buffer) => boolean
  #hasHead = false
  #callback: (() => void) | undefined

  /** `take` returns `false` when it wants no more bytes until `release`. */
  constructor({ clientIp, scheme }: Request, take: (bytes: Buffer) => boolean) {
    super({ read: () => undefined })
    this.remoteAddress = clientIp
    this.encrypted = scheme === 'https'
    this.#take = take
    this.on('error', () => undefined)
  }

  /** Accepts more bytes. */
  release(): void {
    const callback = this.#callback
    this.#callback = undefined
    callback?.()
  }

  override _write(bytes: Buffer, _encoding: BufferEncoding, callback: () => void): void {
    const content = this.#skipHead(bytes)
    if (content.length === 0 || this.#take(content)) callback()
    else this.#callback = callback
  }

  /** The head is known already. Node writes it at once, alone or with the first bytes of the body. */
  #skipHead(bytes: Buffer): Buffer {
    if (this.#hasHead) return bytes
    this.#hasHead = true
    return bytes.subarray(bytes.indexOf('\r\n\r\n') + 4)
  }

  // The time limits of the connection are those of the server.
  setTimeout(): this {
    return this
  }

  setNoDelay(): this {
    return this
  }

  setKeepAlive(): this {
    return this
  }

  ref(): this {
    return this
  }

  unref(): this {
    return this
  }
}
