import { decodeUtf8 } from './decode-utf8.ts'
import { BODY_FORM_INVALID } from './errors.ts'
import { parseParameters } from './parse-parameters.ts'

/** What stands before the content of one part of a multipart form. */
export interface PartHead {
  readonly name: string
  /** Its presence, even empty, makes the part a file; text to show, never a path. */
  readonly fileName: string | undefined
  /** The content type that the client claims. */
  readonly type: string
}

/**
 * Parses the header lines of a part (RFC 7578, 4). A line that begins with a blank continues the line before it (RFC 5322,
 * 2.2.3).
 *
 * @throws BODY_FORM_INVALID BODY_TEXT_INVALID (400)
 */
export function parsePartHead(bytes: Uint8Array): PartHead {
  const headers = parseHeaders(decodeUtf8(bytes))
  const disposition = headers.get('content-disposition') ?? ''
  const parameters = /^form-data[ \t]*;/i.test(disposition) ? parseParameters(disposition) : undefined
  const name = parameters?.get('name')
  if (parameters === undefined || name === undefined) throw new BODY_FORM_INVALID(['a part has no name'])
  const fileName = decodeExtended(parameters.get('filename*')) ?? parameters.get('filename')
  return {
    name: unescapeName(name),
    fileName: fileName === undefined ? undefined : toFileName(unescapeName(fileName)),
    type: headers.get('content-type')?.toLowerCase() ?? 'text/plain',
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

/** RFC 8187; RFC 7578 forbids it in forms, some clients send it nevertheless, and no other name. */
function decodeExtended(value: string | undefined): string | undefined {
  try {
    return value === undefined ? undefined : decodeURIComponent(value.replace(/^utf-8'[^']*'/i, ''))
  } catch {
    throw new BODY_FORM_INVALID(['a file name has escaped bytes that are not UTF-8'])
  }
}

/** Undoes what browsers do to names, as the Fetch Standard says: they escape three characters, and nothing else. */
function unescapeName(name: string): string {
  return name.replace(/%(?:22|0D|0A)/g, escaped => String.fromCharCode(Number.parseInt(escaped.slice(1), 16)))
}

/** The last segment, whichever system the path is from, without control characters and marks that turn text round. */
function toFileName(sent: string): string {
  const visible = sent.replace(/[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu, '')
  const name = visible.slice(Math.max(visible.lastIndexOf('/'), visible.lastIndexOf('\\')) + 1)
  return name === '.' || name === '..' ? '' : name
}
