import { createHash } from 'node:crypto'
import { createReadStream, type Stats } from 'node:fs'
import { readFile, stat } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { compressionThreshold, compressWell, isCompressible } from './compression.ts'
import { checkConditions, isRangeFresh, toNotModified } from './conditions.ts'
import { Headers } from './headers.ts'
import { type Coding, preferredCoding } from './negotiation.ts'
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

/** What does not get smaller by this is sent as it is. */
const worthwhile = 0.95

/** Compressed contents of files: made when they are first asked for, once, and kept within a limit of bytes. */
export class FileVariants {
  readonly #limit: number
  /** What was not asked for longest comes first; empty where compressing does not pay. */
  readonly #kept = new Map<string, Uint8Array>()
  readonly #pending = new Map<string, Promise<Uint8Array>>()
  #size = 0

  constructor(limit: number = 32 * 1024 * 1024) {
    this.#limit = limit
  }

  /** The content of a file, compressed; `undefined` when that is hardly smaller. @throws when it cannot be read */
  async find(file: string, digest: string, coding: Coding): Promise<Uint8Array | undefined> {
    // By the digest: what is known of a content is true for ever.
    const key = `${digest}-${coding}`
    const bytes = this.#use(key) ?? (await this.#create(key, file, coding))
    return bytes.length === 0 ? undefined : bytes
  }

  #use(key: string): Uint8Array | undefined {
    const bytes = this.#kept.get(key)
    if (bytes === undefined) return undefined
    this.#kept.delete(key)
    this.#kept.set(key, bytes)
    return bytes
  }

  #create(key: string, file: string, coding: Coding): Promise<Uint8Array> {
    let pending = this.#pending.get(key)
    if (pending === undefined) {
      pending = compressFile(file, coding)
        .then(bytes => this.#keep(key, bytes))
        .finally(() => this.#pending.delete(key))
      this.#pending.set(key, pending)
    }
    return pending
  }

  #keep(key: string, bytes: Uint8Array): Uint8Array {
    this.#kept.set(key, bytes)
    this.#size += bytes.length
    for (const [oldest, { length }] of this.#kept) {
      if (this.#size <= this.#limit) break
      this.#kept.delete(oldest)
      this.#size -= length
    }
    return bytes
  }
}

async function compressFile(file: string, coding: Coding): Promise<Uint8Array> {
  const content = await readFile(file)
  const bytes = await compressWell(content, coding)
  return bytes.length < content.length * worthwhile ? bytes : new Uint8Array(0)
}

interface Known {
  readonly size: number
  readonly modified: number
  readonly digest: Promise<string>
}

/** The SHA-256 of files, as hex digits. Each is read once, and again when its size or its time has changed. */
export class FileDigests {
  readonly #known = new Map<string, Known>()

  /** @throws when the file cannot be read */
  find(file: string, { mtimeMs: modified, size }: Stats): Promise<string> {
    const known = this.#known.get(file)
    if (known?.size === size && known.modified === modified) return known.digest
    const digest = digestFile(file)
    this.#known.set(file, { size, modified, digest })
    // Whoever waits for it learns of the failure; the next one tries again.
    digest.catch(() => this.#known.delete(file))
    return digest
  }
}

async function digestFile(file: string): Promise<string> {
  const hash = createHash('sha256')
  await pipeline(createReadStream(file), hash)
  return hash.digest('hex')
}

/** Bytes of a file, both ends included. */
export interface ByteRange {
  readonly start: number
  readonly end: number
}

/**
 * The bytes that a Range header asks for (RFC 9110, section 14.2). `undefined` when everything is to be sent: the header
 * is not valid, asks for several ranges, or there are no bytes; a server may always ignore it.
 */
export function parseRange(header: string, size: number): ByteRange | 'unsatisfiable' | undefined {
  const [, set] = /^bytes=(.*)$/i.exec(header.trim()) ?? []
  if (set === undefined || size === 0) return undefined
  const texts = set.split(',').map(text => text.trim())
  const ranges = texts.filter(text => text !== '').map(text => parseOne(text, size))
  if (ranges.length === 0 || ranges.includes(undefined)) return undefined
  const [range, another] = ranges.filter(range => range !== undefined).filter(({ start }) => start < size)
  if (range === undefined) return 'unsatisfiable'
  return another === undefined ? range : undefined
}

function parseOne(text: string, size: number): ByteRange | undefined {
  const [, first, last] = /^(\d*)-(\d*)$/.exec(text) ?? []
  if (first === undefined || last === undefined || (first === '' && last === '')) return undefined
  // The last so many bytes, which may be more than there are.
  if (first === '') return { start: Math.max(size - Number(last), 0), end: size - 1 }
  if (last !== '' && Number(last) < Number(first)) return undefined
  return { start: Number(first), end: last === '' ? size - 1 : Math.min(Number(last), size - 1) }
}
