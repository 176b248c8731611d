import { createHash } from 'node:crypto'
import zlib from 'node:zlib'
import { parseForm } from '../../../lib/body/form-data.ts'
import type { Headers } from '../../../lib/http/headers.ts'
import { charsetOf, isJsonType, mediaTypeOf } from '../../../lib/http/media-type.ts'
import { readClock } from '../../../lib/own-globals.ts'
import { maskMarkup } from '../../../lib/redact/mask-markup.ts'
import { type CopyBounds, MaskingCopier } from '../../../lib/redact/masking-copier.ts'
import { isFact } from '../../../lib/redact/prose.ts'
import type { Redactor } from '../../../lib/redact/redactor.ts'
import { isSecretBeside, mask } from '../../../lib/redact/secret-names.ts'
import { TextMemo } from '../../../lib/text/text-memo.ts'
import type { ContentData } from '../profile/content.ts'
import type { Pairs } from '../profile/schema.ts'

/** Entries of one table of a panel. */
const bounds: CopyBounds = { depth: 6, entries: 500, text: 4096, total: 16_384 }

/** The headers of all HTTP client calls of a request. */
const callBounds: CopyBounds = { depth: 1, entries: 4000, text: 4096, total: 65_536 }

/** Creates the copier of the headers of all HTTP client calls of a request. */
export function createCallCopier(redactor: Redactor): MaskingCopier {
  return new MaskingCopier(redactor, callBounds)
}

/**
 * Creates the copier of one group of values, such as the headers: masked, six levels deep, 500 entries, 4,096
 * characters of each text and 16,384 in all. Errors are copied as class and message.
 */
export function createCopier(redactor: Redactor): MaskingCopier {
  return new MaskingCopier(redactor, bounds)
}

/**
 * Headers of the profiler itself. Their values change with each response and are no secret, so they are not searched.
 */
const ownTiming =
  /^profile;desc="(?:[\da-f]{6}){1,2}"(?:, method;desc="[A-Z]{1,20}"|, (?:total|kernel|ctrl|tpl|http);desc="[A-Z][A-Za-z ]{1,30}";dur=[\d.]{1,16})+$/

/**
 * The id that a request gets by default. It has no form of a secret, and the values of variables
 * are looked for in the whole profile.
 */
const ownId = /^[\da-f]{32}$/

/**
 * Copies headers for a profile: values are masked, cookies keep their names and attributes. Names are copied as they
 * are: a secret is not recognised in a name (RFC 9110, section 5.6.2), and this runs twice for each request.
 */
export function copyHeaders(headers: Pick<Headers, 'toRaw'>, copier: MaskingCopier): Pairs {
  const fields = headers.toRaw()
  const copies = new Array<Pairs[number]>(fields.length / 2)
  for (let index = 0; index < copies.length; index++) {
    if (copier.isSpent()) {
      copies[index] = ['…', '…']
      copies.length = index + 1
    } else {
      const name = fields[2 * index] as string
      copies[index] = [name, copyValue(name, fields[2 * index + 1] as string, copier)]
    }
  }
  return copies
}

/** Copies the values of a header, each a line, as {@link copyHeaders} does. */
export function copyHeader(name: string, values: string, copier: MaskingCopier): string {
  const lines = values.split('\n').map(value => (copier.isSpent() ? '…' : String(copyValue(name, value, copier))))
  return lines.join('\n')
}

/** The lengths of the names that have a case of their own: a name in lower case is a new text. */
const ownCases: readonly number[] = [6, 10, 12, 13, 18, 22]

function copyValue(name: string, value: string, copier: MaskingCopier): unknown {
  switch (ownCases.includes(name.length) ? name.toLowerCase() : '') {
    case 'cookie':
      return copier.text(value.split(';').map(maskCookie).join(';'))
    case 'set-cookie':
      return maskSetCookie(value, copier)
    // A header of the profiler itself.
    case 'x-debug-token':
    case 'x-debug-token-link':
    case 'x-previous-debug-token':
      return value
    // It differs in each request: a search would fill the memory of harmless texts.
    case 'x-request-id':
      return ownId.test(value) ? value : copier.value(name, value)
    case 'server-timing':
      return ownTiming.test(value) ? value : copier.value(name, value)
    default:
      return copier.value(name, value)
  }
}

/** The value of any cookie may identify its client, except a count such as `max_tokens=512`. */
function maskCookie(pair: string): string {
  // A pair without a name is a value.
  const end = pair.indexOf('=') + 1
  const name = pair.slice(0, end)
  return pair === name || isFact(pair.slice(0, end - 1).trim(), pair.slice(end)) ? pair : `${name}${mask}`
}

