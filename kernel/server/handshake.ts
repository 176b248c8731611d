import { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { Headers } from '../../lib/http/headers.ts'
import { asksForWebSocket, type UpgradeHandler } from './websocket-upgrade.ts'

/**
 * A message for a server that upgrades connections only to WebSockets. Node asks the property `upgrade` whether it shall
 * stop parsing the connection: for other protocols, such as h2c, the request is answered as if it had not asked.
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
const idleTime = 5_000

/**
 * The target of the response to a WebSocket handshake. Node has given the socket away, so this object does the work of Node's
 * server: it passes the socket to the handler of an upgrade, or it sends a usual response, and gives the socket back.
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
        giveBack(socket.off('error', this.#onError).setTimeout(idleTime))
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
