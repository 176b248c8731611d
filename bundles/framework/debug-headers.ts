import type { Headers } from '../../lib/http/headers.ts'
import { parseStack } from '../../lib/stack/stack-frames.ts'

const byteLimit = 2000

/** Names an error in the headers of its response: the message, and the place where it was thrown. */
export function addDebugHeaders(headers: Headers, error: unknown, message: string): void {
  headers.set('x-debug-exception', encode(cut(message)))
  const frame = parseStack(error)[0]
  if (frame?.file !== undefined) headers.set('x-debug-exception-file', `${encode(frame.file)}:${frame.line}`)
}

/** Cuts a text to a number of UTF-8 bytes, between two characters. */
function cut(text: string): string {
  const bytes = Buffer.from(text.toWellFormed())
  return bytes.length <= byteLimit
    ? bytes.toString()
    : new TextDecoder().decode(bytes.subarray(0, byteLimit), { stream: true })
}

/** Percent-encodes all but the unreserved characters of RFC 3986, section 2.3: JavaScript leaves five more alone. */
function encode(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, mark => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`)
}
