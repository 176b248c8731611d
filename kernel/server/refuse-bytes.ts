import type { Socket } from 'node:net'
import { knownMethods } from '../../lib/http/request-line.ts'
import { statusText } from '../../lib/http/response.ts'

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
