import { type FileHandle, open } from 'node:fs/promises'
import { otherCharsetOf } from '../http/media-type.ts'
import { controls } from '../text/escapes.ts'
import { type BodyLimits, type BodySource, ByteCollector, decodeUtf8, readStream } from './body-source.ts'
import { BODY_FIELDS_TOO_LARGE, BODY_FIELDS_TOO_MANY, BODY_FORM_INVALID } from './errors.ts'
import { FormData, type TemporaryFiles, UploadedFile } from './form-data.ts'

/** An event of parsing a form: each part is a head, any number of pieces of content, and an end. */
type PartEvent =
  | { readonly kind: 'head'; readonly head: PartHead }
  | { readonly kind: 'content'; readonly bytes: Uint8Array }
  | { readonly kind: 'end'; readonly head: PartHead }

/** Bytes of the header lines of one part. */
const headLimit = 8 * 1024

/**
 * Splits the bytes of a multipart form into its parts, wherever the chunks are cut (RFC 2046, 5.1.1). It
 * is strict: only text before the first and after the last delimiter is skipped, and nothing is repaired.
 */
class MultipartSplitter {
  readonly #delimiter: Buffer
  #state: 'content' | 'delimiter' | 'padding' | 'head' | 'epilogue' = 'content'
  /** The head of the current part; undefined for the text before the first delimiter. */
  #head: PartHead | undefined
  /** Bytes that wait for more. It begins with the line break that the first delimiter lacks. */
  #rest: Buffer = lineBreak

  constructor(boundary: string) {
    this.#delimiter = Buffer.from(`\r\n--${boundary}`, 'latin1')
  }

  /** Whether the last delimiter has come. */
  get isComplete(): boolean {
    return this.#state === 'epilogue'
  }

