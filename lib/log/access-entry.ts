/** What equal requests have in common in the access log: all but the time, the id, the duration and the client. */
export class AccessKind {
  readonly method: string
  readonly path: string
  readonly route: string | undefined
  readonly status: number
  /** The message of a line, such as `GET /ferries/7 200`. */
  readonly message: string
  /** Whether all texts of the kind are plain. */
  readonly #isPlain: boolean
  #isUsed = false
  /** The text of a line between its time and the id of its request. */
  #start = ''
  /** The text of a line between the id of its request and the duration. */
  #middle = ''

  /** The path is masked. */
  constructor(method: string, path: string, route: string | undefined, status: number) {
    this.method = method
    this.path = path
    this.route = route
    this.status = status
    this.message = `${method} ${path} ${status}`
    // One test of all texts takes less than half of the time of three. The message has no other texts.
    this.#isPlain = plainText.test(method + path + (route ?? ''))
  }

  /** The line of a request as JSON; `undefined` if a text of it is not plain. The id of a request is always plain. */
  toLine(time: string, requestId: string, { bytes, client, ms }: AccessEntry): string | undefined {
    if (!this.#isPlain || !isPlainClient(client)) return undefined
    let start = this.#start
    let middle = this.#middle
    if (start === '') {
      const { message, method, path, route, status } = this
      const ofRoute = route === undefined ? '' : `,"route":"${route}"`
      start = `,"level":"info","channel":"access","message":"${message}","request_id":"`
      middle = `","context":{"method":"${method}","path":"${path}"${ofRoute},"status":${status},"ms":`
      if (this.#isUsed) this.#keep(start, middle)
      this.#isUsed = true
    }
    return `{"time":"${time}"${start}${requestId}${middle}${ms},"bytes":${bytes},"client":"${client}"}}\n`
  }

  /**
   * Keeps the parts for later lines, from the second line on: most requests of a route with
   * parameters have a kind of their own.
   */
  #keep(start: string, middle: string): void {
    this.#start = joinParts(start)
    this.#middle = joinParts(middle)
  }
}

/** The last client whose text is plain: a proxy, or a few clients, send most requests. */
let plainClient = ''

function isPlainClient(client: string): boolean {
  if (client !== plainClient && !plainText.test(client)) return false
  plainClient = client
  return true
}

/** Printable ASCII without the two characters that JSON escapes. */
const plainText = /^[ !#-[\]-~]*$/

/** V8 keeps a text as the parts of which it was made, and reads each of them again for each line. */
function joinParts(text: string): string {
  return Buffer.from(text, 'latin1').toString('latin1')
}

/** The facts of a line of the access log, whose response was sent. The numbers are finite. */
export class AccessEntry {
  readonly [name: string]: unknown
  readonly #kind: AccessKind
  readonly method: string
  readonly path: string
  readonly route: string | undefined
  readonly status: number
  readonly ms: number
  readonly bytes: number
  readonly client: string

  constructor(kind: AccessKind, ms: number, bytes: number, client: string) {
    this.#kind = kind
    this.method = kind.method
    this.path = kind.path
    this.route = kind.route
    this.status = kind.status
    this.ms = ms
    this.bytes = bytes
    this.client = client
  }

  /** The message of its line. */
  get message(): string {
    return this.#kind.message
  }

  /** The line of a request as JSON; `undefined` if a text of it is not plain. */
  toLine(time: string, requestId: string): string | undefined {
    return this.#kind.toLine(time, requestId, this)
  }
}
