import { Readable } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Request } from '../../lib/http/request.ts'
import { Response } from '../../lib/http/response.ts'
import { describeValue } from '../../lib/text/describe-value.ts'
import { MOUNT_RESPONSE_INVALID, MOUNT_URL_INVALID } from './errors.ts'
import { checkSegments } from './mount.ts'

/**
 * The request of the Fetch API for a request of the kernel, with its stream, and with a signal that is aborted when the client
 * leaves. The URL has the origin that the client sees, and the path that the routes see.
 *
 * @throws MOUNT_URL_INVALID (400) BODY_TOO_LARGE (413) BODY_UNAVAILABLE
 */
export function toFetchRequest(request: Request): globalThis.Request {
  const { headers, method, signal } = request
  const body = method === 'GET' || method === 'HEAD' || !hasOwnBody(request) ? null : toWebStream(request.body.stream())
  const init = { method, headers: toFetchHeaders(headers, body !== null), signal }
  return new globalThis.Request(toUrl(request), body === null ? init : { ...init, body, duplex: 'half' })
}

/** Whether the body is for this request: that of a main request is not for its sub-requests. */
export function hasOwnBody(request: Request): boolean {
  return request.parent === undefined && request.hasBody
}

/** Whether a field says how long a body is. */
export function isOfBody(name: string): boolean {
  return /^(?:content-length|transfer-encoding)$/i.test(name)
}

function toUrl(request: Request): string {
  checkSegments(request)
  const { hostname, origin, queryString, rawPath, scheme } = request
  const url = `${origin || `${scheme}://localhost`}${rawPath}${queryString === '' ? '' : `?${queryString}`}`
  // The rules for hosts in URLs are stricter than those for the header.
  if (!URL.canParse(url)) throw new MOUNT_URL_INVALID([`its host "${hostname}" cannot be in a URL`])
  return url
}

function toFetchHeaders(fields: Request['headers'], hasBody: boolean): globalThis.Headers {
  const headers = new globalThis.Headers()
  for (const [name, value] of fields) if (hasBody || !isOfBody(name)) headers.append(name, value)
  // The Fetch API would join several fields by a comma.
  const cookie = fields.get('cookie')
  if (cookie !== null) headers.set('cookie', cookie)
  return headers
}

/** Fields of one connection only (RFC 9110, section 7.6.1): the server sets its own. */
const connectionHeaders: ReadonlySet<string> = new Set(
  'connection keep-alive proxy-connection te trailer transfer-encoding upgrade'.split(' '),
)

/** Whether a field is of one connection only. `name` is in lower case. */
export function isOfConnection(name: string): boolean {
  return connectionHeaders.has(name)
}

/**
 * The response of the kernel for the result of a handler of the Fetch API, at a path. A body that is there at once has a
 * Content-Length; all others are streams.
 *
 * @throws MOUNT_RESPONSE_INVALID
 */
export async function fromFetchResponse(result: unknown, path: string, method: string): Promise<Response> {
  const { body, headers, status } = checkFetchResponse(result, path)
  const content = body === null ? null : await fromWebStream(body)
  // A Content-Length of 0 would be wrong: the length of the body of GET is unknown.
  const isHeadOnly = method === 'HEAD' && content === null
  const response = new Response(isHeadOnly ? Readable.from([]) : content, { status })
  for (const [name, value] of headers) if (!isOfConnection(name)) response.headers.append(name, value)
  // Otherwise the ResponseListener would set that of HTML.
  if (content !== null && !headers.has('content-type')) response.headers.set('content-type', 'application/octet-stream')
  return response
}

/** Polyfills have classes of their own. */
function checkFetchResponse(result: unknown, path: string): globalThis.Response {
  if (Object.prototype.toString.call(result) !== '[object Response]') {
    const found = result instanceof Response ? 'the "Response" of "sinfonietta"' : describeValue(result)
    throw new MOUNT_RESPONSE_INVALID([path, found])
  }
  const response = result as globalThis.Response
  if (response.type === 'error') throw new MOUNT_RESPONSE_INVALID([path, 'Response.error()'])
  if (response.bodyUsed) throw new MOUNT_RESPONSE_INVALID([path, 'one whose body was read already'])
  return response
}

/** A stream of the web for a stream of node. Nothing is read before the consumer asks for it. */
function toWebStream(stream: Readable): ReadableStream<Uint8Array> {
  const chunks: AsyncIterator<Uint8Array> = stream[Symbol.asyncIterator]()
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await chunks.next()
        if (done) controller.close()
        else controller.enqueue(value)
      },
      cancel: () => void stream.destroy(),
    },
    // The stream of node has a queue already.
    { highWaterMark: 0 },
  )
}

/** The most bytes of a short body, which is sent with its length. */
const shortLimit = 64 * 1024

/**
 * The content of a stream of the web: bytes, if all of it is there within a turn of the event loop, as for a text or JSON; else a
 * stream of node. Rejects if the stream fails at once.
 */
async function fromWebStream(stream: ReadableStream<Uint8Array>): Promise<Uint8Array | Readable> {
  const reader = stream.getReader()
  const turn = nextTurn()
  const chunks: Uint8Array[] = []
  let size = 0
  while (size <= shortLimit) {
    const next = reader.read()
    const result = await Promise.race([next, turn])
    if (result === undefined) return toReadable(reader, chunks, next)
    if (result.done) return Buffer.concat(chunks)
    chunks.push(result.value)
    size += result.value.byteLength
  }
  return toReadable(reader, chunks)
}

/** A stream of node for a stream of the web, which is cancelled when the stream of node is destroyed. */
export function toNodeStream(stream: ReadableStream<Uint8Array>): Readable {
  return toReadable(stream.getReader(), [])
}

type Reader = ReadableStreamDefaultReader<Uint8Array>

/** A stream of chunks that were read already, and of all that follow. `next` is a read that is under way. */
function toReadable(reader: Reader, chunks: Uint8Array[], next?: ReturnType<Reader['read']>): Readable {
  let pending = next
  const readable = new Readable({
    read() {
      const chunk = chunks.shift()
      if (chunk !== undefined) {
        this.push(chunk)
        return
      }
      const read = pending ?? reader.read()
      pending = undefined
      read
        .then(({ done, value }) => void this.push(done ? null : value))
        .catch((error: unknown) => this.destroy(asError(error)))
    },
    destroy(error, callback) {
      // The source may fail to cancel, or never end to: no code waits for it.
      reader.cancel(error).catch(() => undefined)
      callback(error)
    },
  })
  return readable
}

/** A stream of the web may fail with any value. A stream of node that is destroyed without an error does not fail. */
export function asError(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error('The stream has failed.', { cause: reason })
}
