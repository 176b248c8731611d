/** A stream of the server, in place of `EventSource`. */
export class Stream {
  /** All streams that were opened, the last one at the end. */
  static opened: Stream[] = []
  readonly url: string
  readonly #listeners = new Map<string, (event: { readonly data: string }) => void>()
  isClosed = false

  constructor(url: string) {
    this.url = url
    Stream.opened.push(this)
  }

  addEventListener(type: string, listener: (event: { readonly data: string }) => void): void {
    this.#listeners.set(type, listener)
  }

  close(): void {
    this.isClosed = true
  }

  /** Sends an event, unless the stream is closed; an object is sent as JSON. */
  send(type: string, data: string | object = ''): void {
    if (!this.isClosed) this.#listeners.get(type)?.({ data: typeof data === 'string' ? data : JSON.stringify(data) })
  }
}
