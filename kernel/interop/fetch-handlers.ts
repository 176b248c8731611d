import { Readable, Writable } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { checkOptions } from '../../lib/errors/arguments.ts'
import { isRetrieval } from '../../lib/http/conditions.ts'
import { Headers } from '../../lib/http/headers.ts'
import { type Connection, Request, type RequestInit } from '../../lib/http/request.ts'
import { discard, Response } from '../../lib/http/response.ts'
import { TrustedProxies } from '../../lib/http/trusted-proxies.ts'
import { describeValue } from '../../lib/text/describe-value.ts'
import type { Application, Routes } from '../bundle.ts'
import { defineController } from '../controller.ts'
import { createConstantResponse } from '../last-resort.ts'
import { createBody } from '../server/from-node.ts'
import { type ReplyTarget, type StreamProgress, toNode } from '../server/to-node.ts'
import {
  addMount,
  checkHandler,
  checkSegments,
  hasOwnBody,
  isOfBody,
  isOfConnection,
  MOUNT_RESPONSE_INVALID,
  MOUNT_URL_INVALID,
  type MountOptions,
  rememberRequest,
} from './mount.ts'

/** The options of {@link toFetchHandler}. */
export interface FetchHandlerOptions<context extends readonly unknown[]> {
  /**
   * The connection of a request, best the socket itself; at least the address of the client. `context` are the
   * other arguments of the handler, in which a server passes it. Without a socket, no client gets debug output.
   */
  readonly connection?: (request: globalThis.Request, ...context: context) => Connection | undefined
}

/**
 * A handler of the Fetch API that answers with a kernel, for other servers, other frameworks and tests. Bodies are
 * streams in both directions. `kernel.terminate` is dispatched when the body was read to its end, or was cancelled.
 */
export function toFetchHandler<context extends readonly unknown[] = []>(
  { app }: { readonly app: Application },
  options: FetchHandlerOptions<context> = {},
): (request: globalThis.Request, ...context: context) => Promise<globalThis.Response> {
  // The context is generic, so the compiler does not know what the function returns.
  checkOptions('toFetchHandler()', options as { readonly connection?: () => undefined }, {
    connection: 'sync function',
  })
  const { connection } = options
  const trustedProxies = new TrustedProxies(app.config.trustedProxies, app.config.trustedHeaders)
  return async (message, ...context) => {
    const reply = createReply(message)
    const body = message.body === null ? undefined : toNodeStream(message.body)
    // A body that was not read to its end is cancelled.
    reply.once('close', () => discard(body ?? null))
    const init = { reply, trustedProxies, connection: connection?.(message, ...context) }
    const request = fromFetchRequest(message, body, init)
    app.debugGate.identify(request)
    // The promise of a main request never rejects.
    void app.kernel.handle(request).then(response => new FetchExchange(app, request, reply, response).send())
    return reply.response
  }
}

/**
 * The messages that are not answered yet. Without it, nothing may refer to a message whose code
 * waits, and the signal of a message that was collected is never aborted.
 */
const open = new Set<globalThis.Request>()

/** A reply that is closed when the client leaves. */
function createReply(message: globalThis.Request): FetchReply {
  const { method, signal } = message
  const reply = new FetchReply(method)
  const leave = () => void reply.destroy()
  if (signal.aborted) leave()
  open.add(message)
  signal.addEventListener('abort', leave)
  reply.once('close', () => {
    open.delete(message)
    signal.removeEventListener('abort', leave)
  })
  return reply
}

function fromFetchRequest(
  message: globalThis.Request,
  body: Readable | undefined,
  { connection, ...init }: Pick<RequestInit, 'connection' | 'reply' | 'trustedProxies'>,
): Request {
  const { host, pathname, protocol, search } = new URL(message.url)
  const headers = new Headers(message.headers)
  if (!headers.has('host')) headers.set('host', host)
  return new Request({
    ...init,
    method: message.method,
    target: pathname + search,
    headers,
    connection: connection?.remotePort === undefined ? toConnection(connection, protocol) : connection,
    body: body && createBody(body, headers),
  })
}

