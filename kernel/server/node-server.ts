import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { Readable } from 'node:stream'
import { hasUnclearLength } from '../../lib/http/request-checks.ts'
import { discard, type Response } from '../../lib/http/response.ts'
import type { TrustedProxies } from '../../lib/http/trusted-proxies.ts'
import type { Logger } from '../../lib/log/logger.ts'
import type { Signals } from '../../lib/signals.ts'
import type { DebugGate } from '../debug/debug-gate.ts'
import type { HttpKernel } from '../http-kernel.ts'
import { createConstantResponse } from '../last-resort.ts'
import { after } from '../steps.ts'
import { type Exchange, Exchanges } from './exchanges.ts'
import { fromNode, isTooLongToSkip, refuseBytes, skipRest } from './from-node.ts'
import {
  type ClosingTimes,
  closeConnections,
  createServer,
  endEventStream,
  listen,
  stopAccepting,
  type TlsIdentity,
} from './http-server.ts'
import { FastMessage, fastMessageClasses, nodeMessageClasses } from './messages.ts'
import { toNode } from './to-node.ts'
import { Handshake, WebSocketUpgrade } from './websocket-upgrade.ts'
import { workerNumber } from './worker-number.ts'

/** The services of an application that a server uses. */
interface ServedApplication {
  readonly kernel: HttpKernel
  readonly logger: Logger
  readonly signals: Signals
  /** In development, it finds the user of a connection before its first request is handled. */
  readonly debugGate: Pick<DebugGate, 'identify'>
}

/** The options of a server. */
export interface NodeServerOptions {
  /** The proxies that may name the client. */
  readonly trustedProxies: TrustedProxies
  /** For TLS. */
  readonly identity?: TlsIdentity | undefined
  /** Milliseconds until an unanswered request gets a 503, which comes up to two seconds later; a minute by default. */
  readonly answerTimeout?: number
  /**
   * Milliseconds without traffic until a connection with an open request is closed, unless it waits for a stream of the
   * application; two minutes by default.
   */
  readonly idleTimeout?: number
  /**
   * Whether requests and responses are objects of Node's own classes: slower, for tools that
   * change these classes. `false` by default.
   */
  readonly nodeMessages?: boolean
}

/** The most milliseconds between two checks of the open exchanges. */
const longestInterval = 1_000

/** Milliseconds. */
const defaultTimeouts = { answerTimeout: 60_000, idleTimeout: 120_000 }

const proxyProtocol =
  'A proxy has sent the PROXY protocol, which this server does not speak: turn it off there, such as send-proxy of HAProxy, and let it send X-Forwarded-For.'

/** What clients send that speak another protocol: the code of the error, or the first bytes; and what is right. */
const otherProtocols: readonly (readonly [begin: string, warning: string])[] = [
  [
    'ERR_SSL_HTTP_REQUEST',
    'A client has sent HTTP to this server, which speaks HTTPS only: write https:// in its URL, or proxy_pass https:// in a proxy, or serve without --tls-cert.',
  ],
  [
    '\x16\x03',
    'A client has sent HTTPS to this server, which speaks HTTP only: write http:// in its URL, or proxy_pass http:// in a proxy, or serve with --tls-cert and --tls-key.',
  ],
  [
    'PRI * HTTP/2',
    'A client has sent HTTP/2 to this server, which speaks HTTP/1.1 only: set the protocol in the client, or proxy_http_version 1.1 in a proxy.',
  ],
  ['PROXY ', proxyProtocol],
  ['\r\n\r\n\0\r\nQUIT\n', proxyProtocol],
]

/** The error of bytes that are not a request, with these bytes. */
type ClientError = Pick<NodeJS.ErrnoException, 'code'> & { readonly rawPacket?: Buffer }