  /** Yields the events that the next chunk completes. @throws BODY_FORM_INVALID BODY_TEXT_INVALID (400) */
  *push(chunk: Uint8Array): Generator<PartEvent> {
    if (this.isComplete) return
    this.#rest = Buffer.concat([this.#rest, chunk])
    let hasMore = true
    while (hasMore && !this.isComplete) {
      if (this.#state === 'delimiter') hasMore = this.#endDelimiter()
      else if (this.#state === 'padding') hasMore = this.#endLine()
      else if (this.#state === 'head') hasMore = yield* this.#readHead()
      else hasMore = yield* this.#readContent()
    }
  }

  *#readContent(): Generator<PartEvent, boolean> {
    const at = this.#rest.indexOf(this.#delimiter)
    // The last bytes may be the beginning of a delimiter.
    const bytes = this.#take(at === -1 ? Math.max(0, this.#rest.length - this.#delimiter.length + 1) : at)
    if (this.#head !== undefined && bytes.length > 0) yield { kind: 'content', bytes }
    if (at === -1) return false
    if (this.#head !== undefined) yield { kind: 'end', head: this.#head }
    this.#take(this.#delimiter.length)
    this.#state = 'delimiter'
    return true
  }

  #endDelimiter(): boolean {
    if (this.#rest.length < 2) return false
    this.#state = this.#rest[0] === hyphen && this.#rest[1] === hyphen ? 'epilogue' : 'padding'
    return true
  }

  /** Blanks after a boundary have to be accepted: mail systems add them. */
  #endLine(): boolean {
    let blanks = 0
    while (this.#rest[blanks] === space || this.#rest[blanks] === tab) blanks++
    this.#take(blanks)
    if (this.#rest.length < 2) return false
    if (this.#take(2).compare(lineBreak) !== 0)
      throw new BODY_FORM_INVALID(['a boundary is followed by neither CRLF nor --'])
    this.#state = 'head'
    return true
  }

  *#readHead(): Generator<PartEvent, boolean> {
    const at = this.#rest.indexOf('\r\n\r\n')
    if ((at === -1 ? this.#rest.length - 4 : at) > headLimit) {
      throw new BODY_FORM_INVALID([`the headers of a part are larger than ${headLimit} bytes`])
    }
    if (at === -1) return false
    this.#head = parsePartHead(this.#take(at))
    this.#take(4)
    yield { kind: 'head', head: this.#head }
    this.#state = 'content'
    return true
  }

  #take(length: number): Buffer {
    const taken = this.#rest.subarray(0, length)
    this.#rest = this.#rest.subarray(length)
    return taken
  }
}

const lineBreak = Buffer.from('\r\n')
const hyphen = 0x2d
const space = 0x20
const tab = 0x09

/** The header of one part of a multipart form. */
interface PartHead {
  readonly name: string
  /** If present, even empty, the part is a file. Text to show, never a path. */
  readonly fileName: string | undefined
  /** The content type that the client sent. */
  readonly type: string
}

/**
 * Parses the header lines of a part (RFC 7578, 4). A line that begins with a blank continues the
 * line before it (RFC 5322, 2.2.3).
 *
 * @throws BODY_FORM_INVALID BODY_TEXT_INVALID (400)
 */
function parsePartHead(bytes: Uint8Array): PartHead {
  const headers = parseHeaders(decodeUtf8(bytes))
  const disposition = headers.get('content-disposition') ?? ''
  const parameters = /^form-data[ \t]*;/i.test(disposition) ? parseParameters(disposition) : undefined
  const name = parameters?.get('name')
  if (parameters === undefined || name === undefined) throw new BODY_FORM_INVALID(['a part has no name'])
  const fileName = decodeExtended(parameters.get('filename*')) ?? parameters.get('filename')
  return {
    name: unescapeName(name),
    fileName: fileName === undefined ? undefined : toFileName(unescapeName(fileName)),
    type: (headers.get('content-type') ?? 'text/plain').replace(/^[^;]*/, name => name.toLowerCase()),
  }
}

function parseHeaders(block: string): Map<string, string> {
  const headers = new Map<string, string>()
  for (const line of block.replace(/\r\n(?=[ \t])/g, '').split('\r\n')) {
    const [, name, value] = /^([\w!#$%&'*+.^`|~-]+):[ \t]*([^\r\n]*)$/.exec(line) ?? []
    const key = name?.toLowerCase()
    if (key === undefined || value === undefined || headers.has(key)) {
      throw new BODY_FORM_INVALID(['a part has a malformed header'])
    }
    headers.set(key, value)
  }
  return headers
}

/** Decodes a value by RFC 8187. RFC 7578 forbids it in forms, but some clients send only this. */
function decodeExtended(value: string | undefined): string | undefined {
  try {
    return value === undefined ? undefined : decodeURIComponent(value.replace(/^utf-8'[^']*'/i, ''))
  } catch {
    throw new BODY_FORM_INVALID(['a file name has escaped bytes that are not UTF-8'])
  }
}

/** Decodes a name of the Fetch Standard: browsers escape three characters. */
function unescapeName(name: string): string {
  return name.replace(/%(?:22|0D|0A)/g, escaped => String.fromCharCode(Number.parseInt(escaped.slice(1), 16)))
}

/** The last segment of a path of any system, without control characters and marks of text direction. */
function toFileName(sent: string): string {
  const visible = sent.replace(controls, '')
  const name = visible.slice(Math.max(visible.lastIndexOf('/'), visible.lastIndexOf('\\')) + 1)
  return name === '.' || name === '..' ? '' : name
}

/** Only two parameters have a meaning, so a low limit is enough. */
const maxParameters = 10

/**
 * Parses the parameters of a header value such as `form-data; name="a"; filename="b"`, with names in lower case
 * (RFC 9110, 5.6.6); `undefined` if they are malformed, repeated or too many. Browsers send a backslash as it is,
 * so `name="a\"` ends with one. It escapes a quote only where the quote cannot be the end, as in `name="a\"b"`.
 */
export function parseParameters(value: string): Map<string, string> | undefined {
  const parameters = new Map<string, string>()
  const pattern = /;[ \t]*(?:$|([^\s=;"]+)=(?:"((?:[^"\\]|\\"(?![ \t]*(?:;|$))|\\(?!"))*\\?)"|([^\s;"]+))[ \t]*)/y
  const start = value.indexOf(';')
  pattern.lastIndex = start === -1 ? value.length : start
  while (pattern.lastIndex < value.length) {
    const match = pattern.exec(value)
    if (match === null) return undefined
    const [, name, quoted = '', token] = match
    // A semicolon at the end.
    if (name === undefined) break
    const key = name.toLowerCase()
    if (parameters.has(key) || parameters.size === maxParameters) return undefined
    parameters.set(key, token ?? quoted.replaceAll('\\"', '"'))
  }
  return parameters
}

/** A field or a file of a form. */
export interface MultipartPart {
  readonly field: string
  readonly content: string | Uint8Array
  /** The name and type of a file; the type is `application/octet-stream` by default. */
  readonly file?: { readonly name: string; readonly type?: string | undefined }
}

/** Writes the body of a form with the type `multipart/form-data`, as a browser does (RFC 7578). */
export function encodeMultipart(boundary: string, parts: readonly MultipartPart[]): Buffer {
  const pieces = parts.flatMap(part => [`--${boundary}\r\n${writeHead(part)}\r\n\r\n`, part.content, '\r\n'])
  return Buffer.concat([...pieces, `--${boundary}--\r\n`].map(piece => Buffer.from(piece)))
}

function writeHead({ field, file }: MultipartPart): string {
  const head = `content-disposition: form-data; name="${quote(field)}"`
  if (file === undefined) return head
  return `${head}; filename="${quote(file.name)}"\r\ncontent-type: ${(file.type || 'application/octet-stream').replace(/[\r\n]/g, encodeURIComponent)}`
}

function quote(text: string): string {
  return text.replace(/["\r\n]/g, mark => encodeURIComponent(mark))
}

/** Bytes per batch. A client may send each byte as a chunk, and a write to a file costs more than its bytes. */
const batchSize = 64 * 1024

/**
 * Parses a form of the type `multipart/form-data` while it comes in (RFC 7578). A part with a file
 * name is written to a temporary file, any other is text in UTF-8. `limit` is the size of the whole
 * form in bytes. After a rejection nothing is read or written, and the caller removes the files.
 * @throws BODY_TOO_LARGE BODY_FIELDS_TOO_LARGE BODY_FIELDS_TOO_MANY (413)
 * @throws BODY_FORM_INVALID BODY_TEXT_INVALID BODY_TRUNCATED (400) BODY_CHARSET_UNSUPPORTED (415)
 */
export async function parseMultipart(
  source: BodySource,
  limit: number,
  limits: BodyLimits,
  files: TemporaryFiles,
): Promise<FormData> {
  const splitter = new MultipartSplitter(boundaryOf(source))
  const storage = new PartStorage(limits, files)
  const batch = new ByteCollector()
  const storeBatch = async () => {
    for (const event of splitter.push(batch.take())) await storage.store(event)
  }
  try {
    await readStream(source, limit, chunk => {
      batch.append(chunk)
      // The stream waits while a batch is stored, so memory holds at most a batch and a chunk.
      return batch.length < batchSize ? undefined : storeBatch()
    })
    await storeBatch()
    if (!splitter.isComplete) throw new BODY_FORM_INVALID(['it ends before its last boundary'])
    return storage.form
  } finally {
    await storage.close()
  }
}

/**
 * Reads a form that is in memory: its parts that are complete, if it was cut. Its files have no path.
 * @throws BODY_FORM_INVALID BODY_TEXT_INVALID (400) BODY_CHARSET_UNSUPPORTED (415)
 */
export function readMultipart(bytes: Uint8Array, contentType: string | undefined): FormData {
  const form = new FormData()
  const content = new ByteCollector()
  for (const event of new MultipartSplitter(boundaryOf({ contentType })).push(bytes)) {
    if (event.kind === 'content') content.append(event.bytes)
    if (event.kind !== 'end') continue
    const { fileName, name, type } = event.head
    const size = content.length
    const part = content.take()
    const file = fileName === undefined ? undefined : new UploadedFile({ name: fileName, type, size, path: '' })
    form.append(name, file ?? decodeUtf8(part, otherCharsetOf(type)))
  }
  return form
}

function boundaryOf({ contentType = '' }: Pick<BodySource, 'contentType'>): string {
  const boundary = parseParameters(contentType)?.get('boundary')
  if (boundary === undefined) throw new BODY_FORM_INVALID(['its content type names no boundary'])
  // RFC 2046, 5.1.1
  if (boundary === '') throw new BODY_FORM_INVALID(['its boundary is empty'])
  if (boundary.length > 70) throw new BODY_FORM_INVALID(['its boundary is longer than 70 characters'])
  return boundary
}

/** Stores the parts of a form, one after the other. */
class PartStorage {
  readonly form: FormData = new FormData()
  readonly #limits: BodyLimits
  readonly #files: TemporaryFiles
  readonly #counts = { fields: 0, files: 0 }
  /** Bytes of all text fields together. */
  #textSize = 0
  readonly #text = new ByteCollector()
  /** The file of the current part, if it is one. */
  #file: { readonly handle: FileHandle; readonly path: string; size: number } | undefined

  constructor(limits: BodyLimits, files: TemporaryFiles) {
    this.#limits = limits
    this.#files = files
  }

  async store(event: PartEvent): Promise<void> {
    if (event.kind === 'head') await this.#begin(event.head)
    else if (event.kind === 'content') await this.#write(event.bytes)
    else await this.#end(event.head)
  }

  async close(): Promise<void> {
    await this.#file?.handle.close()
    this.#file = undefined
  }

  async #begin({ fileName }: PartHead): Promise<void> {
    const kind = fileName === undefined ? 'fields' : 'files'
    this.#counts[kind]++
    if (this.#counts[kind] > this.#limits[kind]) throw new BODY_FIELDS_TOO_MANY([this.#limits[kind], kind])
    if (kind === 'fields') return
    const path = await this.#files.createPath()
    this.#file = { handle: await open(path, 'wx', 0o600), path, size: 0 }
  }

  async #write(bytes: Uint8Array): Promise<void> {
    if (this.#file !== undefined) {
      this.#file.size += bytes.length
      // Unlike `write`, it writes all bytes.
      await this.#file.handle.appendFile(bytes)
      return
    }
    this.#textSize += bytes.length
    if (this.#textSize > this.#limits.bytes) throw new BODY_FIELDS_TOO_LARGE([this.#limits.bytes])
    this.#text.append(bytes)
  }

  async #end({ name, fileName = '', type }: PartHead): Promise<void> {
    if (this.#file !== undefined) {
      const { path, size } = this.#file
      this.form.append(name, new UploadedFile({ name: fileName, type, size, path }))
      await this.close()
      return
    }
    this.form.append(name, decodeUtf8(this.#text.take(), otherCharsetOf(type)))
  }
}