/** With a port that no socket has, debug output needs the key, and the user of the socket: see the DebugGate. */
function toConnection(connection: Connection | undefined, protocol: string): Connection {
  return { remoteAddress: connection?.remoteAddress, remotePort: 0, encrypted: protocol === 'https:' }
}

/** A request, its response, and the reply to which the response is sent. */
class FetchExchange {
  readonly #app: Application
  readonly #request: Request
  readonly #reply: FetchReply
  #response: Response
  #isErrorPage = false
  #streamError: unknown
  #progress: StreamProgress | undefined

  constructor(app: Application, request: Request, reply: FetchReply, response: Response) {
    this.#app = app
    this.#request = request
    this.#reply = reply
    // The Fetch API has no sockets.
    this.#response = response.status === 101 ? createConstantResponse(426) : response
  }

  /** Sends the response, and dispatches `kernel.terminate` at its end. Never throws. */
  send(): void {
    if (this.#reply.destroyed) {
      discard(this.#response.body)
      this.#end()
      return
    }
    this.#reply.once('close', () => this.#end())
    // Code that runs while the stream is read belongs to this request.
    this.#app.kernel.run(this.#request, () => this.#write())
  }

  /** Writes the response. If its head cannot be written, a constant response takes its place. */
  #write(): void {
    try {
      this.#progress = toNode(this.#response, this.#reply, error => void this.#onStreamFailure(error))
    } catch (error) {
      this.#app.logger.critical('A response could not be sent.', { exception: error })
      this.#response = createConstantResponse()
      this.#write()
    }
  }

  /** A stream that fails before its head was sent becomes an error page, as in a server. */
  async #onStreamFailure(error: unknown): Promise<void> {
    const { kernel, logger } = this.#app
    if (this.#reply.headersSent) {
      this.#streamError = error
      this.#reply.destroy(asError(error))
      return
    }
    if (this.#isErrorPage) logger.critical('A response could not be sent.', { exception: error })
    const page = this.#isErrorPage ? createConstantResponse() : await kernel.answerError(this.#request, error)
    if (this.#reply.destroyed) {
      discard(page.body)
      return
    }
    this.#isErrorPage = true
    this.#response = page
    this.#write()
  }

  #end(): void {
    const end = {
      isSent: this.#reply.writableFinished,
      streamError: this.#streamError,
      sentBytes: this.#progress?.bytes,
    }
    void this.#app.kernel.terminate(this.#request, this.#response, end)
  }
}

type Callback = (error?: Error | null) => void

/** A target of responses whose bytes are the body of a response of the Fetch API, with back pressure. */
class FetchReply extends Writable implements ReplyTarget {
  readonly req: { readonly method: string }
  /** Fulfilled with the head; rejected if the target is destroyed before. */
  readonly response: Promise<globalThis.Response>
  headersSent = false
  readonly #hasBody: boolean
  #head: { readonly status: number; readonly headers: globalThis.Headers } | undefined
  #settle: { resolve(response: globalThis.Response): void; reject(reason: unknown): void } | undefined
  #body: ReadableStreamDefaultController<Uint8Array> | undefined
  /** Whether the consumer waits for a chunk. */
  #isAsked = false
  #chunk: { readonly bytes: Uint8Array; readonly callback: Callback } | undefined
  #end: Callback | undefined

  /** `method` is that of the request. */
  constructor(method: string) {
    super()
    // The error is that of the response, or of its body.
    this.on('error', () => undefined)
    this.req = { method }
    this.#hasBody = method !== 'HEAD'
    this.response = new Promise((resolve, reject) => {
      this.#settle = { resolve, reject }
    })
    // The client may leave before the caller has the promise.
    this.response.catch(() => undefined)
  }

  writeHead(status: number, fields: readonly string[]): void {
    const headers = new globalThis.Headers()
    for (let at = 0; at < fields.length; at += 2) headers.append(fields[at] ?? '', fields[at + 1] ?? '')
    this.#head = { status, headers }
    this.headersSent = true
  }

