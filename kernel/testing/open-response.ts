import { Readable } from 'node:stream'
import type { Headers } from '../../lib/http/headers.ts'
import type { Request } from '../../lib/http/request.ts'
import { discard, type Response } from '../../lib/http/response.ts'
import type { HttpKernel } from '../http-kernel.ts'

/** A response that is read while it is created, such as a stream of server-sent events. The test has to close it. */
export class OpenResponse {
  readonly status: number
  readonly headers: Headers
  /** The request with the attributes that the kernel and its listeners have set. */
  readonly request: Request
  readonly #body: Readable
  readonly #chunks: AsyncIterator<string | Uint8Array>
  readonly #decoder = new TextDecoder()
  readonly #kernel: HttpKernel
  readonly #leave: () => void
  readonly #response: Response
  #text = ''
  #closing: Promise<void> | undefined

  /** `kernel` is the kernel that made the response; it dispatches `kernel.terminate` at the end. `leave` closes the connection. */
  constructor(request: Request, response: Response, kernel: HttpKernel, leave: () => void) {
    const { body, headers, status } = response
    this.status = status
    this.headers = headers
    this.request = request
    this.#body = body instanceof Readable ? body : Readable.from(body === null ? [] : [body])
    this.#chunks = this.#body[Symbol.asyncIterator]()
    this.#kernel = kernel
    this.#leave = leave
    this.#response = response
  }

  /** Reads until a text appears. Returns the new text up to and with it. @throws Error if the response ends before */
  async readUntil(wanted: string): Promise<string> {
    let end = this.#text.indexOf(wanted)
    while (end === -1) {
      const { done, value } = await this.#kernel.run(this.request, () => this.#chunks.next())
      if (done) throw new Error(`The response has ended without ${JSON.stringify(wanted)}. It said: ${this.#text}`)
      this.#text += typeof value === 'string' ? value : this.#decoder.decode(value, { stream: true })
      end = this.#text.indexOf(wanted)
    }
    const text = this.#text.slice(0, end + wanted.length)
    this.#text = this.#text.slice(text.length)
    return text
  }

  /** Closes the connection like a client that leaves, and waits for `kernel.terminate`. */
  close(): Promise<void> {
    this.#closing ??= this.#terminate()
    return this.#closing
  }

  async #terminate(): Promise<void> {
    const { errored, readableEnded } = this.#body
    if (!readableEnded) this.#leave()
    discard(this.#body)
    await this.#kernel.terminate(this.request, this.#response, readableEnded, errored ?? undefined)
  }
}
