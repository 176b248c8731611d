import { randomBytes } from 'node:crypto'
import { encodeMultipart as encodeParts, type MultipartPart } from '../../lib/body/multipart.ts'

/** A file that a test uploads. */
export interface TestFile {
  readonly name: string
  /** Binary unless told else. */
  readonly type?: string
  readonly content: string | Uint8Array
}

/** Fields and files by their names; one with a list of values comes several times. */
export type MultipartFields = Readonly<Record<string, MultipartValue | readonly MultipartValue[]>>

type MultipartValue = string | TestFile

/** Encodes fields and files as a browser does (RFC 7578). */
export function encodeMultipart(fields: MultipartFields): { body: Buffer; contentType: string } {
  const boundary = randomBytes(16).toString('hex')
  const parts = Object.entries(fields).flatMap(([field, value]) => [value].flat().map(one => toPart(field, one)))
  return { body: encodeParts(boundary, parts), contentType: `multipart/form-data; boundary=${boundary}` }
}

function toPart(field: string, value: MultipartValue): MultipartPart {
  return typeof value === 'string' ? { field, content: value } : { field, content: value.content, file: value }
}
