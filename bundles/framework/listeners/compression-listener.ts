import { Readable } from 'node:stream'
import { ResponseEvent } from '../../../kernel/events.ts'
import type { EventDispatcher } from '../../../lib/event-dispatcher/event-dispatcher.ts'
import { compress, compressionThreshold, isCompressible } from '../../../lib/http/compression.ts'
import { isNotModified } from '../../../lib/http/conditions.ts'
import { addVary } from '../../../lib/http/headers.ts'
import { type Coding, preferredCoding } from '../../../lib/http/negotiation.ts'
import { type Body, isBodiless, type Response, weakenEtag } from '../../../lib/http/response.ts'

/** After all listeners that read or change the body, and after the SessionListener, which sets Cache-Control. */
const priority = -1100

/** For a response that is compressed only once, gzip is faster than Brotli at the same size. */
const codings: readonly Coding[] = ['gzip', 'br']

/**
 * Compresses pages, JSON and streams of text, if the client accepts it and the size is worth it. A response with
 * `cache-control: no-transform` is not compressed. Use that for a page with a secret and input of the request: its
 * compressed length reveals something about both (BREACH).
 */
export class CompressionListener {
  subscribe(dispatcher: EventDispatcher): void {
    dispatcher.subscribe(ResponseEvent, this, 'onResponse', priority)
  }

  onResponse({ isMainRequest, request, response }: ResponseEvent): Promise<void> | undefined {
    const { body, headers } = response
    if (!isMainRequest || body === null || !canBeCompressed(body, response)) return undefined
    addVary(headers, 'Accept-Encoding')
    const coding = preferredCoding(request.headers, codings)
    if (coding === undefined) return undefined
    // Other clients may get the same content in other bytes.
    weakenEtag(headers)
    if (isNotModified(request, response)) return undefined
    const compressed = compress(body, coding)
    if (compressed instanceof Promise) return compressed.then(bytes => replaceBody(response, body, bytes, coding))
    replaceBody(response, body, compressed, coding)
    return undefined
  }
}

type PresentBody = NonNullable<Body>

/** Headers that describe exactly these bytes: a body with one of them is not compressed. */
const bodyHeaders: readonly string[] = ['content-encoding', 'content-digest', 'repr-digest']

function canBeCompressed(body: PresentBody, { headers, status }: Response): boolean {
  if (status === 206 || isBodiless(status)) return false
  // A stream with a Content-Length must have this length.
  if (body instanceof Readable ? headers.has('content-length') : body.length < compressionThreshold) return false
  if (!isCompressible(headers.get('content-type')) || bodyHeaders.some(name => headers.has(name))) return false
  return !/\bno-transform\b/i.test(headers.get('cache-control') ?? '')
}

function replaceBody(response: Response, body: PresentBody, compressed: Uint8Array | Readable, coding: Coding): void {
  if (!(body instanceof Readable || compressed instanceof Readable)) {
    const size = Buffer.byteLength(body)
    if (compressed.length >= size) return
    response.originalSize = size
  }
  response.body = compressed
  response.headers.set('content-encoding', coding)
}
