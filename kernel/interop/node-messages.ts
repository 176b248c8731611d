import { IncomingMessage, type OutgoingHttpHeader, type OutgoingHttpHeaders, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { Duplex, Readable } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Request } from '../../lib/http/request.ts'
import { isBodiless, Response } from '../../lib/http/response.ts'
import { hasOwnBody, isOfBody, isOfConnection } from './fetch-messages.ts'
import { rememberRequest } from './mount.ts'

/** The status of nginx for a request whose client has left before the response. */
const clientHasLeft = 499

/**
 * A handler of node:http: an application of Express, a `RequestListener`, or middleware of Connect, which calls `next` for a request
 * that it does not answer.
 */
export type NodeHandler = (
  request: IncomingMessage,
  response: ServerResponse,
  next: (error?: unknown) => void,
) => unknown

/** A path that a mount removes from the beginning of the URL, and the rest. */
export interface MountedUrl {
  /** Empty for a mount at `/`. */
  readonly base: string
  /** Begins with a slash. */
  readonly rest: string
}

/**
 * The messages that a handler of node gets for a request, and the response that it makes. They are real messages of node:http on a
 * socket of their own, so that all listeners see the response before it is sent, and errors can become error pages.
 */
export class NodeMessages {
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

  /** The handler may answer an error of the body, and read the rest: `destroy` would close the socket of its response. */
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
      const response = new Response(null, { status })
      for (const [name, values] of Object.entries(this.outgoing.getHeaders())) {
        for (const value of [values].flat()) response.headers.append(name, String(value))
      }
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
  const fields = [...request.headers].filter(([name]) => hasBody || !isOfBody(name))
  incoming.rawHeaders = fields.flat()
  incoming.headersDistinct = groupFields(fields)
  incoming.headers = joinFields(incoming.headersDistinct)
  // Connect and Express keep the whole URL there.
  return Object.assign(incoming, { originalUrl: base + rest, baseUrl: base })
}

function groupFields(fields: readonly (readonly [string, string])[]): Record<string, string[]> {
  const grouped: Record<string, string[]> = Object.create(null)
  for (const [name, value] of fields) {
    grouped[name.toLowerCase()] ??= []
    grouped[name.toLowerCase()]?.push(value)
  }
  return grouped
}

/** Fields of which node takes the first one only. */
const singleFields: ReadonlySet<string> = new Set(
  'age authorization content-length content-type etag expires from host if-modified-since if-unmodified-since last-modified location max-forwards proxy-authorization referer retry-after server user-agent'.split(
    ' ',
  ),
)

/** The headers as node has them in `req.headers`. */
function joinFields(grouped: NodeJS.Dict<string[]>): Record<string, string> {
  const join = (name: string, values: readonly string[]) =>
    singleFields.has(name) ? (values[0] ?? '') : values.join(name === 'cookie' ? '; ' : ', ')
  return Object.fromEntries(Object.entries(grouped).map(([name, values = []]) => [name, join(name, values)]))
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

/** The socket of the messages that a handler of node gets: it has the client of the request, and passes on the bytes of the body. */
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
