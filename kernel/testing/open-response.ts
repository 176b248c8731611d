import { Readable } from 'node:stream'
import type { Headers } from '../../lib/http/headers.ts'
import type { Request } from '../../lib/http/request.ts'
import { discard, type Response } from '../../lib/http/response.ts'
import type { HttpKernel } from '../http-kernel.ts'

/** A response that is read while it is being made, such as a stream of server-sent events. Close it: nothing else will. */
export class OpenResponse {
  readonly status: number
  readonly headers: Headers
  /** The request as the kernel has seen it, with its attributes. */
  readonly request: Request
  readonly #body: Readable
  readonly #chunks: AsyncIterator<string | Uint8Array>
  readonly #decoder = new TextDecoder()
  readonly #kernel: HttpKernel
  readonly #response: Response
  #text = ''
  #closing: Promise<void> | undefined

  /** The kernel has made the response, and learns when it is over. */
  constructor(request: Request, response: Response, kernel: HttpKernel) {
    const { body, headers, status } = response
    this.status = status
    this.headers = headers
    this.request = request
    this.#body = body instanceof Readable ? body : Readable.from(body === null ? [] : [body])
    this.#chunks = this.#body[Symbol.asyncIterator]()
    this.#kernel = kernel
    this.#response = response
  }

  /** Reads on until a text is there; gives what was not given before, with the text at its end. @throws Error when it ends first */
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

  /** Leaves, as a client that closes its connection; `kernel.terminate` is over when it returns. */
  close(): Promise<void> {
    this.#closing ??= this.#terminate()
    return this.#closing
  }

  async #terminate(): Promise<void> {
    const { errored, readableEnded } = this.#body
    discard(this.#body)
    await this.#kernel.terminate(this.request, this.#response, readableEnded, errored ?? undefined)
  }
}
