import { encodeMultipart, parseParameters } from '../../../lib/body/multipart.ts'
import type { BodyData } from '../profile/exchange-data.ts'
import { type FormPart, readFormParts, serializeForm } from '../profile/form-body.ts'
import { formatText } from '../profile/format-value.ts'
import type { Profile } from '../profile/profile.ts'

/**
 * Writes the curl command that makes a recorded request again, an option a line. What was
 * masked stays masked, and has to be filled in by hand. Comments before the command say what it does not send.
 */
export function createCurl({ collectors, summary }: Pick<Profile, 'collectors' | 'summary'>): string {
  const { method, url } = summary
  const { request } = collectors
  const fields = (request?.headers ?? []).map(([name, value]): Field => [name, formatText(value)])
  const headers = fields.filter(isSendable)
  const body = createCurlBody(request?.body, method, contentTypeOf(headers))
  const isSent = ([name]: Field) => !ownHeaders.has(name.toLowerCase()) && !(body.setsType && isContentType(name))
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
  // A recorded text in a comment could end it.
  return `${remarks.map(remark => `# ${remark}\n`).join('')}${lines.join(' \\\n  ')}`
}

/** Writes what is known of an outgoing request as a curl command: neither headers nor bodies are recorded. */
export function createCallCurl({ method, url }: { readonly method: string; readonly url: string }): string {
  return [`curl ${writeMethod(method, false)}`.trim(), ...writeTarget(url), '--url', quoteForShell(url)].join(' ')
}

type Field = readonly [name: string, value: string]

/** curl sets them itself, rightly. */
const ownHeaders: ReadonlySet<string> = new Set(['host', 'connection', 'content-length', 'transfer-encoding', 'expect'])

/**
 * Whether it can be a header (RFC 9110, sections 5.1 and 5.5): curl sends a line feed as it is, and takes a header that
 * begins with `@` for the name of a file. What was cut cannot.
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

/** curl sends GET by itself, and POST once there is a body; to HEAD nobody must wait for one. */
function writeMethod(method: string, hasBody: boolean): string {
  if (method === 'HEAD') return '--head '
  return method === (hasBody ? 'POST' : 'GET') || method === '' ? '' : `--request ${quoteForShell(method)} `
}

/** The value of an option may begin with a dash. */
function writeAddress(url: string): string {
  return `${url.startsWith('-') ? '--url ' : ''}${quoteForShell(url)}`
}

/** Addresses are taken as they are: `[1-3]` is no range, `/../` no way up. */
function writeTarget(url: string): string[] {
  const hasDots = /\/(?:\.|%2e){1,2}(?:[/?#]|$)/i.test(url)
  return [...(/[[\]{}]/.test(url) ? ['--globoff'] : []), ...(hasDots ? ['--path-as-is'] : [])]
}

function writeHeader([name, value]: Field): string[] {
  if (name.toLowerCase() === 'accept-encoding') return ['--compressed']
  // Without a value it would be left away.
  return [`--header ${quoteForShell(value.trim() === '' ? `${name};` : `${name}: ${value}`, 'latin1')}`]
}

/** What a curl command sends, and what its comments say of it. */
interface CurlBody {
  readonly options: readonly string[]
  /** Sentences of our own, without a word that was recorded. */
  readonly remarks: readonly string[]
  /** Whether curl writes the header of the type, with a boundary of its own. */
  readonly setsType: boolean
}

/** Creates the options that send a recorded body; `contentType` is the header with its parameters. */
function createCurlBody(body: BodyData | undefined, method: string, contentType: string): CurlBody {
  if (body === undefined || method === 'HEAD') return createNone(body, 'With HEAD, curl sends no body.')
  const { files = [], form = [], json } = body
  if (json !== undefined) return { options: [writeData(String(JSON.stringify(json[0])))], remarks: [], setsType: false }
  const isMultipart = body.type === 'multipart/form-data' && form.length > 0
  if (isMultipart || files.length > 0) return createForm(readFormParts(body), contentType)
  if (form.length > 0) return { options: [writeData(serializeForm(form))], remarks: [], setsType: false }
  return createNone(body, 'The body is not recorded.')
}

function createNone(body: BodyData | undefined, remark: string): CurlBody {
  const isEmpty = body === undefined || body.length === 0
  return { options: [], remarks: isEmpty ? [] : [remark], setsType: false }
}

/** The option that never reads a file, whatever its value begins with. */
function writeData(text: string): string {
  return `--data-raw ${quoteForShell(text)}`
}

/**
 * Names of most forms are plain, and stand in an option each. Otherwise the body is written here: a name with `=`, say,
 * would become a value of curl, which can name a file to be sent.
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

/** A name that no option of curl reads as more than a name. */
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

/** A text that a shell takes for one word as it stands; `=` is not in it, as zsh expands a word that begins with it. */
const plain = /^[\w@%+:,./-]+$/

/** Characters that a terminal obeys, or that a reader does not see: a quoted text never contains one as it is. */
const unseen = { utf8: /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u, latin1: /[^\x20-\x7e]/ } as const

/**
 * Quotes a text as one word of a command line, by what POSIX has (Shell Command Language, section 2.2): dash, bash and
 * zsh read it alike. A text with unseen characters becomes a call of `printf`, with octal escapes. `latin1` is for texts
 * whose characters are bytes, such as values of headers. No argument of a command can contain a NUL: it is lost.
 */
export function quoteForShell(text: string, encoding: 'utf8' | 'latin1' = 'utf8'): string {
  if (plain.test(text)) return text
  if (!unseen[encoding].test(text)) return `'${text.replaceAll("'", "'\\''")}'`

  // A command substitution drops the line feeds at its end, so these follow it.
  let end = text.length
  while (text[end - 1] === '\n') end--
  const escaped = Array.from(text.slice(0, end), character => escapeCharacter(character, encoding)).join('')
  return `"$(printf %b '${escaped}')${text.slice(end)}"`
}

const escapes: ReadonlyMap<string, string> = new Map([
  ['\\', '\\\\'],
  ['\n', '\\n'],
  ['\r', '\\r'],
  ['\t', '\\t'],
])

/** An interactive shell expands `!` within double quotes, whatever stands around it. */
function escapeCharacter(character: string, encoding: 'utf8' | 'latin1'): string {
  const isWritten = !unseen[encoding].test(character) && !/['!\\]/.test(character)
  if (isWritten) return character
  return escapes.get(character) ?? Array.from(Buffer.from(character, encoding), toOctal).join('')
}

/** As `%b` of printf reads a byte. */
function toOctal(byte: number): string {
  return `\\0${byte.toString(8).padStart(3, '0')}`
}
