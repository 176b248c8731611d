import { tmpdir } from 'node:os'
import {
  type BodyLimits,
  type BodySource,
  ByteCollector,
  decodeUtf8,
  defaultBodyLimits,
  readStream,
} from './body-source.ts'
import { BODY_ENCODING_UNSUPPORTED, BODY_TYPE_UNSUPPORTED, BODY_UNAVAILABLE } from './errors.ts'
import { FormData, parseForm } from './form-data.ts'
import { parseJson } from './parse-json.ts'
import { parseMultipart } from './parse-multipart.ts'
import { TemporaryFiles } from './temporary-files.ts'

/** What an application may say about the bodies that it accepts. */
export interface RequestBodyOptions {
  readonly limits?: Partial<BodyLimits>
  /** Where uploaded files lie until the request is over; the system's own directory when nothing is said. */
  readonly temporaryDirectory?: string
}

/** What is known of a body without reading it. */
export interface BodyGlimpse {
  /** The content, once all of it was read into memory; not to be changed. */
  readonly bytes: Uint8Array | undefined
  /** The form, once it was parsed. */
  readonly form: FormData | undefined
}

/**
 * The body of a request: read once, within a limit, when it is first asked for. Whatever kind is asked for again is the
 * same again. An absent body is empty text and an empty form, but no JSON.
 *
 * Every way of reading may reject with BODY_TOO_LARGE (413), BODY_TRUNCATED (400) or BODY_ENCODING_UNSUPPORTED (415);
 * whatever is read as text with BODY_TEXT_INVALID (400).
 */
export class RequestBody {
  /** The most bytes that are accepted, for a route to say before anything is read; else the application's limits hold. */
  limit: number | undefined
  /** The media type in lower case and without parameters; empty when none was sent. */
  readonly contentType: string
  readonly #source: BodySource | null
  readonly #limits: BodyLimits
  readonly #temporaryDirectory: string | undefined
  #files: TemporaryFiles | undefined
  #wasRead = false
  #isDisposed = false
  #bytes: Promise<Uint8Array> | undefined
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

  /** Whether something was sent; a chunked body may yet turn out to be empty. */
  get isPresent(): boolean {
    return this.#source !== null
  }

  /** Whether the content was asked for. */
  get wasRead(): boolean {
    return this.#wasRead
  }

  /** Looks without asking: nothing is read or parsed, and nobody is made to wait. */
  peek(): BodyGlimpse {
    return this.#glimpse
  }

  /** Reads what belongs into memory (JSON, text, simple forms) and looks no closer; leaves anything else where it is. */
  async read(): Promise<void> {
    const isForMemory = isJson(this.contentType) || isText(this.contentType) || this.contentType === simpleForm
    if (isForMemory) await this.bytes()
  }

  /** The content as it was sent. Everyone is given the same array: copy it before changing it. */
  bytes(): Promise<Uint8Array> {
    this.#bytes ??= handled(this.#readBytes())
    return this.#bytes
  }

  /** The content of any type as text; a byte order mark is left out. */
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
   * The fields and files of a form; files are there until the request is over.
   * @throws BODY_TYPE_UNSUPPORTED (415) BODY_FORM_INVALID (400) BODY_FIELDS_TOO_MANY BODY_FIELDS_TOO_LARGE (413)
   */
  formData(): Promise<FormData> {
    this.#form ??= handled(this.#readForm())
    return this.#form
  }

  /**
   * Ends the use of the body and removes its temporary files; waits for a form that is just coming in, so let its stream
   * end or close. Never rejects.
   */
  async dispose(): Promise<void> {
    this.#isDisposed = true
    if (this.#files === undefined) return
    await this.#form?.catch(ignore)
    await this.#files.remove()
  }

  async #readBytes(): Promise<Uint8Array> {
    if (this.#source === null) return new Uint8Array()
    const content = new ByteCollector()
    const limit = this.limit ?? this.#limits.bytes
    await readStream(this.#claim(this.#source), limit, chunk => void content.append(chunk))
    const bytes = content.take()
    this.#glimpse = { ...this.#glimpse, bytes }
    return bytes
  }

  async #readText(): Promise<string> {
    return decodeUtf8(await this.bytes()).replace(/^\ufeff/, '')
  }

  async #readJson(): Promise<unknown> {
    if (this.isPresent && !isJson(this.contentType)) throw this.#unsupported('application/json')
    return parseJson(await this.text(), this.#limits.jsonDepth)
  }

  async #readForm(): Promise<FormData> {
    const form = await this.#parseForm()
    this.#glimpse = { ...this.#glimpse, form }
    return form
  }

  async #parseForm(): Promise<FormData> {
    if (this.#source === null) return new FormData()
    if (this.contentType === simpleForm) return parseForm(await this.text(), this.#limits.fields)
    if (this.contentType === multipartForm) return this.#readMultipart(this.#claim(this.#source))
    throw this.#unsupported(`${simpleForm}, ${multipartForm}`)
  }

  async #readMultipart(source: BodySource): Promise<FormData> {
    const files = new TemporaryFiles(this.#temporaryDirectory ?? tmpdir())
    this.#files = files
    try {
      return await parseMultipart(source, this.limit ?? this.#limits.multipartBytes, this.#limits, files)
    } catch (error) {
      await files.remove()
      throw error
    }
  }

  /** Gives the source to its one reader. */
  #claim(source: BodySource): BodySource {
    if (this.#isDisposed) throw new BODY_UNAVAILABLE(['the request is over'])
    if (this.#wasRead) throw new BODY_UNAVAILABLE(['it was already read in another form'])
    const encoding = source.contentEncoding?.trim().toLowerCase() ?? ''
    if (encoding !== '' && encoding !== 'identity') {
      // RFC 9110, 15.5.16
      throw new BODY_ENCODING_UNSUPPORTED([encoding], { headers: { 'accept-encoding': 'identity' } })
    }
    this.#wasRead = true
    return source
  }

  #unsupported(expected: string): Error {
    return new BODY_TYPE_UNSUPPORTED([this.contentType, expected], { headers: { accept: expected } })
  }
}

const simpleForm = 'application/x-www-form-urlencoded'
const multipartForm = 'multipart/form-data'

function mediaTypeOf(contentType = ''): string {
  const end = contentType.indexOf(';')
  return (end === -1 ? contentType : contentType.slice(0, end)).trim().toLowerCase()
}

function isJson(type: string): boolean {
  return type === 'application/json' || type.endsWith('+json')
}

function isText(type: string): boolean {
  return type.startsWith('text/')
}

/** Someone may ask and not wait: then a client that sends rubbish must not end the process with it. */
function handled<value>(promise: Promise<value>): Promise<value> {
  promise.catch(ignore)
  return promise
}

function ignore(): void {}
