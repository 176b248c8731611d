import { Writable } from 'node:stream'
import type { ReplyTarget } from '../server/to-node.ts'

type Callback = (error?: Error | null) => void

/** A target of responses whose bytes are the body of a response of the Fetch API, with back pressure. */
export class FetchReply extends Writable implements ReplyTarget {
  readonly req: { readonly method: string }
  /** Fulfilled with the head; rejected if the target is destroyed before. */
  readonly response: Promise<globalThis.Response>
  headersSent = false
  readonly #hasBody: boolean
  #head: { readonly status: number; readonly headers: globalThis.Headers } | undefined
  #settle: { resolve(response: globalThis.Response): void; reject(reason: unknown): void } | undefined
  #body: ReadableStreamDefaultController<Uint8Array> | undefined
  /** Whether the consumer waits for a chunk. */
  #isAsked = false
  #chunk: { readonly bytes: Uint8Array; readonly callback: Callback } | undefined
  #end: Callback | undefined

  /** `method` is that of the request. */
  constructor(method: string) {
    super()
    // The error is that of the response, or of its body.
    this.on('error', () => undefined)
    this.req = { method }
    this.#hasBody = method !== 'HEAD'
    this.response = new Promise((resolve, reject) => {
      this.#settle = { resolve, reject }
    })
    // The client may leave before the caller has the promise.
    this.response.catch(() => undefined)
  }

  writeHead(status: number, fields: readonly string[]): void {
    const headers = new globalThis.Headers()
    for (let at = 0; at < fields.length; at += 2) headers.append(fields[at] ?? '', fields[at + 1] ?? '')
    this.#head = { status, headers }
    this.headersSent = true
  }

  /** Fulfills the response, whose body follows. */
  flushHeaders(): void {
    if (!this.#hasBody || this.#body !== undefined) return
    const stream = new ReadableStream<Uint8Array>(
      {
        start: controller => {
          this.#body = controller
        },
        pull: () => {
          this.#isAsked = true
          this.#give()
        },
        cancel: () => void this.destroy(),
      },
      { highWaterMark: 0 },
    )
    this.#settle?.resolve(new globalThis.Response(stream, this.#head))
  }

  override _write(bytes: Uint8Array, _encoding: BufferEncoding, callback: Callback): void {
    if (!this.#hasBody || bytes.length === 0) {
      callback()
      return
    }
    this.flushHeaders()
    this.#chunk = { bytes, callback }
    this.#give()
  }

  override _final(callback: Callback): void {
    if (this.#body === undefined) {
      this.#settle?.resolve(new globalThis.Response(null, this.#head))
      callback()
      return
    }
    this.#end = callback
    this.#give()
  }

  override _destroy(error: Error | null, callback: Callback): void {
    const reason = error ?? new DOMException('The response was not sent.', 'AbortError')
    // Both do nothing after the end.
    this.#settle?.reject(reason)
    this.#body?.error(reason)
    callback(error)
  }

  /** Passes the next chunk to the consumer, if it has asked for one. */
  #give(): void {
    if (!this.#isAsked) return
    const chunk = this.#chunk
    const end = this.#end
    this.#isAsked = false
    this.#chunk = undefined
    this.#end = undefined
    if (chunk !== undefined) {
      this.#body?.enqueue(chunk.bytes)
      chunk.callback()
    } else if (end !== undefined) {
      this.#body?.close()
      end()
    } else this.#isAsked = true
  }
}
