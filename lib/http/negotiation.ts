import { pipeline, Readable } from 'node:stream'
import { promisify } from 'node:util'
import zlib from 'node:zlib'
import Negotiator from 'negotiator'
import { TextMemo } from '../text/text-memo.ts'
import type { Headers } from './headers.ts'
import type { Body } from './response.ts'

/** A content coding of responses (RFC 9110, section 8.4.1): Brotli or gzip. */
export type Coding = 'br' | 'gzip'

/**
 * The media type of `available` that the client prefers by its Accept header (RFC 9110, section 12.5.1). `undefined` when
 * none is acceptable; the first one without a header. Among types of equal quality the RFC leaves the choice to the server:
 * here the type wins that the client names most exactly, then the one named first, then the first of `available`. So a
 * client that accepts JSON and, equally, everything gets JSON rather than HTML.
 */
export function preferredMediaType<type extends string>(
  headers: Headers,
  available: readonly type[],
): type | undefined {
  const accept = headers.get('accept')
  if (accept === null) return available[0]
  // The result is one of the available types.
  const negotiate = () => new Negotiator({ headers: { accept } }).mediaType(available) as type | undefined
  return recall(accept, available, negotiate)
}

/**
 * The language of `available` that the client prefers by its Accept-Language header (RFC 9110, section 12.5.4). It is found by
 * lookup (RFC 4647, section 3.4): a client that prefers `de-AT` gets `de`. The first one of `available` is for all other
 * clients, because a page in another language is better than an error.
 */
export function preferredLanguage<language extends string>(
  headers: Headers,
  available: readonly [language, ...language[]],
): language {
  const accept = headers.get('accept-language')
  if (accept === null) return available[0]
  const negotiate = () => lookUpLanguage(new Negotiator({ headers: { 'accept-language': accept } }), available)
  return recall(accept, available, negotiate) ?? available[0]
}

/** The most language ranges of a header that are read, and the most characters of each. */
const rangeLimit = 100
const lengthLimit = 100

function lookUpLanguage<language extends string>(
  negotiator: Negotiator,
  available: readonly language[],
): language | undefined {
  for (const range of negotiator.languages().slice(0, rangeLimit)) {
    // A language with the quality 0 is not acceptable.
    if (range === '*') return available.find(language => negotiator.language([language]) !== undefined)
    for (let part = range.toLowerCase().slice(0, lengthLimit); part !== ''; part = shortenTag(part)) {
      const found = available.find(language => language.toLowerCase() === part)
      if (found !== undefined) return found
    }
  }
  return undefined
}

/** Removes the last subtag, and a subtag of one letter before it. */
function shortenTag(tag: string): string {
  return tag.replace(/(?:-[a-z\d])?-[^-]*$|^[^-]*$/, '')
}

/**
 * The coding of `available` that the client prefers by its Accept-Encoding header (RFC 9110, section 12.5.3). The first
 * one of equal quality wins. `undefined`: the body is sent without a coding.
 */
export function preferredCoding(headers: Headers, available: readonly Coding[]): Coding | undefined {
  const accept = headers.get('accept-encoding')
  if (accept === null || accept === 'identity') return undefined
  return recall(accept, available, () => negotiateCoding(accept, available))
}

function negotiateCoding(accept: string, available: readonly Coding[]): Coding | undefined {
  // The types of the package lack `preferred`, which decides between codings of equal quality.
  const negotiator: { encodings(available: string[], options: { preferred: string[] }): string[] } = new Negotiator({
    headers: { 'accept-encoding': accept },
  })
  const codings = [...available, 'identity']
  const [best] = negotiator.encodings(codings, { preferred: codings })
  return best === 'identity' ? undefined : (best as Coding | undefined)
}

/** The caches of results, by the list of available types or codings. */
const answers = new WeakMap<readonly unknown[], TextMemo<{ readonly result: unknown }>>()

/** Most clients send the same headers, so results are cached: a negotiation costs 5 µs and more. */
function recall<result>(accept: string, available: readonly unknown[], negotiate: () => result): result {
  const known = answers.get(available) ?? new TextMemo<{ readonly result: unknown }>(100, 256)
  const answer = known.get(accept)
  // This function alone writes the cache of a list, so the answer has the type.
  if (answer !== undefined) return answer.result as result
  const result = negotiate()
  known.set(accept, { result })
  answers.set(available, known)
  return result
}

/** Bytes below which a body is not compressed: it fits into the first packet anyway. */
export const compressionThreshold = 1024

/** Bytes up to which a body is compressed synchronously: another thread would cost more than it saves. */
const syncLimit = 32 * 1024

const compressible =
  /^(?:text\/(?!event-stream)|image\/(?:svg\+xml|bmp|x-icon|vnd\.microsoft\.icon)|font\/[ot]tf|application\/(?:json|javascript|xml|wasm|x-ndjson|[^;]*\+(?:json|xml)))/i

/**
 * Whether content of a type gets much smaller: text does, a format with its own compression does not. Server-sent
 * events are not compressed, because proxies between would buffer them.
 */
export function isCompressible(contentType: string | null): boolean {
  return contentType !== null && compressible.test(contentType)
}

const { constants } = zlib
const brotli = promisify(zlib.brotliCompress)
const gzip = promisify(zlib.gzip)

/** The default quality of Brotli is 60 times slower. */
const brotliOptions = { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } }

/** Compresses a body. Returns a promise for a large one, so that other requests do not wait. */
export function compress(body: NonNullable<Body>, coding: Coding): Uint8Array | Readable | Promise<Uint8Array> {
  if (body instanceof Readable) return compressStream(body, coding)
  const bytes = typeof body === 'string' ? Buffer.from(body) : body
  if (bytes.length > syncLimit) return coding === 'br' ? brotli(bytes, brotliOptions) : gzip(bytes)
  return coding === 'br' ? zlib.brotliCompressSync(bytes, brotliOptions) : zlib.gzipSync(bytes)
}

/** Compresses as small as possible, which is slow: for content that is cached. */
export function compressWell(bytes: Uint8Array, coding: Coding): Promise<Uint8Array> {
  return coding === 'br' ? brotli(bytes) : gzip(bytes, { level: constants.Z_BEST_COMPRESSION })
}

/** Compresses a stream. Each chunk is flushed at once. If one of the two streams ends, the other ends, too. */
function compressStream(body: Readable, coding: Coding): Readable {
  const compressor =
    coding === 'br'
      ? zlib.createBrotliCompress({ ...brotliOptions, flush: constants.BROTLI_OPERATION_FLUSH })
      : zlib.createGzip({ flush: constants.Z_SYNC_FLUSH })
  // The reader of the compressor gets the errors.
  return pipeline(body, compressor, () => undefined)
}
