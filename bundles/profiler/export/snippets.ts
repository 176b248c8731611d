import { encodeMultipart, parseParameters } from '../../../lib/body/multipart.ts'
import { quoteForShell } from '../../../lib/text/escapes.ts'
import { type BodyData, type ContentData, type FormPart, readFormParts, serializeForm } from '../profile/content.ts'
import { formatText } from '../profile/format.ts'
import type { Profile } from '../profile/profile.ts'
import type { Pairs } from '../profile/schema.ts'
import type { HttpCall } from '../subjects/http/data.ts'

/**
 * Writes a curl command that repeats a recorded request, one option per line. Masked values stay masked: the user
 * replaces them. Comments before the command list the parts that it does not send.
 */
export function createCurl({ collectors, summary }: Pick<Profile, 'collectors' | 'summary'>): string {
  const { method, url } = summary
  const { request } = collectors
  return writeCommand(method, url, toFields(request?.headers), request?.body)
}

/**
 * Writes a curl command for an HTTP client call, with its headers and its body as far as they were
 * recorded. Comments before the command list the parts that it does not send.
 */
export function createCallCurl({ method, request, url }: Pick<HttpCall, 'method' | 'request' | 'url'>): string {
  if (request === undefined)
    return `# The headers and the body are not recorded.\n${writeCommand(method, url, [], undefined)}`
  const fields = toFields(request.headers)
  const length = Number(fields.find(([name]) => name.toLowerCase() === 'content-length')?.[1] ?? 0)
  const isChunked = fields.some(([name]) => name.toLowerCase() === 'transfer-encoding')
  const unknown = length > 0 || isChunked ? { type: '', length: null } : undefined
  return writeCommand(method, url, fields, request.content ?? unknown)
}

function writeCommand(method: string, url: string, fields: readonly Field[], content: SentBody | undefined): string {
  const headers = fields.filter(isSendable)
  const body = createCurlBody(content, method, contentTypeOf(headers))
  const isSent = ([name]: Field) => !headersOfCurl.test(name) && !(body.setsType && isContentType(name))
  const lines = [
    `curl ${writeMethod(method, body.options.length > 0)}${writeAddress(url)}`,
    ...writeTarget(url),
    ...headers.filter(isSent).flatMap(writeHeader),
    ...body.options,
  ]
  const remarks = [
    ...(headers.length < fields.length ? ['Headers that were recorded incompletely are not included.'] : []),
    ...body.remarks,
  ]
  // Remarks contain no recorded text: it could end the comment.
  return `${remarks.map(remark => `# ${remark}\n`).join('')}${lines.join(' \\\n  ')}`
}

/** The body of a request, or of an HTTP client call, which has no files. */
type SentBody = ContentData & Pick<BodyData, 'files'>

type Field = readonly [name: string, value: string]

function toFields(headers: Pairs = []): Field[] {
  return headers.map(([name, value]) => [name, formatText(value)])
}

/** Headers that curl sets correctly by itself. */
const headersOfCurl = /^(?:host|connection|content-length|transfer-encoding|expect)$/i

/**
 * Whether a field is a valid header (RFC 9110, sections 5.1 and 5.5): curl does not escape line feeds, and reads a
 * header that begins with `@` as the name of a file. A header that was cut may be invalid.
 */
