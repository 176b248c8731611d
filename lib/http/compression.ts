import { pipeline, Readable } from 'node:stream'
import { promisify } from 'node:util'
import zlib from 'node:zlib'
import type { Coding } from './negotiation.ts'
import type { Body } from './response.ts'

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