/** Serves a kernel over HTTP. */
export class NodeServer {
  readonly #app: ServedApplication
  readonly #options: NodeServerOptions & typeof defaultTimeouts
  readonly #exchanges = new Exchanges()
  /** Connections on which the client has sent bytes that are not a request. */
  readonly #broken = new WeakSet<Socket>()
  /** Connections that end after the current response, which has `Connection: close`. */
  readonly #ending = new WeakSet<Socket>()
  readonly #sockets = new Set<Socket>()
  #server: Server | undefined
  #isDraining = false
  /** The protocols that the log has named: the first client says it for all. */
  readonly #named = new Set<string>()
  /** Until the listening socket is closed. Requests that come meanwhile are handled afterwards. */
  #stopped: Promise<void> | undefined

  constructor(app: ServedApplication, options: NodeServerOptions) {
    this.#app = app
    this.#options = { ...defaultTimeouts, ...options }
  }

  /**
   * Starts to listen and returns the URL. With port 0 the system chooses a free port. A socket
   * that is bound already, by its file descriptor, takes the place of host and port.
   *
   * @throws SERVER_PORT_TAKEN SERVER_LISTEN_FAILED SERVER_TLS_INVALID
   */
  async listen(host: string, port: number, socket?: number): Promise<string> {
    const { answerTimeout, identity, idleTimeout, nodeMessages = false } = this.#options
    const messages = nodeMessages ? nodeMessageClasses : fastMessageClasses()
    const server = await createServer((message, target) => this.#receive(message, target), identity, messages)
    // The client waits for `100 Continue` before it sends the body: the server answers that when the body is read.
    server.on('checkContinue', (message, target) => this.#receive(message, target, true))
    // Node removes its listeners from this connection. An error without a listener would end the
    // process, and a client that does not read an earlier response would keep it in memory.
    server.on('connect', (_message, socket) => {
      socket.on('error', () => undefined).on('timeout', () => socket.destroy())
      socket.resume()
      void this.#refuse({ code: 'CONNECT' }, socket as Socket)
    })
    server.on('upgrade', (message, _socket, head) => void this.#upgrade(message, head, server))
    const keep = (socket: Socket) => {
      if (this.#sockets.has(socket)) return
      this.#sockets.add(socket)
      socket.on('close', () => this.#sockets.delete(socket))
    }
    server.on('connection', keep)
    server.on('secureConnection', keep)
    server.on('clientError', (error: ClientError, socket) => void this.#refuse(error, socket as Socket))
    const url = await listen(server, host, port, socket)
    this.#server = server
    const checker = setInterval(
      () => {
        for (const exchange of [...this.#exchanges]) this.#watch(exchange)
      },
      Math.min(longestInterval, answerTimeout, idleTimeout),
    ).unref()
    server.on('close', () => clearInterval(checker))
    this.#app.signals.emit('server.listening', { url, worker: workerNumber() })
    return url
  }

  /**
   * Stops the server. New connections are refused; open requests are answered with `Connection: close`. An idle
   * connection may linger for one more request. At the deadline all other connections are cut off. A second call can
   * shorten the time.
   */
  async close(times?: ClosingTimes): Promise<void> {
    const server = this.#server
    if (server === undefined) return
    const { logger, signals } = this.#app
    this.#isDraining = true
    signals.emit('server.draining', undefined)
    for (const { response } of this.#exchanges) endEventStream(response)
    this.#stopped ??= stopAccepting(server).then(() => {
      this.#stopped = undefined
    })
    await this.#stopped
    const count = await closeConnections(server, this.#sockets, this.#exchanges, times)
    if (count > 0) logger.warning('Connections did not end in time and were cut off: {count}.', { count })
    signals.emit('server.closed', undefined)
  }

  /**
   * Handles a request that another server of this process has received. The result may be a
   * promise of the end of this work.
   */
  readonly receive: (message: IncomingMessage, target: ServerResponse) => void = (message, target) =>
    this.#receive(message, target)

  /** Handles one request and sends its response: at once, unless the kernel has to wait: then it returns a promise. */
  #receive(message: IncomingMessage, target: ServerResponse, asksToContinue = false): unknown {
    if (this.#stopped !== undefined) {
      return this.#stopped.then(() => this.#receive(message, target, asksToContinue))
    }
    // An earlier response had `Connection: close`: the client has to send this request again (RFC 9112, section 9.6).
    if (this.#ending.has(message.socket)) return undefined
    const onBodyRead = asksToContinue ? () => target.writeContinue() : undefined
    const request = fromNode(message, this.#options.trustedProxies, target, onBodyRead)
    if (message instanceof FastMessage) message.receive(request.hasBody)
    // The next bytes of the connection may be a part of this body: they must not be parsed as a request.
    if (hasUnclearLength(request)) this.#endAfter(target)
    const exchange = this.#exchanges.begin(request, target)
    this.#app.debugGate.identify(request)
    const { kernel } = this.#app
    // While draining, a promise gives the parser a turn to read a later request that came with
    // this one: `isLast` asks for it.
    const answer = this.#isDraining ? kernel.handle(request) : kernel.answer(request)
    // The promise of a main request never rejects.
    return after(answer, exchange, this.#respond)
  }

  /** Handles the handshake of a WebSocket, after the earlier requests of its connection are answered. */
  async #upgrade(message: IncomingMessage, head: Buffer, server: Server): Promise<void> {
    const name = this.#options.identity === undefined ? 'connection' : 'secureConnection'
    const target = new Handshake(message, head, socket => server.emit(name, socket))
    await this.#stopped
    await this.#exchanges.whenAnswered(message.socket)
    target.begin()
    this.#receive(message, target)
  }

  readonly #respond = (exchange: Exchange, response: Response): void => {
    const { request, target } = exchange
    if (!request.hasBody) {
      this.#send(exchange, response)
      return
    }
    // A client that still waits for `100 Continue` may or may not send the body.
    const isExpected = !request.body.wasRead && request.headers.has('expect')
    if (isExpected || isTooLongToSkip(target.req)) this.#endAfter(target)
    this.#send(exchange, response)
    skipRest(target, request.body.wasRead && response.body instanceof Readable)
  }

  /** Ends the connection after this response, with `Connection: close`. */
  #endAfter(target: ServerResponse): void {
    target.shouldKeepAlive = false
    this.#ending.add(target.req.socket)
  }

  /** Sends the response of an exchange, and dispatches `kernel.terminate` at its end. Never throws. */
  #send(exchange: Exchange, response: Response): void {
    const { request, target } = exchange
    // The request was overdue: a 503 is already sent.
    if (exchange.response !== undefined) {
      discard(response.body)
      return
    }
    exchange.response = response
    // The client has left: 'close' was emitted before, or never is.
    if (target.destroyed || target.req.socket.destroyed) {
      discard(response.body)
      this.#end(exchange)
      return
    }
    // 'close' is emitted once: after the response, or when the client leaves.
    target.on('close', () => this.#end(exchange))
    // Code that runs while the stream is read belongs to this request.
    if (response instanceof WebSocketUpgrade) this.#app.kernel.run(request, () => this.#handOver(exchange, response))
    else if (response.body instanceof Readable) this.#app.kernel.run(request, () => this.#write(exchange, response))
    else this.#write(exchange, response)
  }

  /** Passes the socket of a handshake to the handler of the upgrade. Never throws. */
  #handOver(exchange: Exchange, { handler }: WebSocketUpgrade): void {
    const { request, target } = exchange
    if (this.#isDraining || !(target instanceof Handshake)) {
      exchange.response = createConstantResponse(503)
      this.#write(exchange, exchange.response)
      return
    }
    exchange.isUpgraded = true
    target.handOver(handler).catch(error => {
      const { method, url } = request
      this.#app.logger.error('The handler of a WebSocket has failed: {method} {url}.', {
        method,
        url,
        exception: error,
      })
      target.req.socket.destroy()
    })
    this.#end(exchange)
  }

  /** Writes a response. If its head cannot be written, a constant response takes its place. Never throws. */
  #write(exchange: Exchange, response: Response): void {
    const { target } = exchange
    try {
      if (this.#isDraining) this.#announceEnd(exchange, response)
      exchange.progress = toNode(response, target, error => void this.#onStreamFailure(exchange, error))
      // The application may have set a field that ends the connection.
      if (!target.shouldKeepAlive) this.#ending.add(target.req.socket)
    } catch (error) {
      this.#log(exchange).critical('A response could not be sent.', { exception: error })
      // A response that has begun cannot be replaced.
      if (target.headersSent) target.destroy()
      else this.#replace(exchange, createConstantResponse())
    }
  }

  /**
   * Writes another response in place of one whose head could not be written. Node keeps the text of the refused status.
   */
  #replace(exchange: Exchange, response: Response): void {
    exchange.target.statusMessage = ''
    this.#write(exchange, response)
  }

  /** During a shutdown the last response closes the connection: earlier pipelined requests are still answered. */
  #announceEnd(exchange: Exchange, response: Response): void {
    endEventStream(response)
    if (!this.#exchanges.isLast(exchange)) return
    this.#endAfter(exchange.target)
    response.headers.set('connection', 'close')
  }

  /** A stream that fails before its head was sent becomes an error page, which may be a stream as well. */
  async #onStreamFailure(exchange: Exchange, error: unknown): Promise<void> {
    const { isErrorPage, request, target } = exchange
    if (target.headersSent) {
      exchange.streamError = error
      target.destroy()
      return
    }
    if (isErrorPage) this.#log(exchange).critical('A response could not be sent.', { exception: error })
    const answer = isErrorPage ? createConstantResponse() : await this.#app.kernel.answerError(request, error)
    if (target.destroyed) {
      discard(answer.body)
      return
    }
    exchange.isErrorPage = true
    exchange.response = answer
    this.#replace(exchange, answer)
  }

  #log({ request }: Exchange): Logger {
    return this.#app.logger.withRequestId(request.id)
  }

  /** Ends an exchange: its response was sent, or never will be. */
  #end(exchange: Exchange): void {
    const { progress, request, response, streamError, wasSent } = exchange
    // An exchange without a response is still handled. 'close' may come from a check and from Node.
    if (response !== undefined && this.#exchanges.end(exchange)) {
      void this.#app.kernel.terminate(request, response, { isSent: wasSent, streamError, sentBytes: progress?.bytes })
    }
  }

  /**
   * Refuses bytes that are not a request, and requests for a tunnel. Earlier requests of the connection are answered
   * first: Node would drop them. Never rejects.
   */
  async #refuse({ code, rawPacket }: ClientError, socket: Socket): Promise<void> {
    if (this.#broken.has(socket)) return
    this.#broken.add(socket)
    await this.#stopped
    const cutShort = await this.#exchanges.whenAnswered(socket)
    this.#app.logger.debug('A client sent bytes that are not a request: {code}.', { code })
    const begin = rawPacket?.toString('latin1', 0, 20) ?? String(code)
    const [, warning = ''] = otherProtocols.find(([prefix]) => begin.startsWith(prefix)) ?? []
    if (warning !== '' && !this.#named.has(warning)) this.#app.logger.warning(warning)
    this.#named.add(warning)
    // After the head of a response there is no place for another.
    if (socket.writable && !cutShort.some(({ target }) => target.headersSent)) refuseBytes(socket, code ?? '')
    else socket.destroy()
  }

  /**
   * Answers an overdue request with 503, and drops its own response: without an answer, an exchange would never end.
   */
  #watch(exchange: Exchange): void {
    if (!exchange.watch(this.#options)) return
    const { request, target } = exchange
    const { method, url } = request
    this.#log(exchange).critical('A request was not answered in time: {method} {url}.', { method, url })
    const overdue = createConstantResponse(503)
    overdue.headers.set('connection', 'close')
    target.shouldKeepAlive = false
    this.#send(exchange, overdue)
  }
}
