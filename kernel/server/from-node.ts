import type { IncomingMessage } from 'node:http'
import { RequestBody } from '../../lib/body/request-body.ts'
import { Headers } from '../../lib/http/headers.ts'
import { type Connection, Request } from '../../lib/http/request.ts'
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
