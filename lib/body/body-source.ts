import { finished, Readable } from 'node:stream'
import { BODY_CHARSET_UNSUPPORTED, BODY_TEXT_INVALID, BODY_TOO_LARGE, BODY_TRUNCATED } from './errors.ts'

/** The source of a body. */
export interface BodySource {
  /** A stream of bytes. It is never destroyed here: its owner drains the rest. */
  readonly stream: Readable | DirectStream
  /** The declared length in bytes. Absent for a chunked body. */
  readonly length?: number | undefined
  readonly contentType?: string | undefined
  readonly contentEncoding?: string | undefined
  /** Called before the first byte is read: the moment to answer `Expect: 100-continue`. */
  readonly onRead?: () => void
}

/** A stream that can pass its bytes on without the events of a stream, which cost more than a small body. */
export interface DirectStream extends Readable {
  /** Passes the bytes to a reader from now on. Returns `false` if a part of them was read, or waits, already. */
  passTo(reader: BodyReader): boolean
  /** Ends that: later bytes wait in the stream. */
  stopPassing(): void
}

/** Reads a body to its end. After `end` or `fail`, nothing is called. */
export interface BodyReader {
  take(chunk: Uint8Array): void
  end(): void
  /** The stream was destroyed, maybe with an error. */
  fail(cause: unknown): void
}

/** The limits of a body. */
export interface BodyLimits {
  /** Bytes in memory: a whole body, or all text fields of a multipart form together. */
  readonly bytes: number
  /** Bytes of a whole multipart form, its files included. */
  readonly multipartBytes: number
  /** Text fields of a form. */
  readonly fields: number
  /** Files of a multipart form. */
  readonly files: number
  /** Levels of nesting in JSON; a plain value has none. */
  readonly jsonDepth: number
}

/** The limits by default. */
export const defaultBodyLimits: BodyLimits = {
  bytes: 1024 ** 2,
  multipartBytes: 10 * 1024 ** 2,
  fields: 1000,
  files: 100,
  jsonDepth: 64,
}

/**
 * Reads a body into memory. `note` gets the bytes before the promise is fulfilled.
 * @throws BODY_TOO_LARGE (413) BODY_TRUNCATED (400), as {@link readStream} does
 */
export function collectBytes(
  source: BodySource,
  limit: number,
  note: (bytes: Uint8Array) => void = ignore,
): Promise<Uint8Array> {
  const { length = 0, onRead, stream } = source
  const content = new ByteCollector(length)
  return new Promise((resolve, reject) => {
    if (length > limit) return reject(new BODY_TOO_LARGE([limit]))
    const finish = () => {
      const bytes = content.take()
      note(bytes)
      resolve(bytes)
    }
    const reader: BodyReader = {
      take(chunk) {
        if (content.length + chunk.length <= limit) return content.append(chunk)
        ;(stream as DirectStream).stopPassing()
        reject(new BODY_TOO_LARGE([limit]))
      },
      end() {
        if (content.length < length) reject(new BODY_TRUNCATED([]))
        else finish()
      },
      fail: cause => reject(new BODY_TRUNCATED([], { cause })),
    }
    if ('passTo' in stream && stream.passTo(reader)) onRead?.()
    else {
      const take = (chunk: Uint8Array) => void content.append(chunk)
      readStream(source, limit, take).then(finish, reject)
    }
  })
}

/**
 * Passes the chunks of a body to `take`, one after the other, and resolves at the end of the body.
 * A promise from `take` pauses the stream until it is fulfilled. When this promise settles, no
 * `take` runs, and the stream is paused and not destroyed.
 * @throws BODY_TOO_LARGE (413) if the declared length exceeds `limit` bytes, or as soon as the chunks do
 * @throws BODY_TRUNCATED (400) if the stream fails, closes early, or ends before its declared length
 */
export function readStream(
  { stream, length = 0, onRead }: BodySource,
  limit: number,
  take: (chunk: Uint8Array) => Promise<void> | undefined,
): Promise<void> {
  return new Promise((resolve, reject) => {
    if (length > limit) return reject(new BODY_TOO_LARGE([limit]))
    // Another reader has read the beginning.
    if (stream.readableDidRead) return reject(new BODY_TRUNCATED([]))

    let count = 0
    let isSettled = false
    let taking: Promise<void> | undefined
    const settle = (conclude: () => void, onTakingFailed: (reason: unknown) => void = conclude) => {
      isSettled = true
      stream.off('data', onData)
      stream.pause()
      cleanUp()
      if (taking === undefined) conclude()
      else taking.then(conclude, onTakingFailed)
    }
    const fail = (reason: unknown) => settle(() => reject(reason))
    const onData = (chunk: Uint8Array) => {
      count += chunk.length
      if (count > limit) return fail(new BODY_TOO_LARGE([limit]))
      taking = take(chunk)
      if (taking === undefined) return
      stream.pause()
      taking.then(() => {
        taking = undefined
        if (!isSettled) stream.resume()
      }, fail)
    }
    // A stream that is not read to its end may fail later. An error without a listener would end the process.
    stream.on('error', ignore)
    const cleanUp = finished(stream, { writable: false }, cause => {
      if (cause) fail(new BODY_TRUNCATED([], { cause }))
      else if (count < length) fail(new BODY_TRUNCATED([]))
      // The stream may end while its last chunk is still being taken.
      else settle(resolve, reject)
    })
    onRead?.()
    stream.on('data', onData)
  })
}

