import { randomBytes } from 'node:crypto'

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
  const values = Object.entries(fields).flatMap(([field, value]) => [value].flat().map(one => [field, one] as const))
  const parts = values.flatMap(([field, value]) => [
    `--${boundary}\r\ncontent-disposition: form-data; name="${quote(field)}"${typeof value === 'string' ? '' : fileHeaders(value)}\r\n\r\n`,
    typeof value === 'string' ? value : value.content,
    '\r\n',
  ])
  const body = Buffer.concat([...parts, `--${boundary}--\r\n`].map(part => Buffer.from(part)))
  return { body, contentType: `multipart/form-data; boundary=${boundary}` }
}

function fileHeaders({ name, type }: TestFile): string {
  return `; filename="${quote(name)}"\r\ncontent-type: ${type ?? 'application/octet-stream'}`
}

function quote(text: string): string {
  return text.replace(/["\r\n]/g, mark => encodeURIComponent(mark))
}