/** Masks the value, and keeps the attributes. */
function maskSetCookie(field: string, copier: MaskingCopier): string {
  const end = field.indexOf(';')
  return copier.text(end === -1 ? maskCookie(field) : `${maskCookie(field.slice(0, end))}${field.slice(end)}`)
}

/** Characters of a content that are stored. */
export const contentLimit = 65_536

/** A content as it was sent. */
export interface SentContent {
  readonly body: string | Uint8Array
  /** The header `content-type`; empty without one. */
  readonly type: string
  /** The header `content-encoding`; empty without one. */
  readonly encoding: string
  /** Masks the texts that are secrets in this content only. */
  readonly hide?: ((text: string) => string) | undefined
  /** Bytes of the whole content, if `body` is only its beginning. */
  readonly whole?: number | undefined
  /** Whether it may have errors of an operation: a short one is always copied. */
  readonly mayHaveErrors?: (() => boolean) | undefined
}

/** Bytes of a content whose errors are read in any case. */
const resultLimit = 16_384

/** Milliseconds of work that may be done at once, and in each second. */
const workLimit = 200
const workEachSecond = 20

const noText = 'Only text is stored.'

/** Characters that are parsed or decoded. */
const readLimit = 262_144

/** Bytes whose digest is computed: 1 MiB takes a millisecond. */
const digestLimit = 1_048_576

/** Characters before a cut that are dropped: half of a secret would not be recognised. */
const margin = 4096

/** Fields of a form: more than an application accepts by default. */
const fieldLimit = 1000

const contentBounds: CopyBounds = { depth: 20, entries: 5000, text: 16_384, total: contentLimit }

/**
 * Copies contents of responses and of HTTP client calls for profiles, masked and within bounds.
 * Masking a page takes longer than recording all the rest of a request, so it may take 2 % of the
 * time: a load test gets the types and sizes of most contents, a developer gets all contents.
 */
export class ContentCopier {
  readonly #redactor: Redactor
  readonly #clock: () => number
  #left = workLimit
  #time: number

  constructor(redactor: Redactor, clock: () => number = () => readClock()) {
    this.#redactor = redactor
    this.#clock = clock
    this.#time = clock()
  }