/**
 * A stream of a body within a limit, with back pressure: its source is read only as fast as the stream. Nothing is read
 * before the first read. It fails with BODY_TOO_LARGE (413) or BODY_TRUNCATED (400), as {@link readStream} does. The
 * source is paused and not destroyed if the stream is destroyed.
 */
export function limitStream({ stream, length = 0, onRead }: BodySource, limit: number): Readable {
  let count = 0
  let cleanUp: (() => void) | undefined
  const onData = (chunk: Uint8Array) => {
    count += chunk.length
    if (count > limit) limited.destroy(new BODY_TOO_LARGE([limit]))
    else if (!limited.push(chunk)) stream.pause()
  }
  const begin = () => {
    // A stream that is not read to its end may fail later. An error without a listener would end the process.
    stream.on('error', ignore)
    cleanUp = finished(stream, { writable: false }, cause => {
      if (cause) limited.destroy(new BODY_TRUNCATED([], { cause }))
      else if (count < length) limited.destroy(new BODY_TRUNCATED([]))
      else limited.push(null)
    })
    onRead?.()
    stream.on('data', onData)
    // It may have been paused before.
    stream.resume()
  }
  const limited = new Readable({
    read() {
      if (cleanUp === undefined) begin()
      else stream.resume()
    },
    destroy(error, callback) {
      cleanUp?.()
      stream.off('data', onData)
      stream.pause()
      callback(error)
    },
  })
  // Its reader may have left.
  limited.on('error', ignore)
  return limited
}

function ignore(): void {}

/** Joins chunks of bytes. Many tiny chunks need no more memory than a few large ones. */
export class ByteCollector {
  readonly #expected: number
  #bytes: Uint8Array = empty
  #length = 0

  /** `expected` is the number of bytes that a client has declared; 0 if it is not known. */
  constructor(expected = 0) {
    this.#expected = expected
  }

  /** The number of collected bytes. */
  get length(): number {
    return this.#length
  }

  append(piece: Uint8Array): void {
    const length = this.#length + piece.length
    // Most bodies come in one piece.
    if (this.#length === 0) this.#bytes = piece
    else {
      if (length > this.#bytes.length) this.#grow(length)
      this.#bytes.set(piece, this.#length)
    }
    this.#length = length
  }

  /** A client may declare much and send little, so the memory grows with what it has sent. */
  #grow(length: number): void {
    const { length: before } = this.#bytes
    const room = this.#expected > before ? Math.min(this.#expected, 8 * before) : 2 * before
    const larger = Buffer.allocUnsafeSlow(Math.max(length, room))
    larger.set(this.#bytes.subarray(0, this.#length))
    this.#bytes = larger
  }

  /** Returns the collected bytes and starts again from empty. */
  take(): Uint8Array {
    const taken = this.#bytes.subarray(0, this.#length)
    this.#bytes = empty
    this.#length = 0
    return taken
  }
}

const empty = Buffer.alloc(0)

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Text in UTF-16 has NUL characters, and text in ISO 2022 has escapes: their bytes may be UTF-8 by accident. */
function isOtherText(text: string): boolean {
  return text.includes('\0') || text.includes('\x1b')
}

/**
 * Decodes UTF-8 strictly. A byte order mark stays. Text is read as UTF-8 also if the client names another charset by
 * mistake: `charset` is for the error then.
 *
 * @throws BODY_TEXT_INVALID (400), or BODY_CHARSET_UNSUPPORTED (415) with a charset
 */
export function decodeUtf8(bytes: Uint8Array, charset?: string): string {
  try {
    const text = decoder.decode(bytes)
    if (charset === undefined || !isOtherText(text)) return text
  } catch {
    if (charset === undefined) throw new BODY_TEXT_INVALID([])
  }
  throw new BODY_CHARSET_UNSUPPORTED([charset])
}
