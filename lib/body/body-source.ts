import type { Readable } from 'node:stream'

/** Where a body comes from. */
export interface BodySource {
  /** A stream of bytes; it is never destroyed here, what remains unread is its owner's to drain. */
  readonly stream: Readable
  /** The declared length in bytes; absent for a chunked body. */
  readonly length?: number | undefined
  readonly contentType?: string | undefined
  readonly contentEncoding?: string | undefined
  /** Called before the first byte is read: the moment to answer `Expect: 100-continue`. */
  readonly onRead?: () => void
}
