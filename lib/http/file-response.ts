import { createHash } from 'node:crypto'
import { createReadStream, type Stats } from 'node:fs'
import { readFile, realpath, stat, unlink } from 'node:fs/promises'
import path from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { noteRemoval, removeAtExit } from '../body/form-data.ts'
import { ARGUMENT_INVALID, checkOptions, checkString } from '../errors/arguments.ts'
import { describeValue } from '../text/describe-value.ts'
import { controls } from '../text/escapes.ts'
import type { ShapeOf } from '../text/mistakes.ts'
import { checkConditions, isRangeFresh, isRetrieval, toNotModified } from './conditions.ts'
import { HTTP_FILE_MISSING } from './errors.ts'
import { Headers } from './headers.ts'
import { type Coding, compressionThreshold, compressWell, isCompressible, preferredCoding } from './negotiation.ts'
import { checkRequest, type Request } from './request.ts'
import { type Body, Response, type ResponseInit } from './response.ts'
import { type StaticFile, versionOf } from './static-files.ts'

/** Bytes up to which files are compressed: the first client waits for the compression. */
const compressionLimit = 1024 * 1024

/**
 * Answers GET and HEAD with files: type, strong etag, last-modified, conditions and ranges (RFC 9110, sections 13 and
 * 14), compressed if the client accepts it. A URL with the file's version is cached for ever, any other is revalidated.
 * Statuses are 200, 206, 304, 412 and 416.
 */
export class StaticFileResponses {
  readonly #digests = new FileDigests()
  readonly #variants = new FileVariants()

  /** `undefined` if the file no longer exists. */
  async create(request: Request, { file, version }: StaticFile): Promise<Response | undefined> {
    const stats = await stat(file).catch(() => undefined)
    if (stats === undefined) return undefined
    const digest = await this.#digests.find(file, stats)
    const headers = await describeFile(file, stats)
    headers.set(
      'cache-control',
      version === versionOf(digest) ? 'public, max-age=31536000, immutable' : 'public, no-cache',
    )

    const coding = chooseCoding(request, headers, stats)
    const variant = coding && (await this.#variants.find(file, digest, coding))
    const tag = digest.slice(0, 32)
    headers.set('etag', variant === undefined ? `"${tag}"` : `"${tag}-${coding}"`)
    if (coding !== undefined && variant !== undefined) headers.set('content-encoding', coding)

    if (variant === undefined) {
      return respondWithFile(request, headers, stats.size, range => createReadStream(file, range))
    }
    return checkFile(request, headers) ?? new Response(variant, { headers })
  }
}

/** The response to a request whose conditions exclude the file: 304 or 412. */
function checkFile(request: Request, headers: Headers): Response | undefined {
  const verdict = checkConditions(request, headers)
  if (verdict === 'failed') return new Response(null, { status: 412 })
  return verdict === 'not-modified' ? toNotModified(new Response(null, { headers })) : undefined
}

/** The headers of a file: its type by its name, and the time of its last change. */
async function describeFile(name: string, { mtime }: Stats): Promise<Headers> {
  // Loaded with the first file, because most processes never send one.
  const { default: mime } = await import('mime/lite')
  const type = mime.getType(name) ?? 'application/octet-stream'
  const charset = type.startsWith('text/') ? '; charset=UTF-8' : ''
  return new Headers({ 'content-type': `${type}${charset}`, 'last-modified': mtime.toUTCString() })
}

/** Brotli first: it is smaller, and each file is compressed only once. */
const codings: readonly Coding[] = ['br', 'gzip']

/** A range is a part of the plain file, so a request with a range gets no coding. */
function chooseCoding({ headers, method }: Request, described: Headers, { size }: Stats): Coding | undefined {
  if (size < compressionThreshold || size > compressionLimit) return undefined
  if (!isCompressible(described.get('content-type'))) return undefined
  described.set('vary', 'Accept-Encoding')
  return method === 'GET' && headers.has('range') ? undefined : preferredCoding(headers, codings)
}

/** The response with a file, or the wanted range of it, with these headers, by the conditions of the request. */
function respondWithFile(
  request: Request,
  headers: Headers,
  size: number,
  read: (range: ByteRange) => Readable,
): Response {
  // Conditions and ranges are for the content that the client wants, not for that of an error.
  const { hasFailed, method } = request
  const refusal = hasFailed ? undefined : checkFile(request, headers)
  if (refusal !== undefined) return refusal
  if (isRetrieval(method) && !hasFailed) headers.set('accept-ranges', 'bytes')
  const isRangeWanted = method === 'GET' && !hasFailed && isRangeFresh(request.headers, headers)
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
  const isEmpty = method === 'HEAD' || size === 0
  const body = isEmpty ? Readable.from([]) : read({ start, end })
  return new Response(body, { status: range === undefined ? 200 : 206, headers })
}

/** A file is compressed if its size falls below this share. */
const worthwhile = 0.95

/** A cache of compressed files, with a limit in bytes. Each file is compressed once, with its first request. */
export class FileVariants {
  readonly #limit: number
  /** The least recently used comes first. Empty bytes: the file does not get smaller. */
  readonly #kept = new Map<string, Uint8Array>()
  readonly #pending = new Map<string, Promise<Uint8Array>>()
  #size = 0