  /** Fulfills the response, whose body follows. */
  flushHeaders(): void {
    if (!this.#hasBody || this.#body !== undefined) return
    const stream = new ReadableStream<Uint8Array>(
      {
        start: controller => {
          this.#body = controller
        },
        pull: () => {
          this.#isAsked = true
          this.#give()
        },
        cancel: () => void this.destroy(),
      },
      { highWaterMark: 0 },
    )
    this.#settle?.resolve(new globalThis.Response(stream, this.#head))
  }

  override _write(bytes: Uint8Array, _encoding: BufferEncoding, callback: Callback): void {
    if (!this.#hasBody || bytes.length === 0) {
      callback()
      return
    }
    this.flushHeaders()
    this.#chunk = { bytes, callback }
    this.#give()
  }

  override _final(callback: Callback): void {
    if (this.#body === undefined) {
      this.#settle?.resolve(new globalThis.Response(null, this.#head))
      callback()
      return
    }
    this.#end = callback
    this.#give()
  }

  override _destroy(error: Error | null, callback: Callback): void {
    const reason = error ?? new DOMException('The response was not sent.', 'AbortError')
    // Both do nothing after the end.
    this.#settle?.reject(reason)
    this.#body?.error(reason)
    callback(error)
  }

  /** Passes the next chunk to the consumer, if it has asked for one. */
  #give(): void {
    if (!this.#isAsked) return
    const chunk = this.#chunk
    const end = this.#end
    this.#isAsked = false
    this.#chunk = undefined
    this.#end = undefined
    if (chunk !== undefined) {
      this.#body?.enqueue(chunk.bytes)
      chunk.callback()
    } else if (end !== undefined) {
      this.#body?.close()
      end()
    } else this.#isAsked = true
  }
}

/** A function from a request to a response of the Fetch API, such as `fetch` of a Hono or h3 application. */
export type FetchHandler = (request: globalThis.Request) => globalThis.Response | Promise<globalThis.Response>

/**
 * Mounts a handler of the Fetch API: it answers all requests for a path and for the paths below it,
 * with every method. `mountFetchHandler(routes, '/api', hono.fetch)`. Bodies are streams in both
 * directions. The URL of its request has the whole path: a Hono application has `basePath('/api')`.
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
  const controller = defineController(`fetch handler ${path}`, async request => {
    const message = toFetchRequest(request)
    rememberRequest(message, request)
    return fromFetchResponse(await handler(message), path, request.method)
  })
  addMount(routes, path, options, controller)
}

/**
 * The request of the Fetch API for a request of the kernel, with its stream, and with a signal that is aborted
 * when the client leaves. The URL has the origin that the client sees, and the path that the routes see.
 *
 * @throws MOUNT_URL_INVALID (400) BODY_TOO_LARGE (413) BODY_UNAVAILABLE
 */
function toFetchRequest(request: Request): globalThis.Request {
  const { headers, method, signal } = request
  const body = isRetrieval(method) || !hasOwnBody(request) ? null : toWebStream(request.body.stream())
  const init = { method, headers: toFetchHeaders(headers, body !== null), signal }
  return new globalThis.Request(toUrl(request), body === null ? init : { ...init, body, duplex: 'half' })
}

function toUrl(request: Request): string {
  checkSegments(request)
  const { hostname, origin, queryString, rawPath, scheme } = request
  const url = `${origin || `${scheme}://localhost`}${rawPath}${queryString === '' ? '' : `?${queryString}`}`
  // The rules for hosts in URLs are stricter than those for the header.
  if (!URL.canParse(url)) throw new MOUNT_URL_INVALID([`its host "${hostname}" cannot be in a URL`])
  return url
}

function toFetchHeaders(fields: Request['headers'], hasBody: boolean): globalThis.Headers {
  const headers = new globalThis.Headers()
  for (const [name, value] of fields) if (hasBody || !isOfBody(name)) headers.append(name, value)
  // The Fetch API would join several fields by a comma.
  const cookie = fields.get('cookie')
  if (cookie !== null) headers.set('cookie', cookie)
  return headers
}

/**
 * The response of the kernel for the result of a handler of the Fetch API, at a path. A body that
 * is there at once has a Content-Length; all others are streams.
 *
 * @throws MOUNT_RESPONSE_INVALID
 */
async function fromFetchResponse(result: unknown, path: string, method: string): Promise<Response> {
  const { body, headers, status } = checkFetchResponse(result, path)
  const content = body === null ? null : await fromWebStream(body)
  // A Content-Length of 0 would be wrong: the length of the body of GET is unknown.
  const isHeadOnly = method === 'HEAD' && content === null
  const response = new Response(isHeadOnly ? Readable.from([]) : content, { status })
  for (const [name, value] of headers) if (!isOfConnection(name)) response.headers.append(name, value)
  // Otherwise the ResponseListener would set that of HTML.
  if (content !== null && !headers.has('content-type')) response.headers.set('content-type', 'application/octet-stream')
  return response
}

/** Polyfills have classes of their own. */
function checkFetchResponse(result: unknown, path: string): globalThis.Response {
  if (Object.prototype.toString.call(result) !== '[object Response]') {
    const found = result instanceof Response ? 'the "Response" of "sinfonietta"' : describeValue(result)
    throw new MOUNT_RESPONSE_INVALID([path, found])
  }
  const response = result as globalThis.Response
  if (response.type === 'error') throw new MOUNT_RESPONSE_INVALID([path, 'Response.error()'])
  if (response.bodyUsed) throw new MOUNT_RESPONSE_INVALID([path, 'one whose body was read already'])
  return response
}

/** A stream of the web for a stream of node. Nothing is read before the consumer asks for it. */
function toWebStream(stream: Readable): ReadableStream<Uint8Array> {
  const chunks: AsyncIterator<Uint8Array> = stream[Symbol.asyncIterator]()
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await chunks.next()
        if (done) controller.close()
        else controller.enqueue(value)
      },
      cancel: () => void stream.destroy(),
    },
    // The stream of node has a queue already.
    { highWaterMark: 0 },
  )
}

