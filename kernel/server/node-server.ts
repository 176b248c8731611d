import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { Readable } from 'node:stream'
import type { Request } from '../../lib/http/request.ts'
import { hasUnclearLength } from '../../lib/http/request-checks.ts'
import { discard, type Response } from '../../lib/http/response.ts'
import type { TrustedProxies } from '../../lib/http/trusted-proxies.ts'
import type { Logger } from '../../lib/log/logger.ts'
import type { Signals } from '../../lib/signals.ts'
import type { DebugGate } from '../debug-gate.ts'
import type { HttpKernel } from '../http-kernel.ts'
import { lastResort } from '../last-resort.ts'
import { SERVER_LISTEN_FAILED, SERVER_PORT_TAKEN } from './errors.ts'
import { Exchanges } from './exchanges.ts'
import { drain, fromNode, isBeyondDrain, refuseBytes } from './from-node.ts'
import { type ClosingTimes, closeServer, createServer, type TlsIdentity } from './http-server.ts'
import { type OnStreamFailure, toNode } from './to-node.ts'

declare module '../../lib/signals.ts' {
  interface SignalMap {
    'server.listening': { readonly url: string }
    'server.draining': undefined
    'server.closed': undefined
  }
}

/** What a server works with. */
export interface NodeServerServices {
  readonly kernel: HttpKernel
  readonly trustedProxies: TrustedProxies
  readonly logger: Logger
  readonly signals: Signals
  /** Learns of which user a connection is, before its first request is handled: in development. */
  readonly debugGate?: Pick<DebugGate, 'identify'>
  /** Speaks TLS with it. */
  readonly identity?: TlsIdentity
  /** Milliseconds after which a request that nobody has answered gets a 503; a minute unless told else. */
  readonly answerTimeout?: number
  /**
   * Milliseconds after which a connection is closed on which nothing moves, unless it waits for a stream of the application;
   * two minutes unless told else.
   */
  readonly idleTimeout?: number
}

/** Milliseconds between two looks at what is not answered yet. */
const sweepInterval = 1_000

/** Serves a kernel over HTTP. */
export class NodeServer {
  readonly #services: NodeServerServices
  readonly #exchanges = new Exchanges()
  /** Connections on which something came that is no request. */
  readonly #broken = new WeakSet<Socket>()
  /** Connections that end with an answer which says so. */
  readonly #ending = new WeakSet<Socket>()
  readonly #sockets = new Set<Socket>()
  #server: Server | undefined
  #isDraining = false

  constructor(services: NodeServerServices) {
    this.#services = services
  }

