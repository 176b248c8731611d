import { encodeMultipart, parseParameters } from '../../../lib/body/multipart.ts'
import { asList, asObjects } from '../reading/read-soft.ts'
import { type FormPart, readFormParts } from './form-parts.ts'
import { serializeForm } from './serialize-form.ts'
import { quoteForShell } from './shell-quote.ts'

/** What a curl command sends, and what its comments say of it. */
export interface CurlBody {
  readonly options: readonly string[]
  /** Sentences of our own, without a word that was recorded. */
  readonly remarks: readonly string[]
  /** Whether curl writes the header of the type, with a boundary of its own. */
  readonly setsType: boolean
}

type Data = Readonly<Record<string, unknown>>

/** Creates the options that send a recorded body; `contentType` is the header with its parameters. */
export function createCurlBody(body: Data, method: string, contentType: string): CurlBody {
  if (method === 'HEAD') return createNone(body, 'With HEAD, curl sends no body.')
  const json = asList(body.json)
  const form = asList(body.form)
  if (json.length > 0) return { options: [writeData(String(JSON.stringify(json[0])))], remarks: [], setsType: false }
  const isMultipart = body.type === 'multipart/form-data' && form.length > 0
  if (isMultipart || asObjects(body.files).length > 0) return createForm(readFormParts(body), contentType)
  if (form.length > 0) return { options: [writeData(serializeForm(form))], remarks: [], setsType: false }
  return createNone(body, 'The body was not kept.')
}

function createNone(body: Data, remark: string): CurlBody {
  const isEmpty = Object.keys(body).length === 0 || body.length === 0
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
      ? ['The content of files was not kept. They are sent empty.']
      : []),
    ...(parts.length < all.length ? ['Fields with a NUL character are left out. No argument can contain it.'] : []),
  ]
  if (parts.every(isPlain)) return { options: parts.map(writePart), remarks, setsType: true }
  const boundary = parseParameters(contentType)?.get('boundary')
  if (boundary !== undefined && /^[\x20-\x7e]+$/.test(boundary)) {
    return { options: [writeData(encodeMultipart(boundary, parts).toString())], remarks, setsType: false }
  }
  return { options: [], remarks: ['The form is left out. Its boundary was not kept.'], setsType: true }
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
