import { tmpdir } from 'node:os'
import { Readable } from 'node:stream'
import { isJsonType, mediaTypeOf, otherCharsetOf } from '../http/media-type.ts'
import { readClock } from '../own-globals.ts'
import {
  type BodyLimits,
  type BodySource,
  collectBytes,
  decodeUtf8,
  defaultBodyLimits,
  limitStream,
} from './body-source.ts'
import { BODY_ENCODING_UNSUPPORTED, BODY_TOO_LARGE, BODY_TYPE_UNSUPPORTED, BODY_UNAVAILABLE } from './errors.ts'
import { FormData, parseForm, TemporaryFiles } from './form-data.ts'
import { parseMultipart } from './multipart.ts'
import { parseJson } from './parse-json.ts'

/** The options of an application for all bodies. */
interface RequestBodyOptions {
  readonly limits?: Partial<BodyLimits>
  /** The folder for uploaded files until the request ends; that of the system by default. */
  readonly temporaryDirectory?: string
}

/** The parts of a body that were already read. */
interface BodyGlimpse {
  /** The content, after all of it was read into memory. Do not change it. */
  readonly bytes: Uint8Array | undefined
  /** The form, after it was parsed. */
  readonly form: FormData | undefined
  /** The bytes of a content that was read, and was too long to be kept. */
  readonly size?: number
  /** The bytes that have come so far, if they are counted. */
  readonly received?: number
  /** When its reading began and ended, by `performance.now()`: meanwhile the client was sending. */
  readonly reading?: readonly [start: number, end: number]
}

/**
 * The body of a request. It is read once, with the first call, and within a limit; the same call later gives the same
 * result. An absent body is empty text and an empty form, but no JSON.
 *
 * Each method may reject with BODY_TOO_LARGE (413), BODY_TRUNCATED (400) or BODY_ENCODING_UNSUPPORTED
 * (415), and those that decode text with BODY_TEXT_INVALID (400) or BODY_CHARSET_UNSUPPORTED (415).
 */
export class RequestBody {
  /**
   * The limit of this request in bytes, which a route may set before the body is read. By default
   * that of the application.
   */
  limit: number | undefined = undefined
  /** The media type in lower case, without parameters. Empty if none was sent. */
  readonly contentType: string
  readonly #source: BodySource | null
  readonly #limits: BodyLimits
  readonly #temporaryDirectory: string | undefined
  #files: TemporaryFiles | undefined
  #wasRead = false
  #began = 0
  #isStreamed = false
  #isDisposed = false
  #bytes: Promise<Uint8Array> | undefined
  #encoded: Promise<Uint8Array> | undefined
  #text: Promise<string> | undefined
  #json: Promise<unknown> | undefined
  #form: Promise<FormData> | undefined
  #glimpse: BodyGlimpse = { bytes: undefined, form: undefined }

  constructor(source: BodySource | null, options: RequestBodyOptions = {}) {
    this.#source = source?.length === 0 ? null : source
    this.#limits = options.limits === undefined ? defaultBodyLimits : { ...defaultBodyLimits, ...options.limits }
    this.#temporaryDirectory = options.temporaryDirectory
    this.contentType = mediaTypeOf(source?.contentType)
  }

  /** Whether the request has a body. A chunked body may still be empty. */
  get isPresent(): boolean {
    return this.#source !== null
  }

  /** Whether reading has begun. */
  get wasRead(): boolean {
    return this.#wasRead
  }

  /** Returns what was already read. Reads and parses nothing. */
  peek(): BodyGlimpse {
    return this.#glimpse
  }