  /**
   * Listens, on a free port when the port is 0; gives the URL.
   *
   * @throws SERVER_PORT_TAKEN SERVER_LISTEN_FAILED SERVER_TLS_INVALID
   */
  async listen(host: string, port: number): Promise<string> {
    const { identity, idleTimeout = 120_000, signals } = this.#services
    const server = await createServer((message, target) => void this.#answer(message, target), identity)
    // Whoever takes nothing of an answer holds what is still to be sent.
    server.setTimeout(idleTimeout)
    // The client asks before it sends its body: it is told to go on when somebody reads it.
    server.on('checkContinue', (message, target) => void this.#answer(message, target, true))
    // Node no longer listens for errors of this connection. An error without a listener would end the process.
    server.on('connect', (_message, socket) => {
      socket.on('error', () => undefined).resume()
      void this.#refuse({ code: 'CONNECT' }, socket as Socket)
    })
    server.on('connection', (socket: Socket) => {
      this.#sockets.add(socket)
      socket.on('close', () => this.#sockets.delete(socket))
    })
    server.on('clientError', (error: NodeJS.ErrnoException, socket) => void this.#refuse(error, socket as Socket))
    await new Promise<void>((resolve, reject) => {
      server.once('error', (error: NodeJS.ErrnoException) => reject(describe(error, host, port)))
      server.listen(port, host, resolve)
    })
    this.#server = server
    const sweeper = setInterval(() => this.#giveUp(), sweepInterval).unref()
    server.on('close', () => clearInterval(sweeper))
    const url = toUrl(identity === undefined ? 'http' : 'https', server.address() as AddressInfo)
    signals.emit('server.listening', { url })
    return url
  }

  /**
   * Stops: nothing new is accepted, what is under way is answered with `Connection: close`. Idle connections may linger
   * for one more request, which is answered, too, and are closed then; what is left at the deadline is cut off. May be
   * called again, to leave less time.
   */
  async close(times?: ClosingTimes): Promise<void> {
    const server = this.#server
    if (server === undefined) return
    const { logger, signals } = this.#services
    this.#isDraining = true
    signals.emit('server.draining', undefined)
    const count = await closeServer(server, this.#sockets, this.#exchanges, times)
    if (count > 0) logger.warning('Connections were cut off that had not ended in time: {count}.', { count })
    signals.emit('server.closed', undefined)
  }

  /** Never rejects. */
  async #answer(message: IncomingMessage, target: ServerResponse, asksToContinue = false): Promise<void> {
    // The client learns that this is not handled from the answer before it (RFC 9112, section 9.6).
    if (this.#ending.has(message.socket)) return
    let isContinued = !asksToContinue
    const request = fromNode(message, this.#services.trustedProxies, () => {
      if (!isContinued) target.writeContinue()
      isContinued = true
    })
    // What follows may be the rest of its body: it is never taken for a request.
    if (hasUnclearLength(request)) this.#endAfter(target)
    this.#exchanges.begin(request, target)
    this.#services.debugGate?.identify(request)
    const response = await this.#services.kernel.handle(request)
    // Where the client was not told to go on, node closes the connection: nobody knows whether the body still comes.
    if (isBeyondDrain(message)) this.#endAfter(target)
    this.#send(request, response, target)
    drain(message)
  }

  /** Has an answer say that it is the connection's last one. */
  #endAfter(target: ServerResponse): void {
    target.shouldKeepAlive = false
    this.#ending.add(target.req.socket)
  }

  /**
   * Bytes that are no request, or ask for a tunnel. What came before them on the connection is answered first: node itself
   * would drop it. Never rejects.
   */
  async #refuse({ code }: Pick<NodeJS.ErrnoException, 'code'>, socket: Socket): Promise<void> {
    if (this.#broken.has(socket)) return
    this.#broken.add(socket)
    const cutShort = await this.#exchanges.whenAnswered(socket)
    this.#services.logger.debug('What a client sent is no request: {code}.', { code })
    // Whose answer has begun already cannot be told any more.
    if (socket.writable && !cutShort.some(({ headersSent }) => headersSent)) refuseBytes(socket, String(code))
    else socket.destroy()
  }

  /** Never throws. */
  #send(request: Request, response: Response, target: ServerResponse): void {
    const { kernel, logger } = this.#services
    // The client was told that nobody answers.
    if (!this.#exchanges.claim(target)) {
      discard(response.body)
      return
    }
    const { socket } = target.req
    let sent = response
    let streamError: unknown
    const terminate = () => {
      this.#exchanges.end(target)
      void kernel.terminate(request, sent, wasSent(target, socket), streamError)
    }
    // The client has left.
    if (target.destroyed || socket.destroyed) {
      discard(response.body)
      terminate()
      return
    }
    // Once, whether all was sent or the client has left.
    target.on('close', terminate)
    // Where several requests came one behind the other, all of them are answered.
    const isFinal = this.#isDraining && this.#exchanges.isLast(target)
    if (isFinal) this.#ending.add(socket)
    let hasFailed = false
    const fail: OnStreamFailure = async error => {
      if (target.headersSent) {
        streamError = error
        target.destroy()
        return
      }
      if (hasFailed) logger.critical('A response could not be sent.', { exception: error })
      // The error page may be a stream, too.
      const answer = hasFailed ? lastResort() : await kernel.answerError(request, error)
      hasFailed = true
      if (target.destroyed) {
        discard(answer.body)
        return
      }
      sent = answer
      this.#write(answer, target, isFinal, fail)
    }
    const write = () => this.#write(response, target, isFinal, fail)
    // What a stream does while it is read belongs to its request.
    if (response.body instanceof Readable) kernel.run(request, write)
    else write()
  }

  /** Never throws. */
  #write(response: Response, target: ServerResponse, isFinal: boolean, onFailure: OnStreamFailure): void {
    try {
      if (isFinal) response.headers.set('connection', 'close')
      toNode(response, target, onFailure)
    } catch (error) {
      this.#services.logger.critical('A response could not be sent.', { exception: error })
      // What has begun cannot be taken back.
      if (target.headersSent) target.destroy()
      else this.#write(lastResort(), target, isFinal, onFailure)
    }
  }

  /** Whoever has waited for too long is told so; what is answered later is dropped. */
  #giveUp(): void {
    const { answerTimeout = 60_000, logger } = this.#services
    for (const target of this.#exchanges.abandoned()) target.emit('close')
    for (const { request, target } of this.#exchanges.overdue(answerTimeout)) {
      const { method, url } = request
      logger.critical('A request was not answered in time: {method} {url}.', { method, url })
      const response = lastResort(503)
      response.headers.set('connection', 'close')
      this.#send(request, response, target)
    }
  }
}

/** Before version 24, Node calls a response finished also when its connection was destroyed in the middle of it. */
function wasSent(target: ServerResponse, socket: Socket): boolean {
  return target.writableFinished && (!socket.destroyed || socket.writableFinished)
}

function describe(error: NodeJS.ErrnoException, host: string, port: number): Error {
  if (error.code === 'EADDRINUSE') return new SERVER_PORT_TAKEN([port, host], { cause: error })
  return new SERVER_LISTEN_FAILED([`${host}:${port}`, error.message], { cause: error })
}

function toUrl(scheme: string, { address, family, port }: AddressInfo): string {
  return `${scheme}://${family === 'IPv6' ? `[${address}]` : address}:${port}`
}