  constructor(limit: number = 32 * 1024 * 1024) {
    this.#limit = limit
  }

  /** The compressed content of a file; `undefined` if it is hardly smaller. @throws if the file cannot be read */
  async find(file: string, digest: string, coding: Coding): Promise<Uint8Array | undefined> {
    // A digest names a content, so an entry never becomes wrong.
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

/** A cache of the SHA-256 of files, as hex digits. A file is read again when its size or time has changed. */
class FileDigests {
  readonly #known = new Map<string, Known>()

  /** @throws if the file cannot be read */
  find(file: string, { mtimeMs: modified, size }: Stats): Promise<string> {
    const known = this.#known.get(file)
    if (known?.size === size && known.modified === modified) return known.digest
    const digest = digestFile(file)
    this.#known.set(file, { size, modified, digest })
    // The waiting callers get the error. The next caller tries again.
    digest.catch(() => this.#known.delete(file))
    return digest
  }
}

async function digestFile(file: string): Promise<string> {
  const hash = createHash('sha256')
  await pipeline(createReadStream(file), hash)
  return hash.digest('hex')
}

/** The bytes of a file from `start` to `end`, both included. */
interface ByteRange {
  readonly start: number
  readonly end: number
}

/**
 * Parses a Range header (RFC 9110, section 14.2). `undefined`: the whole file is sent, because the
 * header is not valid or has several ranges, or the file is empty. A server may always ignore a range.
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
  // The last bytes; their number may exceed the size.
  if (first === '') return { start: Math.max(size - Number(last), 0), end: size - 1 }
  if (last !== '' && Number(last) < Number(first)) return undefined
  return { start: Number(first), end: last === '' ? size - 1 : Math.min(Number(last), size - 1) }
}

/** How a file is sent. */
export interface FileResponseOptions {
  /**
   * The absolute path of the folder of the file: the other path is then relative to it, and may come from a request.
   * Files outside of it, also by symbolic links, and names that begin with a dot are not found.
   */
  readonly root?: string
  /** The name for the client, which also determines the content type. By default the name of the file. */
  readonly name?: string
  /**
   * `attachment`, the default, is saved by a browser; `inline` is shown. An HTML or SVG file of a
   * user that is shown inline can run scripts on your site.
   */
  readonly disposition?: Disposition
  /**
   * Deletes the file when the request is over, even if its client has left, or another response has taken its place.
   */
  readonly deleteAfterSending?: boolean
}

const optionShape: ShapeOf<FileResponseOptions> = {
  root: 'string',
  name: 'string',
  disposition: 'string',
  deleteAfterSending: 'boolean',
}

/** A response with a file, made by {@link createFileResponse}. */
export class FileResponse extends Response {
  /** The absolute path of the file. */
  readonly file: string
  /** The content type, by the name of the file. */
  readonly contentType: string
  /** Whether the file is deleted after sending. */
  readonly isTemporary: boolean

  constructor(
    file: string,
    isTemporary: boolean,
    body: Body,
    { contentType, ...init }: ResponseInit & { contentType: string },
  ) {
    super(body, init)
    this.file = file
    this.contentType = contentType
    this.isTemporary = isTemporary
  }
}

/**
 * Creates a response with a file, for a controller: type by its name, Content-Disposition, a
 * strong etag of time and size, conditions and ranges (RFC 9110, sections 13 and 14). Only GET and
 * HEAD are answered by 304 and ranges. A file that is deleted after sending is sent as a whole.
 *
 * @throws HTTP_FILE_MISSING (404) ARGUMENT_INVALID
 */
export async function createFileResponse(
  request: Request,
  file: string,
  options: FileResponseOptions = {},
): Promise<FileResponse> {
  checkRequest('createFileResponse(request, file)', request)
  checkOptions('createFileResponse()', options, optionShape)
  if (typeof file !== 'string') {
    throw new ARGUMENT_INVALID(['createFileResponse()', `the path of the file is a text, not ${describeValue(file)}`])
  }
  const { deleteAfterSending = false, disposition = 'attachment', root } = options
  checkDisposition('createFileResponse()', disposition)
  if (root !== undefined && !path.isAbsolute(root)) {
    const mistake = `"root" is "${root}": use an absolute path, such as path.join(directory, 'var/uploads')`
    throw new ARGUMENT_INVALID(['createFileResponse()', mistake])
  }
  const found = root === undefined ? path.resolve(file) : await findWithin(root, file)
  const stats = found === undefined ? undefined : await stat(found).catch(() => undefined)
  if (found === undefined || !stats?.isFile()) throw new HTTP_FILE_MISSING([path.basename(file)])
  const { name = path.basename(found) } = options
  const headers = await describeFile(name, stats)
  const contentType = headers.get('content-type') ?? ''
  headers.set('content-disposition', contentDisposition(name, disposition))
  if (deleteAfterSending) {
    deleteAtEnd(request, found)
    headers.delete('last-modified')
    headers.set('content-length', String(stats.size))
    return new FileResponse(found, true, readLazily(found), { headers, contentType })
  }
  headers.set('etag', toEtag(stats))
  const response = respondWithFile(request, headers, stats.size, range => readLazily(found, range))
  return new FileResponse(found, false, response.body, {
    status: response.status,
    headers: response.headers,
    contentType,
  })
}

/** The real path of a file in a folder; `undefined` if it is not there. */
async function findWithin(root: string, file: string): Promise<string | undefined> {
  if (file.split(/[\\/]/).some(segment => segment.startsWith('.'))) return undefined
  try {
    const folder = await realpath(root)
    const found = await realpath(path.join(folder, file))
    return found.startsWith(folder + path.sep) ? found : undefined
  } catch {
    // It does not exist, or the name has a NUL character.
    return undefined
  }
}

/** Strong: a file that changes twice in a microsecond keeps its tag. */
function toEtag({ mtimeMs, size }: Stats): string {
  return `"${Math.round(mtimeMs * 1000).toString(16)}-${size.toString(16)}"`
}

/** A response that is replaced is never read: its file is opened with the first read. */
function readLazily(file: string, range?: ByteRange): Readable {
  async function* read() {
    yield* createReadStream(file, range)
  }
  return Readable.from(read())
}

/** The kernel deletes the file after the main request, or the process at its exit. */
function deleteAtEnd(request: Request, file: string): void {
  if (request.parent !== undefined) {
    deleteAtEnd(request.parent, file)
    return
  }
  const { attributes } = request
  removeAtExit(file)
  attributes.set('_temporary_files', [...(attributes.get('_temporary_files') ?? []), file])
}

/**
 * Removes the temporary files of a main request: those of its body, and those of
 * {@link createFileResponse}. There is a promise only if there are files. Never rejects.
 */
export function removeFiles({ attributes, body }: Request): Promise<void> | undefined {
  const disposed = body.dispose()
  const files = attributes.get('_temporary_files')
  if (files === undefined) return disposed
  // A file that is gone, or cannot be deleted, does not keep the others.
  return Promise.allSettled([disposed, ...files.map(removeFile)]).then(() => undefined)
}

async function removeFile(file: string): Promise<void> {
  try {
    await unlink(file)
  } finally {
    noteRemoval(file)
  }
}

/** Whether a browser shows a file or saves it. */
export type Disposition = 'attachment' | 'inline'

/**
 * The value of a Content-Disposition header with the name of a file (RFC 6266). Only the last part
 * of a path is used. A name with other characters than simple ones of ASCII is sent as UTF-8 (RFC
 * 8187), beside a substitute for old clients.
 */
export function contentDisposition(name: string, disposition: Disposition = 'attachment'): string {
  checkString('contentDisposition(name, disposition)', 'the name', name)
  checkDisposition('contentDisposition(name, disposition)', disposition)
  const clean = cleanName(name)
  const simple = clean.replace(/[^\x20-\x7e]|["%]/g, '_')
  const plain = `${disposition}; filename="${simple}"`
  return simple === clean ? plain : `${plain}; filename*=UTF-8''${encode(clean)}`
}

function checkDisposition(call: string, disposition: unknown): void {
  if (disposition === 'attachment' || disposition === 'inline') return
  const found = typeof disposition === 'string' ? `"${disposition}"` : describeValue(disposition)
  throw new ARGUMENT_INVALID([call, `"disposition" is ${found}: use "attachment" or "inline"`])
}

/** Without folders, control characters, and characters that reverse the direction of the text. */
function cleanName(name: string): string {
  const last = name.toWellFormed().replace(/^.*[\\/]/s, '')
  const clean = last.replace(controls, '_').trim()
  return /^\.*$/.test(clean) ? 'file' : clean
}

/** `encodeURIComponent` leaves four characters that RFC 8187, section 3.2.1, does not allow. */
function encode(text: string): string {
  return encodeURIComponent(text).replace(
    /['()*]/g,
    character => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  )
}
