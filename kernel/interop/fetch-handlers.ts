import { type Readable, Writable } from 'node:stream'
import { checkOptions } from '../../lib/errors/arguments.ts'
import { Headers } from '../../lib/http/headers.ts'
import { type Connection, Request, type RequestInit } from '../../lib/http/request.ts'
import { discard, type Response } from '../../lib/http/response.ts'
import { TrustedProxies } from '../../lib/http/trusted-proxies.ts'
import { currentRequest } from '../arguments/request-values.ts'
import type { Application, Routes } from '../bundle.ts'
import { defineController } from '../controller.ts'
import { createConstantResponse } from '../last-resort.ts'
import { createBody } from '../server/from-node.ts'
import { type ReplyTarget, type StreamProgress, toNode } from '../server/to-node.ts'
import { asError, fromFetchResponse, toFetchRequest, toNodeStream } from './fetch-messages.ts'
import { addMount, checkHandler, type MountOptions, rememberRequest } from './mount.ts'

/** The options of {@link toFetchHandler}. */
export interface FetchHandlerOptions<context extends readonly unknown[]> {
  /**
   * The connection of a request, best the socket itself; at least the address of the client. `context` are the other arguments of
   * the handler, in which a server passes it. Without a socket, no client gets debug output.
   */
  readonly connection?: (request: globalThis.Request, ...context: context) => Connection | undefined
}

/**
 * A handler of the Fetch API that answers with a kernel, for other servers, other frameworks and tests. Bodies are streams in both
 * directions. `kernel.terminate` is dispatched when the body was read to its end, or was cancelled.
 */
export function toFetchHandler<context extends readonly unknown[] = []>(
  { app }: { readonly app: Application },
  options: FetchHandlerOptions<context> = {},
): (request: globalThis.Request, ...context: context) => Promise<globalThis.Response> {
  checkOptions('toFetchHandler()', options, { connection: 'function' })
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

/** A reply that is closed when the client leaves. */
function createReply({ method, signal }: globalThis.Request): FetchReply {
  const reply = new FetchReply(method)
  const leave = () => void reply.destroy()
  if (signal.aborted) leave()
  signal.addEventListener('abort', leave)
  reply.once('close', () => signal.removeEventListener('abort', leave))
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
    const { writableFinished } = this.#reply
    const sentBytes = this.#progress?.bytes
    void this.#app.kernel.terminate(this.#request, this.#response, writableFinished, this.#streamError, sentBytes)
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
