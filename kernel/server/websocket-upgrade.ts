import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { checkFunction, checkOptions } from '../../lib/errors/arguments.ts'
import { findCrossOrigin } from '../../lib/http/cross-origin.ts'
import { HTTP_UPGRADE_CROSS_ORIGIN, HTTP_UPGRADE_REQUIRED } from '../../lib/http/errors.ts'
import type { Request } from '../../lib/http/request.ts'
import { Response } from '../../lib/http/response.ts'
import type { ShapeOf } from '../../lib/text/shape.ts'

/**
 * Completes a WebSocket handshake: `handleUpgrade` of a library such as ws takes these values. An error is logged, and the
 * socket is destroyed.
 */
export type UpgradeHandler = (message: IncomingMessage, socket: Duplex, head: Buffer) => unknown

/** The options of an upgrade. */
export interface WebSocketUpgradeOptions {
  /** Other origins whose pages may connect, such as `https://app.example.org`. By default only pages of this origin may. */
  readonly origins?: readonly string[]
}

const optionShape: ShapeOf<WebSocketUpgradeOptions> = { origins: ['string'] }

/**
 * A response that makes a WebSocket of the connection. The request is routed and guarded like any other, and its session can
 * be read; then the library of the application gets the socket:
 *
 *     new WebSocketUpgrade(request, (message, socket, head) => {
 *       sockets.handleUpgrade(message, socket, head, client => greet(client))
 *     })
 *
 * The library writes the head of the response: headers of this object, such as cookies, are not sent. While the server
 * stops, the client gets a 503 instead.
 */
export class WebSocketUpgrade extends Response {
  readonly handler: UpgradeHandler

  /** @throws HTTP_UPGRADE_REQUIRED (426) HTTP_UPGRADE_CROSS_ORIGIN (403) ARGUMENT_INVALID */
  constructor(request: Request, handler: UpgradeHandler, options: WebSocketUpgradeOptions = {}) {
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
export function asksForWebSocket({
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
