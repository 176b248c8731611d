import { flattenError } from '../../../lib/errors/flat-error.ts'
import { roundTime } from '../profile/format.ts'

/** What is known of an outgoing request when it begins. */
export interface CallStart {
  /** Who sends it. */
  readonly client: 'fetch' | 'node:http'
  readonly method: string
  readonly url: string
}

/** What can be known of its response when its head is there. */
export interface CallHead {
  readonly status: number
  /** The length of the body as the response announces it. */
  readonly length: number | undefined
}

/** What carries a request, as far as it is looked at; a node socket is one. */
export interface Carrier {
  readonly bytesRead: number
}

/** Whom a request is sent for. */
export interface CallOwner {
  /** Milliseconds since it began. */
  elapsed(): number
  /** Something of its request is known now. */
  touch(): void
}

/** One outgoing request while it runs. Times are in milliseconds from the start of the request. */
export class OutgoingCall implements CallStart {
  readonly client: CallStart['client']
  readonly method: string
  readonly url: string
  readonly start: number
  /** When a connection took it. */
  sent: number | undefined
  /** When all of it was handed over, its body too. */
  uploaded: number | undefined
  /** When the head of the response was there. */
  head: number | undefined
  /** When the response was over, or the request had failed. */
  end: number | undefined
  status: number | undefined
  /** The length of the body as announced, else what was received for it in all. */
  bytes: number | undefined
  /** Whether the bytes were counted on the wire, with the head of the response. */
  isCounted: true | undefined
  error: string | undefined
  /** Has the stack of whoever made the request; its text is costly, and made when it is read. */
  readonly origin: Error
  readonly #owner: CallOwner
  #carrier: Carrier | null | undefined
  #bytesBefore = 0

  constructor({ client, method, url }: CallStart, origin: Error, owner: CallOwner) {
    this.client = client
    this.method = method
    this.url = url
    this.origin = origin
    this.#owner = owner
    this.start = this.#time()
  }

  /** A connection has taken it. */
  send(carrier: Carrier | null | undefined): void {
    this.sent = this.#time()
    this.#carrier = carrier
    this.#bytesBefore = carrier?.bytesRead ?? 0
  }

  /** All of it is sent. */
  upload(): void {
    this.uploaded = this.#time()
  }

  /** The head of the response is there; the last one counts, others only say that it will come. */
  receiveHead({ status, length }: CallHead): void {
    this.head = this.#time()
    this.status = status
    const hasBody = this.method !== 'HEAD' && status !== 204 && status !== 304
    this.bytes = hasBody ? length : undefined
  }

  /** The response is over. */
  finish(): void {
    this.#end()
    if (this.bytes !== undefined || !this.#carrier) return
    this.bytes = this.#carrier.bytesRead - this.#bytesBefore
    this.isCounted = true
    this.#carrier = undefined
  }

  fail(error: unknown): void {
    this.#end()
    const { code, message, name } = flattenError(error, { hasFrames: false })
    // Several attempts to connect that have failed together have a code only.
    this.error ??= message || String(code ?? name)
  }

  #end(): void {
    this.end ??= this.#time()
    this.#owner.touch()
  }

  #time(): number {
    return roundTime(this.#owner.elapsed())
  }
}

const callLimit = 200

/** The outgoing requests of one trace, in the order in which they began. */
export class CallTrace {
  readonly calls: OutgoingCall[] = []
  /** How many there were in all; more than 200 are only counted. */
  count = 0

  /** Takes note of a request; `undefined` when there are too many. */
  begin(start: CallStart, captureOrigin: () => Error, owner: CallOwner): OutgoingCall | undefined {
    this.count++
    if (this.calls.length === callLimit) return undefined
    const call = new OutgoingCall(start, captureOrigin(), owner)
    this.calls.push(call)
    owner.touch()
    return call
  }
}
