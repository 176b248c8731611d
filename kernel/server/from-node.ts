import type { IncomingMessage } from 'node:http'
import { Socket } from 'node:net'
import { RequestBody } from '../../lib/body/request-body.ts'
import { Headers } from '../../lib/http/headers.ts'
import { type Connection, Request } from '../../lib/http/request.ts'
import { knownMethods } from '../../lib/http/request-line.ts'
import { statusText } from '../../lib/http/response.ts'
import type { TrustedProxies } from '../../lib/http/trusted-proxies.ts'

/** Makes a request of a node one. `onBodyRead` is called before the first byte of its body is read. */
export function fromNode(message: IncomingMessage, trustedProxies: TrustedProxies, onBodyRead: () => void): Request {
  const headers = Headers.fromRaw(message.rawHeaders)
  return new Request({
    // What a server receives has both.
    method: message.method as string,
    target: message.url as string,
    httpVersion: message.httpVersion,
    headers,
    // A TLS socket says that it is encrypted; a plain one says nothing.
    connection: message.socket as Connection,
    trustedProxies,
    body: hasBody(headers) ? readBodyOf(message, headers, onBodyRead) : undefined,
  })
}

/** Whether there is a body, be it an empty one (RFC 9112, section 6.3). */
function hasBody(headers: Headers): boolean {
  return headers.has('content-length') || headers.has('transfer-encoding')
}

function readBodyOf(message: IncomingMessage, headers: Headers, onRead: () => void): RequestBody {
  const length = headers.get('content-length')
  return new RequestBody({
    stream: message,
    length: length === null ? undefined : Number(length),
    contentType: headers.get('content-type') ?? undefined,
    contentEncoding: headers.get('content-encoding') ?? undefined,
    onRead,
  })
}

const byteLimit = 16 * 1024 * 1024
const timeLimit = 2000

/** Whether more of a body is declared than is ever drained: the connection cannot be used again after the answer. */
export function isBeyondDrain(message: IncomingMessage): boolean {
  return !message.complete && Number(message.headers['content-length']) > byteLimit
}

/**
 * Reads what a client still sends of a body that nobody wanted, so that the answer reaches it and the connection can be
 * used again. Who sends more than 16 MiB, or for more than two seconds, is cut off.
 */
export function drain(message: IncomingMessage): void {
  if (message.complete) return
  const { socket } = message
  let left = byteLimit
  const cutOff = () => socket.destroy()
  const timer = setTimeout(cutOff, timeLimit)
  // Node calls it after an answer with `Connection: close`. To close at once what is still sent to would be a reset, and
  // with it many clients lose the answer (RFC 9112, section 9.6).
  socket.destroySoon = () => {
    if (message.complete) Socket.prototype.destroySoon.call(socket)
    else {
      socket.end()
      setTimeout(cutOff, timeLimit).unref()
    }
  }
  message.on('data', (chunk: Buffer) => {
    left -= chunk.length
    if (left < 0) cutOff()
  })
  message.on('close', () => clearTimeout(timer))
  // A connection that breaks off is no news here.
  message.on('error', () => undefined)
  message.resume()
}

/** What node says of bytes that are no request; anything else is a 400. CONNECT is for proxies (RFC 9110, section 9.3.6). */
const statuses: Readonly<Record<string, number>> = {
  CONNECT: 405,
  ERR_HTTP_REQUEST_TIMEOUT: 408,
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 413,
  HPE_HEADER_OVERFLOW: 431,
}

/** Milliseconds in which a client may take the answer. */
const patience = 200

/** Answers bytes that are no request (RFC 9112, section 2.2) and ends the connection: the next request cannot be found. */
export function refuseBytes(socket: Socket, code: string): void {
  const status = statuses[code] ?? 400
  const allow = status === 405 ? `Allow: ${knownMethods.join(', ')}\r\n` : ''
  socket.end(`HTTP/1.1 ${status} ${statusText(status)}\r\n${allow}Connection: close\r\nContent-Length: 0\r\n\r\n`)
  setTimeout(() => socket.destroy(), patience).unref()
}