function isSendable([name, value]: Field): boolean {
  return /^[\w!#$%&'*+.^`|~-]+$/.test(name) && /^[\t\x20-\x7e\x80-\xff]*$/.test(value)
}

function isContentType(name: string): boolean {
  return name.toLowerCase() === 'content-type'
}

function contentTypeOf(headers: readonly Field[]): string {
  return headers.find(([name]) => isContentType(name))?.[1] ?? ''
}

/**
 * The default method of curl is GET, with a body POST. HEAD needs an option of its own: otherwise curl waits for a
 * body.
 */
function writeMethod(method: string, hasBody: boolean): string {
  if (method === 'HEAD') return '--head '
  return method === (hasBody ? 'POST' : 'GET') || method === '' ? '' : `--request ${quoteForShell(method)} `
}

/** A URL that begins with a dash needs the option `--url`. */
function writeAddress(url: string): string {
  return `${url.startsWith('-') ? '--url ' : ''}${quoteForShell(url)}`
}

/** Options that keep the URL unchanged: by default curl expands `[1-3]` and resolves `/../`. */
function writeTarget(url: string): string[] {
  const hasDots = /\/(?:\.|%2e){1,2}(?:[/?#]|$)/i.test(url)
  return [...(/[[\]{}]/.test(url) ? ['--globoff'] : []), ...(hasDots ? ['--path-as-is'] : [])]
}

function writeHeader([name, value]: Field): string[] {
  if (name.toLowerCase() === 'accept-encoding') return ['--compressed']
  // curl omits a header with an empty value, except with a semicolon.
  return [`--header ${quoteForShell(value.trim() === '' ? `${name};` : `${name}: ${value}`, 'latin1')}`]
}

/** The options for a body, and comments about it. */
interface CurlBody {
  readonly options: readonly string[]
  /** Sentences without recorded text. */
  readonly remarks: readonly string[]
  /** Whether curl sets the content-type header, with its own boundary. */
  readonly setsType: boolean
}

/** Creates the options for a recorded body; `contentType` is the header with its parameters. */
function createCurlBody(body: SentBody | undefined, method: string, contentType: string): CurlBody {
  if (body === undefined || method === 'HEAD') return createNoBody(body, 'With HEAD, curl sends no body.')
  const { files = [], form = [], isCut, json, text } = body
  if (json !== undefined) return { options: [writeData(String(JSON.stringify(json[0])))], remarks: [], setsType: false }
  const isMultipart = body.type === 'multipart/form-data' && form.length > 0
  if (isMultipart || files.length > 0) return createForm(readFormParts({ form, files }), contentType)
  if (form.length > 0) return { options: [writeData(serializeForm(form))], remarks: [], setsType: false }
  if (text !== undefined && text !== '') {
    const remarks = isCut ? ['The body is only the beginning.'] : []
    return { options: [writeData(text)], remarks, setsType: false }
  }
  return createNoBody(body, 'The body is not recorded.')
}

function createNoBody(body: ContentData | undefined, remark: string): CurlBody {
  const isEmpty = body === undefined || body.length === 0
  return { options: [], remarks: isEmpty ? [] : [remark], setsType: false }
}

/** `--data-raw` never reads a file, even if the value begins with `@`. */
function writeData(text: string): string {
  return `--data-raw ${quoteForShell(text)}`
}

/**
 * Writes one option per field if all names are plain. Otherwise the command contains the encoded body: with a name that
 * contains `=`, for example, curl could read a file.
 */
function createForm(all: readonly FormPart[], contentType: string): CurlBody {
  const parts = all.filter(({ content, field, file }) => !`${field}${content}${file?.name}${file?.type}`.includes('\0'))
  const remarks = [
    ...(parts.some(({ file }) => file !== undefined)
      ? ['File contents are not recorded. The files are sent empty.']
      : []),
    ...(parts.length < all.length
      ? ['Fields with a NUL character are not included: an argument cannot contain it.']
      : []),
  ]
  if (parts.every(isPlain)) return { options: parts.map(writePart), remarks, setsType: true }
  const boundary = parseParameters(contentType)?.get('boundary')
  if (boundary !== undefined && /^[\x20-\x7e]+$/.test(boundary)) {
    return { options: [writeData(encodeMultipart(boundary, parts).toString())], remarks, setsType: false }
  }
  return { options: [], remarks: ['The form is not included: its boundary is not recorded.'], setsType: true }
}

/** A name without characters that have a meaning in options of curl. */
const plainName = /^[^\p{C}\p{Zl}\p{Zp}"%,;=\\]+$/u
const plainType = /^(?:[\w.+-]+\/[\w.+-]+)?$/

function isPlain({ field, file }: FormPart): boolean {
  return plainName.test(field) && (file === undefined || (plainName.test(file.name) && plainType.test(file.type)))
}

function writePart({ content, field, file }: FormPart): string {
  if (file === undefined) return `--form-string ${quoteForShell(`${field}=${content}`)}`
  const type = file.type === '' ? '' : `;type=${file.type}`
  return `--form ${quoteForShell(`${field}=;filename="${file.name}"${type}`)}`
}
