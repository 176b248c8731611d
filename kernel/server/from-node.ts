import type { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import type { Readable } from 'node:stream'
import { RequestBody } from '../../lib/body/request-body.ts'
import { Headers } from '../../lib/http/headers.ts'
import { type Connection, Request } from '../../lib/http/request.ts'
import { statusText } from '../../lib/http/response.ts'
import type { TrustedProxies } from '../../lib/http/trusted-proxies.ts'

/** Creates a request from a message of Node. `onBodyRead` is called before the first byte of the body is read. */
export function fromNode(
  message: IncomingMessage,
  trustedProxies: TrustedProxies,
  reply?: ServerResponse,
  onBodyRead?: () => void,
): Request {
  const headers = Headers.fromRaw(message.rawHeaders)
  return new Request({
    // A message that a server receives has a method and a URL.
    method: message.method as string,
    target: message.url as string,
    httpVersion: message.httpVersion,
    headers,
    // A TLS socket has the property `encrypted`; a plain one does not.
    connection: message.socket as Connection,
    trustedProxies,
    reply,
    body: hasBody(headers) ? createBody(message, headers, onBodyRead) : undefined,
  })
}

/** Whether there is a body; it may be empty (RFC 9112, section 6.3). */
function hasBody(headers: Headers): boolean {
  return headers.has('content-length') || headers.has('transfer-encoding')
}

/** The body of a request with these headers. `onRead` is called before its first byte is read. */
export function createBody(stream: Readable, headers: Headers, onRead?: () => void): RequestBody {
  const length = headers.get('content-length')
  return new RequestBody({
    stream,
    length: length === null ? undefined : Number(length),
    contentType: headers.get('content-type') ?? undefined,
    contentEncoding: headers.get('content-encoding') ?? undefined,
    ...(onRead && { onRead }),
  })
}

/** The bytes, and the milliseconds, for the rest of a body that the application has not read. */
const byteLimit = 16 * 1024 * 1024
const timeLimit = 2000

/** Whether {@link skipBody} would not read to the end of a body: the connection cannot be used after the response. */
export function isTooLongToSkip(message: IncomingMessage): boolean {
  return !message.complete && Number(message.headers['content-length'] ?? 0) > byteLimit
}

/** Skips the rest of a body: at once, or after a response that is streamed, and may be made of the body. */
export function skipRest(target: ServerResponse, isStreamed: boolean): void {
  if (!isStreamed || target.writableEnded) skipBody(target.req)
  else target.once('prefinish', () => skipBody(target.req))
}

/**
 * Reads the rest of a body that the application has not read: the client then receives the response, and can use the
 * connection again. Clients that send more than 16 MiB, or for longer than two seconds, are cut off.
 */
function skipBody(message: IncomingMessage): void {
  if (message.complete) return
  const { socket } = message
  let left = byteLimit
  const cutOff = () => socket.destroy()
  const timer = setTimeout(cutOff, timeLimit).unref()
  // Node calls `destroySoon` after a response with `Connection: close`. Closing a connection on which the client still
  // sends causes a reset, and many clients then lose the response (RFC 9112, section 9.6).
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
  // The end of the connection needs no handling here.
  message.on('error', () => undefined)
  message.resume()
}

/** The status for each of Node's error codes; 400 for all others. CONNECT is for proxies (RFC 9110, section 9.3.6). */
const statuses: Readonly<Record<string, number>> = {
  CONNECT: 405,
  ERR_HTTP_REQUEST_TIMEOUT: 408,
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 413,
  HPE_HEADER_OVERFLOW: 431,
}

/** Milliseconds that a client has to receive the response of {@link refuseBytes}. */
const refusalTime = 200

/**
 * Answers bytes that are not a request (RFC 9112, section 2.2) and ends the connection, as no later request can be
 * found.
 */
export function refuseBytes(socket: Socket, code: string): void {
  const status = statuses[code] ?? 400
  // The target of CONNECT is another server: no method is allowed for it here (RFC 9110, section 10.2.1).
  const allow = status === 405 ? 'Allow: \r\n' : ''
  socket.end(`HTTP/1.1 ${status} ${statusText(status)}\r\n${allow}Connection: close\r\nContent-Length: 0\r\n\r\n`)
  setTimeout(() => socket.destroy(), refusalTime).unref()
}
