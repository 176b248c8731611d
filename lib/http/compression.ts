import { pipeline, Readable } from 'node:stream'
import { promisify } from 'node:util'
import zlib from 'node:zlib'
import type { Coding } from './negotiation.ts'
import type { Body } from './response.ts'

/** Bytes below which nothing is compressed: what is sent fits into the first packet anyway. */
export const compressionThreshold = 1024

/** Bytes up to which a body is compressed at once: handing it to another thread costs more than it frees. */
const syncLimit = 32 * 1024

const compressible =
  /^(?:text\/(?!event-stream)|image\/(?:svg\+xml|bmp|x-icon|vnd\.microsoft\.icon)|font\/[ot]tf|application\/(?:json|javascript|xml|wasm|x-ndjson|[^;]*\+(?:json|xml)))/i

/**
 * Whether content of a type gets much smaller: text does, what is compressed by itself does not. Server-sent events are
 * left alone: proxies between know them by being what they are.
 */
export function isCompressible(contentType: string | null): boolean {
  return contentType !== null && compressible.test(contentType)
}

/** Compresses a body on its way to the client; a promise when it is so large that others would have to wait. */
export function compress(body: NonNullable<Body>, coding: Coding): Uint8Array | Readable | Promise<Uint8Array> {
  if (body instanceof Readable) return compressStream(body, coding)
  const bytes = typeof body === 'string' ? Buffer.from(body) : body
  if (bytes.length > syncLimit) return coding === 'br' ? brotli(bytes, brotliOptions) : gzip(bytes)
  return coding === 'br' ? zlib.brotliCompressSync(bytes, brotliOptions) : zlib.gzipSync(bytes)
}

/** Compresses as well as it can, which takes long: for what is kept. */
export function compressWell(bytes: Uint8Array, coding: Coding): Promise<Uint8Array> {
  return coding === 'br' ? brotli(bytes) : gzip(bytes, { level: constants.Z_BEST_COMPRESSION })
}

/** Compresses a stream; each part is sent when it comes, and an end of either ends both. */
function compressStream(body: Readable, coding: Coding): Readable {
  const compressor =
    coding === 'br'
      ? zlib.createBrotliCompress({ ...brotliOptions, flush: constants.BROTLI_OPERATION_FLUSH })
      : zlib.createGzip({ flush: constants.Z_SYNC_FLUSH })
  // Who reads what comes out is told of errors.
  return pipeline(body, compressor, () => undefined)
}

const { constants } = zlib
const brotli = promisify(zlib.brotliCompress)
const gzip = promisify(zlib.gzip)

/** Brotli's own default is for what is kept: 60 times slower. */
const brotliOptions = { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } }
