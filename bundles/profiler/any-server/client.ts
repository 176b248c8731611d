import { once } from 'node:events'
import http, { type IncomingMessage } from 'node:http'
import http2, { type IncomingHttpHeaders } from 'node:http2'
import https from 'node:https'
import type { Readable } from 'node:stream'

/** A request to a server of this machine. */
export interface OutgoingMessage {
  readonly scheme: 'http' | 'https'
  /** Such as `127.0.0.1:3000` or `[::1]:3000`. */
  readonly address: string
  /** It is sent by HTTP/1.1, except for `2`. */
  readonly httpVersion: string
  readonly method: string
  readonly target: string
  readonly headers: readonly (readonly [name: string, value: string])[]
  readonly body: Uint8Array
}

/** A sent request. */
interface Sent {
  /** The fields of the response. */
  readonly head: Promise<IncomingHttpHeaders>
  readonly body: () => Promise<Readable>
  readonly close: () => void
}

/**
 * Sends a request on a connection of its own, with exactly these fields. The signal ends the wait
 * for the head of the response.
 */
export function sendMessage(message: OutgoingMessage, signal: AbortSignal): Sent {
  return message.httpVersion === '2' ? sendByHttp2(message, signal) : sendByHttp1(message, signal)
}

/** The address is that of a known server: its certificate may be for another name, or signed by itself. */
const tls = { rejectUnauthorized: false }

function sendByHttp1({ address, body, headers, method, scheme, target }: OutgoingMessage, signal: AbortSignal): Sent {
  const { request } = scheme === 'https' ? https : http
  const { hostname, port } = new URL(`http://${address}`)
  const host = hostname.replace(/^\[|\]$/g, '')
  const sent = request({ host, port, method, path: target, agent: false, setHost: false, ...tls })
  for (const name of new Set(headers.map(([name]) => name))) {
    const values = headers.filter(([other]) => other === name).map(([, value]) => value)
    sent.setHeader(name, values.length === 1 ? String(values[0]) : values)
  }
  // Node adds these if they are neither set nor removed.
  for (const name of ['connection', 'content-length', 'transfer-encoding']) {
    if (!sent.hasHeader(name)) sent.removeHeader(name)
  }
  // An error may come after the time limit. Without a listener, it would end the application.
  sent.on('error', () => undefined).end(body)
  const response = once(sent, 'response', { signal }).then(([response]) => response as IncomingMessage)
  return { head: response.then(({ headers }) => headers), body: () => response, close: () => sent.destroy() }
}

/**
 * Fields of a connection, which HTTP/2 does not have (RFC 9113, section 8.2.2), and `host`, which
 * is `:authority` there.
 */
const connectionFields = /^(?:connection|keep-alive|proxy-connection|transfer-encoding|upgrade|host)$/

function sendByHttp2({ address, body, headers, method, scheme, target }: OutgoingMessage, signal: AbortSignal): Sent {
  const fields: Record<string, string[]> = {}
  for (const [name, value] of headers) {
    const key = name.toLowerCase()
    fields[key] = [...(fields[key] ?? []), value]
  }
  const { host: [host = address] = [] } = fields
  const kept = Object.entries(fields).filter(([name]) => !connectionFields.test(name))
  const session = http2.connect(`${scheme}://${address}`, tls)
  const stream = session.request(
    { ':method': method, ':path': target, ':authority': host, ...Object.fromEntries(kept) },
    { endStream: body.length === 0 },
  )
  for (const part of [session, stream]) part.on('error', () => undefined)
  if (body.length > 0) stream.end(body)
  const head = once(stream, 'response', { signal }).then(([headers]) => headers as IncomingHttpHeaders)
  return { head, body: async () => stream, close: () => session.destroy() }
}
