import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { Request } from '../../lib/http/request.ts'
import type { Response } from '../../lib/http/response.ts'
import type { TrustedProxies } from '../../lib/http/trusted-proxies.ts'
import type { Logger } from '../../lib/log/logger.ts'
import type { Signals } from '../../lib/signals.ts'
import type { HttpKernel } from '../http-kernel.ts'
import { lastResort } from '../last-resort.ts'
import { drain } from './drain.ts'
import { SERVER_LISTEN_FAILED, SERVER_PORT_TAKEN } from './errors.ts'
import { Exchanges } from './exchanges.ts'
import { fromNode } from './from-node.ts'
import { refuseBytes } from './refuse-bytes.ts'
import { toNode } from './to-node.ts'

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
}

/** Milliseconds. Node checks them at the interval, which is 30 seconds by default: a slow client would stay for long. */
const timeouts = {
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  keepAliveTimeout: 5_000,
  connectionsCheckingInterval: 1_000,
}

/** Serves a kernel over HTTP. */
export class NodeServer {
  readonly #services: NodeServerServices
  readonly #server: Server
  readonly #exchanges = new Exchanges()
  /** Connections on which something came that is no request. */
  readonly #broken = new WeakSet<Socket>()
  #isDraining = false

  constructor(services: NodeServerServices) {
    this.#services = services
    this.#server = createServer(timeouts, (message, target) => void this.#answer(message, target))
    // The client asks before it sends its body: it is told to go on when somebody reads it.
    this.#server.on('checkContinue', (message, target) => void this.#answer(message, target, true))
    this.#server.on('clientError', (error: NodeJS.ErrnoException, socket) => void this.#refuse(error, socket as Socket))
  }

  /** Listens, on a free port when the port is 0; gives the URL. @throws SERVER_PORT_TAKEN SERVER_LISTEN_FAILED */
  async listen(host: string, port: number): Promise<string> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', (error: NodeJS.ErrnoException) => reject(describe(error, host, port)))
      this.#server.listen(port, host, resolve)
    })
    const url = toUrl(this.#server.address() as AddressInfo)
    this.#services.signals.emit('server.listening', { url })
    return url
  }

  /**
   * Stops: nothing new is accepted, what is under way is answered with `Connection: close`, idle connections are
   * closed; what is left at the deadline (in milliseconds) is cut off.
   */
  async close(deadline = 10_000): Promise<void> {
    this.#isDraining = true
    this.#services.signals.emit('server.draining', undefined)
    const sweeper = setInterval(() => this.#server.closeIdleConnections(), 50)
    const timer = setTimeout(() => this.#server.closeAllConnections(), deadline)
    await new Promise<void>(resolve => this.#server.close(() => resolve()))
    clearInterval(sweeper)
    clearTimeout(timer)
    this.#services.signals.emit('server.closed', undefined)
  }

  /** Never rejects. */
  async #answer(message: IncomingMessage, target: ServerResponse, asksToContinue = false): Promise<void> {
    this.#exchanges.begin(target)
    let isContinued = !asksToContinue
    const request = fromNode(message, this.#services.trustedProxies, () => {
      if (!isContinued) target.writeContinue()
      isContinued = true
    })
    const response = await this.#services.kernel.handle(request)
    // Where the client was not told to go on, node closes the connection: nobody knows whether the body still comes.
    this.#send(request, response, target)
    drain(message)
  }

  /**
   * Bytes that are no request. What came before them on the connection is answered first: node itself would drop it.
   * Never rejects.
   */
  async #refuse({ code }: NodeJS.ErrnoException, socket: Socket): Promise<void> {
    if (this.#broken.has(socket)) return
    this.#broken.add(socket)
    const cutShort = await this.#exchanges.whenAnswered(socket)
    this.#services.logger.debug('What a client sent is not HTTP: {code}.', { code })
    // Whose answer has begun already cannot be told any more.
    if (socket.writable && !cutShort.some(({ headersSent }) => headersSent)) refuseBytes(socket, String(code))
    else socket.destroy()
  }

  #send(request: Request, response: Response, target: ServerResponse): void {
    const terminate = () => {
      this.#exchanges.end(target)
      void this.#services.kernel.terminate(request, response, target.writableFinished)
    }
    if (target.destroyed) {
      terminate()
      return
    }
    // Once, whether all was sent or the client has left.
    target.on('close', terminate)
    if (this.#isDraining) response.headers.set('connection', 'close')
    try {
      toNode(response, target)
    } catch (error) {
      this.#services.logger.critical('A response could not be sent.', { exception: error })
      toNode(lastResort(), target)
    }
  }
}

function describe(error: NodeJS.ErrnoException, host: string, port: number): Error {
  if (error.code === 'EADDRINUSE') return new SERVER_PORT_TAKEN([port, host], { cause: error })
  return new SERVER_LISTEN_FAILED([`${host}:${port}`, error.message], { cause: error })
}

function toUrl({ address, family, port }: AddressInfo): string {
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`
}
