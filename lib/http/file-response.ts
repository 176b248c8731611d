import { createReadStream, type Stats } from 'node:fs'
import { stat } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { compressionThreshold, isCompressible } from './compression.ts'
import { checkConditions, isRangeFresh } from './conditions.ts'
import { FileDigests } from './file-digests.ts'
import { FileVariants } from './file-variants.ts'
import { Headers } from './headers.ts'
import { type Coding, preferredCoding } from './negotiation.ts'
import { toNotModified } from './not-modified.ts'
import { parseRange } from './range.ts'
import type { Request } from './request.ts'
import { Response } from './response.ts'
import { type StaticFile, versionOf } from './static-files.ts'

/** Bytes up to which files are compressed: their first client waits for it. */
const compressionLimit = 1024 * 1024

/**
 * Answers GET and HEAD with files: type, strong etag, last-modified, conditions and ranges (RFC 9110, sections 13 and
 * 14), compressed where the client takes it. A URL with the file's version may be kept for ever, any other is asked for
 * again. Statuses are 200, 206, 304, 412 and 416.
 */
export class FileResponses {
  readonly #digests = new FileDigests()
  readonly #variants = new FileVariants()

  /** `undefined` when the file is gone. */
  async create(request: Request, { file, version }: StaticFile): Promise<Response | undefined> {
    const stats = await stat(file).catch(() => undefined)
    if (stats === undefined) return undefined
    const digest = await this.#digests.find(file, stats)
    const headers = await describe(file, stats)
    headers.set(
      'cache-control',
      version === versionOf(digest) ? 'public, max-age=31536000, immutable' : 'public, no-cache',
    )

    const coding = chooseCoding(request, headers, stats)
    const variant = coding && (await this.#variants.find(file, digest, coding))
    const tag = digest.slice(0, 32)
    headers.set('etag', variant === undefined ? `"${tag}"` : `"${tag}-${coding}"`)
    if (coding !== undefined && variant !== undefined) headers.set('content-encoding', coding)

    const verdict = checkConditions(request.headers, headers)
    if (verdict === 'failed') return new Response(null, { status: 412 })
    if (verdict === 'not-modified') return toNotModified(new Response(null, { headers }))
    if (variant === undefined) return sendPlain(request, headers, file, stats)
    return new Response(variant, { headers })
  }
}

async function describe(file: string, { mtime }: Stats): Promise<Headers> {
  // Most processes never send a file: the list is loaded with the first one.
  const { default: mime } = await import('mime/lite')
  const type = mime.getType(file) ?? 'application/octet-stream'
  const charset = type.startsWith('text/') ? '; charset=UTF-8' : ''
  return new Headers({ 'content-type': `${type}${charset}`, 'last-modified': mtime.toUTCString() })
}

/** Made once and kept, so that the smaller one pays. */
const codings: readonly Coding[] = ['br', 'gzip']

/** Ranges are those of the plain file: whoever asks for one gets that. */
function chooseCoding({ headers, method }: Request, described: Headers, { size }: Stats): Coding | undefined {
  if (size < compressionThreshold || size > compressionLimit) return undefined
  if (!isCompressible(described.get('content-type'))) return undefined
  described.set('vary', 'Accept-Encoding')
  return method === 'GET' && headers.has('range') ? undefined : preferredCoding(headers, codings)
}

function sendPlain(request: Request, headers: Headers, file: string, { size }: Stats): Response {
  headers.set('accept-ranges', 'bytes')
  const isRangeWanted = request.method === 'GET' && isRangeFresh(request.headers, headers)
  const range = isRangeWanted ? parseRange(request.headers.get('range') ?? '', size) : undefined
  if (range === 'unsatisfiable') {
    return new Response(null, {
      status: 416,
      headers: { 'content-range': `bytes */${size}` },
    })
  }
  const { start, end } = range ?? { start: 0, end: size - 1 }
  headers.set('content-length', String(end - start + 1))
  if (range !== undefined) headers.set('content-range', `bytes ${start}-${end}/${size}`)
  const isEmpty = request.method === 'HEAD' || size === 0
  const body = isEmpty ? Readable.from([]) : createReadStream(file, { start, end })
  return new Response(body, { status: range === undefined ? 200 : 206, headers })
}
