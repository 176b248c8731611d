import type { MaskingCopier } from '../../../lib/redact/masking-copier.ts'
import type { MessageData } from '../profile/content-data.ts'
import { copyHeaders } from './collectors/copy.ts'
import { type ContentCopier, contentLimit, isText } from './content.ts'

/** Bytes of the bodies of all calls of a request. */
const bytesLimit = 192 * 1024

/** The bytes that the calls of a request may still keep. */
export interface KeptBytes {
  left: number
}

/** Creates the allowance of the calls of one request. */
export function createAllowance(): KeptBytes {
  return { left: bytesLimit }
}

/** A request or a response of an HTTP client call: its headers, and the beginning of its body as it passes. */
export class CallMessage {
  /** Names and values in turn. */
  readonly #headers: readonly string[]
  readonly #type: string
  readonly #kept: KeptBytes
  readonly #chunks: Buffer[] = []
  #size = 0
  #length = 0

  constructor(headers: readonly string[], kept: KeptBytes) {
    this.#headers = headers
    this.#kept = kept
    this.#type = this.#find('content-type')
  }

  /** Copies a chunk of the body, if it is text and within the limits. Another reader gets the chunk itself. */
  take(chunk: unknown): void {
    if (!(chunk instanceof Uint8Array || typeof chunk === 'string')) return
    this.#size += Buffer.byteLength(chunk)
    const room = Math.min(contentLimit - this.#length, this.#kept.left)
    if (room <= 0 || !isText(mediaTypeOf(this.#type))) return
    // Only the part that is kept is copied: a chunk may be a whole file.
    const bytes = typeof chunk === 'string' ? toBytes(chunk, room) : Buffer.from(chunk.subarray(0, room))
    this.#chunks.push(bytes)
    this.#length += bytes.length
    this.#kept.left -= bytes.length
  }

  /** The masked data of the message. */
  describe(copier: MaskingCopier, contents: ContentCopier): MessageData {
    const headers = copyHeaders({ toRaw: () => this.#headers }, copier)
    const content = contents.copy({
      body: Buffer.concat(this.#chunks),
      type: this.#type,
      encoding: this.#find('content-encoding'),
      whole: this.#size,
    })
    return content === undefined ? { headers } : { headers, content }
  }

  #find(wanted: string): string {
    const index = this.#headers.findIndex((name, index) => index % 2 === 0 && name.toLowerCase() === wanted)
    return index === -1 ? '' : (this.#headers[index + 1] ?? '')
  }
}

function toBytes(text: string, limit: number): Buffer {
  return Buffer.from(text.slice(0, limit)).subarray(0, limit)
}

function mediaTypeOf(header: string): string {
  return header.split(';', 1).join().trim().toLowerCase()
}

/** The headers of a request as undici sends it: the first line is not one. */
export function parseSentHeaders(head: unknown): string[] {
  const lines = String(head).split('\r\n').slice(1)
  return lines.flatMap(line => {
    const at = line.indexOf(':')
    return at === -1 ? [] : [line.slice(0, at), line.slice(at + 1).trim()]
  })
}

/** Headers as a list of names and values in turn, which may be bytes. */
export function toTexts(headers: readonly unknown[]): string[] {
  return headers.map(String)
}

/** Headers of node:http as a list of names and values in turn. */
export function flattenHeaders(headers: Readonly<Record<string, unknown>>): string[] {
  return Object.entries(headers).flatMap(([name, value]) => [value].flat().flatMap(each => [name, String(each)]))
}
