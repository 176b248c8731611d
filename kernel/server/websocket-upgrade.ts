import { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { checkFunction, checkOptions } from '../../lib/errors/arguments.ts'
import { findCrossOrigin } from '../../lib/http/cors.ts'
import { HTTP_UPGRADE_CROSS_ORIGIN, HTTP_UPGRADE_REQUIRED } from '../../lib/http/errors.ts'
import { Headers } from '../../lib/http/headers.ts'
import { checkRequest, type Request } from '../../lib/http/request.ts'
import { Response } from '../../lib/http/response.ts'
import type { ShapeOf } from '../../lib/text/mistakes.ts'

/**
 * Completes a WebSocket handshake: `handleUpgrade` of a library such as ws takes these values. An
 * error is logged, and the socket is destroyed.
 */
export type UpgradeHandler = (message: IncomingMessage, socket: Duplex, head: Buffer) => unknown

/** The options of an upgrade. */
export interface WebSocketUpgradeOptions {
  /**
   * Other origins whose pages may connect, such as `https://app.example.org`. By default only pages of this origin may.
   */
  readonly origins?: readonly string[]
}

const optionShape: ShapeOf<WebSocketUpgradeOptions> = { origins: ['string'] }

/**
 * A response that makes a WebSocket of the connection. The request is routed and guarded like any
 * other, and its session can be read; then the library of the application gets the socket:
 *
 *     new WebSocketUpgrade(request, (message, socket, head) => {
 *       sockets.handleUpgrade(message, socket, head, client => greet(client))
 *     })
 *
 * The library writes the head of the response: headers of this object, such as cookies, are not sent. While the server
 * stops, the client gets a 503 instead.
 */
export class WebSocketUpgrade extends Response {
  /** Takes over the connection. */
  readonly handler: UpgradeHandler

  /** @throws HTTP_UPGRADE_REQUIRED (426) HTTP_UPGRADE_CROSS_ORIGIN (403) ARGUMENT_INVALID */
  constructor(request: Request, handler: UpgradeHandler, options: WebSocketUpgradeOptions = {}) {
    checkRequest('new WebSocketUpgrade(request, handler)', request)
    checkFunction('new WebSocketUpgrade(request, handler)', 'handler', handler)
    checkOptions('new WebSocketUpgrade()', options, optionShape)
    super()
    if (!asksForWebSocket(request)) {
      throw new HTTP_UPGRADE_REQUIRED([], { headers: { upgrade: 'websocket', connection: 'Upgrade' } })
    }
    const sign = findCrossOrigin(request, options.origins)
    if (sign !== undefined) throw new HTTP_UPGRADE_CROSS_ORIGIN([sign.header, sign.value])
    this.handler = handler
  }

  /** Always 101. */
  override get status(): number {
    return 101
  }

  override set status(_status: number) {
    // The library writes the status.
  }
}

/** Whether a request is the handshake of a WebSocket over HTTP/1.1 (RFC 6455, section 4.1). */
function asksForWebSocket({
  headers,
  httpVersion,
  method,
}: Pick<Request, 'headers' | 'httpVersion' | 'method'>): boolean {
  return (
    method === 'GET' &&
    httpVersion === '1.1' &&
    headers.get('upgrade')?.toLowerCase() === 'websocket' &&
    /(?:^|,)\s*upgrade\s*(?:,|$)/i.test(headers.get('connection') ?? '') &&
    // A body would be read as frames.
    !headers.has('content-length') &&
    !headers.has('transfer-encoding')
  )
}

/**
 * A message for a server that upgrades connections only to WebSockets. Node asks the property `upgrade` whether it
 * shall stop parsing the connection: for other protocols, such as h2c, the request is answered as if it had not asked.
 */
export class UpgradableMessage extends IncomingMessage {
  /** Not a private field: the constructor of the base class sets `upgrade` before such a field exists. */
  declare asksForUpgrade: boolean | null

  get upgrade(): boolean {
    return this.asksForUpgrade === true && (this.method === 'CONNECT' || isHandshake(this))
  }

  set upgrade(asks: boolean | null) {
    this.asksForUpgrade = asks
  }
}

function isHandshake({ httpVersion, method = '', rawHeaders }: IncomingMessage): boolean {
  return asksForWebSocket({ method, httpVersion, headers: Headers.fromRaw(rawHeaders) })
}

/** Milliseconds until a connection is closed on which no request follows a refused handshake. */
const nextRequestTime = 5_000

/**
 * The target of the response to a WebSocket handshake. Node has given the socket away, so this
 * object does the work of Node's server: it passes the socket to the handler of an upgrade, or it
 * sends a usual response, and gives the socket back.
 */
export class Handshake extends ServerResponse {
  readonly #socket: Socket
  readonly #head: Buffer
  readonly #onError = () => undefined
  readonly #onDrain = () => void this.emit('drain')
  readonly #onTimeout = () => void this.#socket.destroy()

  /** `giveBack` is called with the socket after a usual response, unless that is the last of the connection. */
  constructor(message: IncomingMessage, head: Buffer, giveBack: (socket: Socket) => void) {
    super(message)
    const { socket } = message
    this.#socket = socket
    this.#head = head
    this.shouldKeepAlive = !/\bclose\b/i.test(Headers.fromRaw(message.rawHeaders).get('connection') ?? '')
    // Node has removed its listeners. An error without a listener would end the process.
    socket.on('error', this.#onError).on('drain', this.#onDrain).on('timeout', this.#onTimeout)
    this.on('finish', () => {
      this.#release()
      if (this.shouldKeepAlive) {
        socket.unshift(head)
        giveBack(socket.off('error', this.#onError).setTimeout(nextRequestTime))
      } else socket.destroySoon()
      this.emit('close')
    })
  }

  /** Begins to send, after the earlier responses of the connection. */
  begin(): void {
    this.assignSocket(this.#socket)
  }

  /** Passes the socket to a handler. */
  async handOver(handler: UpgradeHandler): Promise<void> {
    this.#release()
    await handler(this.req, this.#socket, this.#head)
  }

  #release(): void {
    this.#socket.off('drain', this.#onDrain).off('timeout', this.#onTimeout).setTimeout(0)
    this.detachSocket(this.#socket)
  }
}
