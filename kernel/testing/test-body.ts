import { randomBytes } from 'node:crypto'
import { Readable } from 'node:stream'
import type { BodySource } from '../../lib/body/body-source.ts'
import { encodeMultipart, type MultipartPart } from '../../lib/body/multipart.ts'

/** The body of a test's request: at most one of these. */
export interface TestBody {
  /** Text or bytes; a stream is sent in chunks, without a length. */
  readonly body?: string | Uint8Array | Readable
  readonly json?: unknown
  /** A form with fields. A field with a list of values is repeated. */
  readonly form?: Readonly<Record<string, string | readonly string[]>>
  /** A form with fields and files. */
  readonly upload?: MultipartFields
}

const kinds = ['body', 'json', 'form', 'upload'] as const

/** Encodes a body, by default with the type that suits it; `undefined` without a body. @throws TypeError for two bodies */
export function encodeBody(init: TestBody, contentType: string | null): BodySource | undefined {
  const given = kinds.filter(kind => init[kind] !== undefined)
  if (given.length > 1) throw new TypeError(`A request has one body: give either ${given.join(' or ')}.`)
  const { body, form, json, upload } = init
  if (json !== undefined) return toSource(JSON.stringify(json), contentType ?? 'application/json')
  if (form !== undefined) return toSource(encodeForm(form), contentType ?? 'application/x-www-form-urlencoded')
  if (upload !== undefined) {
    const encoded = encodeUpload(upload)
    return toSource(encoded.body, contentType ?? encoded.contentType)
  }
  if (body === undefined) return undefined
  const type = contentType ?? 'application/octet-stream'
  return body instanceof Readable ? { stream: Readable.from(toBytes(body)), contentType: type } : toSource(body, type)
}

/** A connection gives bytes; streams of tests usually give text. */
async function* toBytes(stream: Readable): AsyncGenerator<Buffer> {
  for await (const chunk of stream) yield Buffer.from(chunk)
}

function toSource(content: string | Uint8Array, contentType: string): BodySource {
  const bytes = Buffer.from(content)
  return { stream: Readable.from([bytes]), length: bytes.length, contentType }
}

function encodeForm(form: NonNullable<TestBody['form']>): string {
  const parameters = new URLSearchParams()
  for (const [name, values] of Object.entries(form)) {
    for (const value of [values].flat()) parameters.append(name, value)
  }
  return parameters.toString()
}

/** A file that a test uploads. */
export interface TestFile {
  readonly name: string
  /** The media type; that of binary data by default. */
  readonly type?: string
  readonly content: string | Uint8Array
}

/** Fields and files by name. A name with a list of values is repeated. */
export type MultipartFields = Readonly<Record<string, MultipartValue | readonly MultipartValue[]>>

type MultipartValue = string | TestFile

/** Encodes fields and files as a browser does (RFC 7578). */
export function encodeUpload(fields: MultipartFields): { body: Buffer; contentType: string } {
  const boundary = randomBytes(16).toString('hex')
  const parts = Object.entries(fields).flatMap(([field, value]) => [value].flat().map(one => toPart(field, one)))
  return { body: encodeMultipart(boundary, parts), contentType: `multipart/form-data; boundary=${boundary}` }
}

function toPart(field: string, value: MultipartValue): MultipartPart {
  return typeof value === 'string' ? { field, content: value } : { field, content: value.content, file: value }
}
