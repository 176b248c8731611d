import { BODY_FORM_INVALID } from './errors.ts'
import { type PartHead, parsePartHead } from './part-head.ts'

/** What becomes known of a form as it comes in; each part is a head, any number of pieces of content, and an end. */
export type PartEvent =
  | { readonly kind: 'head'; readonly head: PartHead }
  | { readonly kind: 'content'; readonly bytes: Uint8Array }
  | { readonly kind: 'end'; readonly head: PartHead }

/** Of the header lines of one part, in bytes. */
const headLimit = 8 * 1024

/**
 * Splits the bytes of a multipart form into its parts, wherever the chunks are cut (RFC 2046, 5.1.1). It is strict:
 * nothing is skipped or repaired, except that text before the first and after the last delimiter does not count.
 */
export class MultipartSplitter {
  readonly #delimiter: Buffer
  #state: 'content' | 'delimiter' | 'padding' | 'head' | 'epilogue' = 'content'
  /** Of the part whose content comes; there is none for the text before the first delimiter. */
  #head: PartHead | undefined
  /** What cannot be understood before more is there. The first delimiter has no line break before it: here it is. */
  #rest: Buffer = lineBreak

  constructor(boundary: string) {
    this.#delimiter = Buffer.from(`\r\n--${boundary}`, 'latin1')
  }

  /** Whether the last delimiter was seen. */
  get isComplete(): boolean {
    return this.#state === 'epilogue'
  }

  /** Yields what the next chunk completes. @throws BODY_FORM_INVALID BODY_TEXT_INVALID (400) */
  *push(chunk: Uint8Array): Generator<PartEvent> {
    if (this.isComplete) return
    this.#rest = Buffer.concat([this.#rest, chunk])
    let hasMore = true
    while (hasMore && !this.isComplete) {
      if (this.#state === 'delimiter') hasMore = this.#endDelimiter()
      else if (this.#state === 'padding') hasMore = this.#endLine()
      else if (this.#state === 'head') hasMore = yield* this.#readHead()
      else hasMore = yield* this.#readContent()
    }
  }

  *#readContent(): Generator<PartEvent, boolean> {
    const at = this.#rest.indexOf(this.#delimiter)
    // The end of what is there may be the beginning of a delimiter.
    const bytes = this.#take(at === -1 ? Math.max(0, this.#rest.length - this.#delimiter.length + 1) : at)
    if (this.#head !== undefined && bytes.length > 0) yield { kind: 'content', bytes }
    if (at === -1) return false
    if (this.#head !== undefined) yield { kind: 'end', head: this.#head }
    this.#take(this.#delimiter.length)
    this.#state = 'delimiter'
    return true
  }

  #endDelimiter(): boolean {
    if (this.#rest.length < 2) return false
    this.#state = this.#rest[0] === hyphen && this.#rest[1] === hyphen ? 'epilogue' : 'padding'
    return true
  }

  /** A mail system may add blanks after a boundary, and a receiver has to accept them. */
  #endLine(): boolean {
    let blanks = 0
    while (this.#rest[blanks] === space || this.#rest[blanks] === tab) blanks++
    this.#take(blanks)
    if (this.#rest.length < 2) return false
    if (this.#take(2).compare(lineBreak) !== 0)
      throw new BODY_FORM_INVALID(['a boundary is followed by neither CRLF nor --'])
    this.#state = 'head'
    return true
  }

  *#readHead(): Generator<PartEvent, boolean> {
    const at = this.#rest.indexOf('\r\n\r\n')
    if ((at === -1 ? this.#rest.length - 4 : at) > headLimit) {
      throw new BODY_FORM_INVALID([`the headers of a part are larger than ${headLimit} bytes`])
    }
    if (at === -1) return false
    this.#head = parsePartHead(this.#take(at))
    this.#take(4)
    yield { kind: 'head', head: this.#head }
    this.#state = 'content'
    return true
  }

  #take(length: number): Buffer {
    const taken = this.#rest.subarray(0, length)
    this.#rest = this.#rest.subarray(length)
    return taken
  }
}

const lineBreak = Buffer.from('\r\n')
const hyphen = 0x2d
const space = 0x20
const tab = 0x09
