import { Duplex } from 'node:stream'
import type { Request } from '../../lib/http/request.ts'

/** The socket of the messages that a handler of node gets: it has the client of the request, and passes on the bytes of the body. */
export class HandlerSocket extends Duplex {
  readonly remoteAddress: string
  readonly encrypted: boolean
  readonly #take: (bytes: Buffer) => boolean
  #hasHead = false
  #callback: (() => void) | undefined

  /** `take` returns `false` when it wants no more bytes until `release`. */
  constructor({ clientIp, scheme }: Request, take: (bytes: Buffer) => boolean) {
    super({ read: () => undefined })
    this.remoteAddress = clientIp
    this.encrypted = scheme === 'https'
    this.#take = take
    this.on('error', () => undefined)
  }

  /** Accepts more bytes. */
  release(): void {
    const callback = this.#callback
    this.#callback = undefined
    callback?.()
  }

  override _write(bytes: Buffer, _encoding: BufferEncoding, callback: () => void): void {
    const content = this.#skipHead(bytes)
    if (content.length === 0 || this.#take(content)) callback()
    else this.#callback = callback
  }

  /** The head is known already. Node writes it at once, alone or with the first bytes of the body. */
  #skipHead(bytes: Buffer): Buffer {
    if (this.#hasHead) return bytes
    this.#hasHead = true
    return bytes.subarray(bytes.indexOf('\r\n\r\n') + 4)
  }

  // The time limits of the connection are those of the server.
  setTimeout(): this {
    return this
  }

  setNoDelay(): this {
    return this
  }

  setKeepAlive(): this {
    return this
  }

  ref(): this {
    return this
  }

  unref(): this {
    return this
  }
}