  /** Copies a content; `undefined` for an empty one. */
  copy(given: SentContent): ContentData | undefined {
    if (given.body.length === 0 && !given.whole) return undefined
    // Yoga names no coding so.
    const sent = /^\s*(?:identity|none)\s*$/i.test(given.encoding) ? { ...given, encoding: '' } : given
    const start = this.#clock()
    this.#left = Math.min(workLimit, this.#left + ((start - this.#time) / 1000) * workEachSecond)
    this.#time = start
    const type = this.#redactor.knownSecrets(mediaTypeOf(sent.type))
    const { body, mayHaveErrors } = sent
    if (this.#left <= 0 && !(body.length <= resultLimit && mayHaveErrors?.()))
      return { type, length: null, note: 'Not stored: too much content in a short time.' }
    const length = sent.encoding === '' ? Math.max(Buffer.byteLength(sent.body), sent.whole ?? 0) : null
    const data = this.#copy(sent, type)
    this.#left -= this.#clock() - start
    return { type, length, ...data }
  }

  #copy(sent: SentContent, type: string): Partial<ContentData> {
    const { body, encoding, whole = 0 } = sent
    if (body.length === 0) return { note: isText(type) ? 'Not stored: too many bodies of calls.' : noText }
    if (!(isText(type) || (type === '' && typeof body === 'string'))) return { note: noText, ...digestOf(sent) }
    const given = readText(sent)
    const text = given === undefined ? undefined : (sent.hide?.(given) ?? given)
    if (given === undefined || text === undefined)
      return { note: 'The encoding of the text cannot be read.', ...digestOf(sent) }
    const isWhole = whole <= body.length && given.length <= readLimit
    const length = encoding !== '' && isWhole ? { length: Buffer.byteLength(given) } : {}
    const parsed = isWhole ? this.#parse(type, text) : undefined
    return { ...length, ...(parsed ?? this.#copyText(text, type, sent, isWhole)) }
  }

  /** The data of a form or of JSON; `undefined` for other text, and for text that is not valid. */
  #parse(type: string, text: string): Partial<ContentData> | undefined {
    const copier = new MaskingCopier(this.#redactor, contentBounds)
    try {
      if (isForm(type)) return { form: copyForm(parseForm(text, fieldLimit), copier) }
      return isJsonType(type) ? { json: [copier.value('', JSON.parse(text.replace(/^\ufeff/, '')))] } : undefined
    } catch {
      return undefined
    }
  }

  #copyText(text: string, type: string, sent: SentContent, isWhole: boolean): Partial<ContentData> {
    const isCut = !isWhole || text.length > contentLimit
    const beginning = text.slice(0, contentLimit + margin)
    const isMarkup = type.includes('ml')
    const given = isMarkup && isCut ? withoutHalfTag(beginning) : beginning
    const safe = isMarkup ? maskMarkup(given, this.#redactor) : this.#redactor.text(this.#maskLines(given, type))
    if (!isCut) return { text: safe }
    const end = Math.min(contentLimit, Math.max(0, safe.length - margin))
    return { text: safe.slice(0, end).toWellFormed(), isCut: true, ...digestOf(sent) }
  }

  /** Masks the values of a stream by their names. */
  #maskLines(text: string, type: string): string {
    if (!isStream(type) && !isJsonType(type)) return text
    const copier = new MaskingCopier(this.#redactor, contentBounds)
    return text.replace(jsonLine, (line: string, before = '', json: string) => {
      try {
        return `${before}${JSON.stringify(copier.value('', JSON.parse(json)))}`
      } catch {
        return line
      }
    })
  }
}

/** A line of JSON, or the data of an event that is JSON. */
const jsonLine = /^(data: ?)?([[{].*)$/gm

/** Without the end of its last tag, a field with a long value is not recognised. */
function withoutHalfTag(markup: string): string {
  const start = markup.lastIndexOf('<')
  return start > markup.lastIndexOf('>') ? markup.slice(0, start) : markup
}

/** Copies the text fields of a form, masked by their names. */
export function copyForm(fields: Iterable<readonly [string, unknown]>, copier: MaskingCopier): [string, unknown][] {
  const texts = [...fields]
  const all = new Map(texts)
  return copier.pairs(texts, (name, value) => (isSecretBeside(name, all) ? mask : copier.value(name, value)))
}

/** Whether content of a media type is text that can be read. */
export function isText(type: string): boolean {
  const isOther = /^text\/|^application\/(?:xml|xhtml\+xml|javascript|graphql)$|\+xml$/.test(type)
  return isOther || isStream(type) || isJsonType(type) || isForm(type)
}

/**
 * Whether content of a media type has values of JSON, line by line: events, the parts of a GraphQL
 * result, or JSON lines.
 */
function isStream(type: string): boolean {
  return /^(?:text\/event-stream|multipart\/mixed|application\/(?:x-ndjson|jsonl))$/.test(type)
}

function isForm(type: string): boolean {
  return type === 'application/x-www-form-urlencoded'
}

function digestOf({ body, whole = 0 }: SentContent): Pick<ContentData, 'digest'> {
  if (whole > body.length || body.length > digestLimit) return {}
  return { digest: createHash('sha256').update(body).digest('hex').slice(0, 32) }
}

/** The text of a content, of a long one its beginning; `undefined` when its encoding is unknown or broken. */
function readText({ body, encoding, type }: SentContent): string | undefined {
  if (typeof body === 'string') return body.slice(0, readLimit + 1)
  try {
    // A character has at most four bytes.
    const bytes = decompress(body, encoding).subarray(0, 4 * (readLimit + 1))
    return decoders
      .of(charsetOf(type) ?? 'utf-8', charset => new TextDecoder(charset))
      .decode(bytes)
      .slice(0, readLimit + 1)
  } catch {
    return undefined
  }
}

/** To create a decoder takes longer than to decode a short text. */
const decoders = new TextMemo<InstanceType<typeof TextDecoder>>(20, 40)

/** The beginning of compressed content is decompressed as far as it goes. */
function decompress(body: Uint8Array, encoding: string): Uint8Array {
  const { constants } = zlib
  const options = { maxOutputLength: readLimit, finishFlush: constants.Z_SYNC_FLUSH }
  switch (encoding.trim().toLowerCase()) {
    case '':
      return body
    case 'gzip':
    case 'x-gzip':
      return zlib.gunzipSync(body, options)
    case 'deflate':
      return zlib.inflateSync(body, options)
    case 'br':
      return zlib.brotliDecompressSync(body, { ...options, finishFlush: constants.BROTLI_OPERATION_FLUSH })
    default:
      throw new RangeError(`The content encoding "${encoding}" is unknown.`)
  }
}