  /**
   * Reads JSON, text and simple forms into memory, without parsing them. Does nothing for other
   * types, and for a stream: then there is no promise.
   */
  read(): Promise<unknown> | undefined {
    if (this.#isStreamed) return undefined
    const isForMemory =
      isJsonType(this.contentType) || this.contentType.startsWith('text/') || this.contentType === simpleForm
    return isForMemory ? this.bytes() : undefined
  }

  /** The content as it was sent. All callers get the same array: copy it before a change. */
  bytes(): Promise<Uint8Array> {
    this.#bytes ??= this.#collect(this.#source, bytes => {
      this.#glimpse = { bytes, form: this.#glimpse.form, reading: [this.#began, readClock()] }
    })
    return this.#bytes
  }

  /** The content in its content encoding, for a caller that decodes it. The header `content-encoding` has its name. */
  encodedBytes(): Promise<Uint8Array> {
    this.#encoded ??= this.#collect(this.#source && { ...this.#source, contentEncoding: undefined })
    return this.#encoded
  }

  /**
   * The content in its content encoding as a stream of bytes, with back pressure: it is not kept
   * in memory. The default limit is that of its type. A body that {@link bytes} has read before is
   * streamed from memory. The stream may fail with the errors of the other methods.
   *
   * @throws BODY_TOO_LARGE (413) if the declared length is over the limit; BODY_UNAVAILABLE
   */
  stream(): Readable {
    const { bytes } = this.#glimpse
    if (this.#source === null || bytes !== undefined) return Readable.from(bytes === undefined ? [] : [bytes])
    const source = this.#claim({ ...this.#source, contentEncoding: undefined })
    this.#isStreamed = true
    const limit = this.limit ?? (this.contentType === multipartForm ? this.#limits.multipartBytes : this.#limits.bytes)
    if (source.length !== undefined && source.length > limit) throw new BODY_TOO_LARGE([limit])
    return limitStream(source, limit)
  }

  /** The content of any type as text, without a byte order mark. */
  text(): Promise<string> {
    this.#text ??= handled(this.#readText())
    return this.#text
  }

  /** The value of a JSON body. @throws BODY_TYPE_UNSUPPORTED (415) BODY_JSON_INVALID (400) */
  json(): Promise<unknown> {
    this.#json ??= handled(this.#readJson())
    return this.#json
  }

  /**
   * The fields and files of a form. The files exist until the request ends.
   * @throws BODY_TYPE_UNSUPPORTED (415) BODY_FORM_INVALID (400) BODY_FIELDS_TOO_MANY BODY_FIELDS_TOO_LARGE (413)
   */
  formData(): Promise<FormData> {
    this.#form ??= handled(this.#readForm())
    return this.#form
  }

  /**
   * Ends the use of the body and removes its temporary files; there is a promise only if there are
   * files. Waits for a form that is still coming in, so its stream has to end or close. Never rejects.
   */
  dispose(): Promise<void> | undefined {
    this.#isDisposed = true
    const files = this.#files
    if (files === undefined) return undefined
    return Promise.resolve(this.#form).then(
      () => files.remove(),
      () => files.remove(),
    )
  }

  /** `note` gets the bytes before the promise is fulfilled. */
  #collect(source: BodySource | null, note?: (bytes: Uint8Array) => void): Promise<Uint8Array> {
    if (source === null) return Promise.resolve(new Uint8Array())
    try {
      return handled(collectBytes(this.#claim(source), this.limit ?? this.#limits.bytes, note))
    } catch (error) {
      return handled(Promise.reject(error))
    }
  }

  async #readText(): Promise<string> {
    return this.#toText(this.#glimpse.bytes ?? (await this.bytes()))
  }

  async #readJson(): Promise<unknown> {
    if (this.isPresent && !isJsonType(this.contentType)) throw this.#unsupported('application/json')
    // The body of most requests was read before the controller runs.
    return parseJson(this.#toText(this.#glimpse.bytes ?? (await this.bytes())), this.#limits.jsonDepth)
  }

  async #readForm(): Promise<FormData> {
    const form = await this.#parseForm()
    this.#glimpse = { ...this.#glimpse, form }
    return form
  }

  async #parseForm(): Promise<FormData> {
    if (this.#source === null) return new FormData()
    if (this.contentType === simpleForm) {
      const charset = this.#otherCharset
      return parseForm(decodeUtf8(await this.bytes(), charset), this.#limits.fields, charset)
    }
    if (this.contentType === multipartForm) return this.#readMultipart(this.#claim(this.#source))
    throw this.#unsupported(`${simpleForm}, ${multipartForm}`)
  }

  async #readMultipart(source: BodySource): Promise<FormData> {
    const files = new TemporaryFiles(this.#temporaryDirectory ?? tmpdir())
    this.#files = files
    try {
      const form = await parseMultipart(source, this.limit ?? this.#limits.multipartBytes, this.#limits, files)
      this.#glimpse = { ...this.#glimpse, reading: [this.#began, readClock()] }
      return form
    } catch (error) {
      await files.remove()
      throw error
    }
  }

  /** Hands the source to its only reader. */
  #claim(source: BodySource): BodySource {
    if (this.#isDisposed) throw new BODY_UNAVAILABLE(['the request is over'])
    if (this.#wasRead) throw new BODY_UNAVAILABLE(['it was already read in another form'])
    const encoding = source.contentEncoding?.trim().toLowerCase() ?? ''
    if (encoding !== '' && encoding !== 'identity') {
      // RFC 9110, 15.5.16
      throw new BODY_ENCODING_UNSUPPORTED([encoding], { headers: { 'accept-encoding': 'identity' } })
    }
    this.#wasRead = true
    this.#began = readClock()
    return source
  }

  #toText(bytes: Uint8Array): string {
    const text = decodeUtf8(bytes, this.#otherCharset)
    return text.charCodeAt(0) === byteOrderMark ? text.slice(1) : text
  }

  get #otherCharset(): string | undefined {
    return otherCharsetOf(this.#source?.contentType)
  }

  #unsupported(expected: string): Error {
    return new BODY_TYPE_UNSUPPORTED([this.contentType, expected], { headers: { accept: expected } })
  }
}

const byteOrderMark = 0xfeff

const simpleForm = 'application/x-www-form-urlencoded'
const multipartForm = 'multipart/form-data'

/** A caller may not wait for the result. A rejection, which a client can cause, must not end the process then. */
function handled<value>(promise: Promise<value>): Promise<value> {
  promise.catch(ignore)
  return promise
}

function ignore(): void {}
