import type { Socket } from 'node:net'
import { statusText } from '../../lib/http/status.ts'

/** What node says of bytes that are no request; anything else is a 400. */
const statuses: Readonly<Record<string, number>> = {
  ERR_HTTP_REQUEST_TIMEOUT: 408,
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 413,
  HPE_HEADER_OVERFLOW: 431,
}

/** Milliseconds in which a client may take the answer. */
const patience = 200

/** Answers bytes that are no request (RFC 9112, section 2.2) and ends the connection: nobody knows what follows in it. */
export function refuseBytes(socket: Socket, code: string): void {
  const status = statuses[code] ?? 400
  socket.end(`HTTP/1.1 ${status} ${statusText(status)}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`)
  setTimeout(() => socket.destroy(), patience).unref()
}