/** The most bytes of a short body, which is sent with its length. */
const shortLimit = 64 * 1024

/**
 * The content of a stream of the web: bytes, if all of it is there within a turn of the event
 * loop, as for a text or JSON; else a stream of node. Rejects if the stream fails at once.
 */
async function fromWebStream(stream: ReadableStream<Uint8Array>): Promise<Uint8Array | Readable> {
  const reader = stream.getReader()
  const turn = nextTurn()
  const chunks: Uint8Array[] = []
  let size = 0
  while (size <= shortLimit) {
    const next = reader.read()
    const result = await Promise.race([next, turn])
    if (result === undefined) return toReadable(reader, chunks, next)
    if (result.done) return Buffer.concat(chunks)
    chunks.push(result.value)
    size += result.value.byteLength
  }
  return toReadable(reader, chunks)
}

/** A stream of node for a stream of the web, which is cancelled when the stream of node is destroyed. */
function toNodeStream(stream: ReadableStream<Uint8Array>): Readable {
  return toReadable(stream.getReader(), [])
}

type Reader = ReadableStreamDefaultReader<Uint8Array>

/** A stream of chunks that were read already, and of all that follow. `next` is a read that is under way. */
function toReadable(reader: Reader, chunks: Uint8Array[], next?: ReturnType<Reader['read']>): Readable {
  let pending = next
  const readable = new Readable({
    read() {
      const chunk = chunks.shift()
      if (chunk !== undefined) {
        this.push(chunk)
        return
      }
      const read = pending ?? reader.read()
      pending = undefined
      read
        .then(({ done, value }) => void this.push(done ? null : value))
        .catch((error: unknown) => this.destroy(asError(error)))
    },
    destroy(error, callback) {
      // The source may fail to cancel, or never end to: no code waits for it.
      reader.cancel(error).catch(() => undefined)
      callback(error)
    },
  })
  return readable
}

/** A stream of the web may fail with any value. A stream of node that is destroyed without an error does not fail. */
function asError(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error('The stream has failed.', { cause: reason })
}
