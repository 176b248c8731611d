import { Readable } from 'node:stream'
import { ResponseEvent } from '../../../kernel/events.ts'
import type { EventDispatcher } from '../../../lib/event-dispatcher/event-dispatcher.ts'
import { compress, compressionThreshold, isCompressible } from '../../../lib/http/compression.ts'
import { isNotModified } from '../../../lib/http/conditions.ts'
import type { Headers } from '../../../lib/http/headers.ts'
import { type Coding, preferredCoding } from '../../../lib/http/negotiation.ts'
import { type Body, isBodiless, type Response, weakenEtag } from '../../../lib/http/response.ts'

/** After everyone who reads or changes the body, and after sessions, which have a say in its caching. */
const priority = -1100

/** Of the size of gzip, Brotli takes longer for what is made only once. */
const codings: readonly Coding[] = ['gzip', 'br']

/**
 * Compresses what is sent where the client takes it and it pays: pages, JSON and streams of text. A response that says
 * `cache-control: no-transform` is left alone: a page that shows a secret beside what its request has brought should say so,
 * as its length tells of both (BREACH).
 */
export class CompressionListener {
  subscribe(dispatcher: EventDispatcher): void {
    dispatcher.subscribe(ResponseEvent, this, 'onResponse', priority)
  }

  onResponse({ isMainRequest, request, response }: ResponseEvent): Promise<void> | undefined {
    const { body, headers } = response
    if (!isMainRequest || body === null || !canBeCompressed(body, response)) return undefined
    addToVary(headers)
    const coding = preferredCoding(request.headers, codings)
    if (coding === undefined) return undefined
    // Others may be told the same in other bytes.
    weakenEtag(headers)
    if (isNotModified(request, response)) return undefined
    const compressed = compress(body, coding)
    if (compressed instanceof Promise) return compressed.then(bytes => put(response, body, bytes, coding))
    put(response, body, compressed, coding)
    return undefined
  }
}

type PresentBody = NonNullable<Body>

/** Headers that were made for these very bytes. */
const bodyHeaders: readonly string[] = ['content-encoding', 'content-digest', 'repr-digest']

function canBeCompressed(body: PresentBody, { headers, status }: Response): boolean {
  if (status === 206 || isBodiless(status)) return false
  // Of a stream whose length is known, the length was promised.
  if (body instanceof Readable ? headers.has('content-length') : body.length < compressionThreshold) return false
  if (!isCompressible(headers.get('content-type')) || bodyHeaders.some(name => headers.has(name))) return false
  return !/\bno-transform\b/i.test(headers.get('cache-control') ?? '')
}

function addToVary(headers: Headers): void {
  const vary = headers.get('vary')
  if (vary === null) headers.set('vary', 'Accept-Encoding')
  else if (!/\*|\baccept-encoding\b/i.test(vary)) headers.set('vary', `${vary}, Accept-Encoding`)
}

function put(response: Response, body: PresentBody, compressed: Uint8Array | Readable, coding: Coding): void {
  if (!(body instanceof Readable || compressed instanceof Readable)) {
    const size = Buffer.byteLength(body)
    if (compressed.length >= size) return
    response.originalSize = size
  }
  response.body = compressed
  response.headers.set('content-encoding', coding)
}
