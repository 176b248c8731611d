import type { CallSocket, CallStart, CallWork } from '../../../../kernel/contracts/calls.ts'
import { parseTraceParent } from '../../../../kernel/contracts/trace-context.ts'
import { flattenError } from '../../../../lib/errors/flat-error.ts'
import { mediaTypeOf } from '../../../../lib/http/media-type.ts'
import type { MaskingCopier } from '../../../../lib/redact/masking-copier.ts'
import type { Caller } from '../../../../lib/stack/callers.ts'
import type { MessageData } from '../../profile/content.ts'
import { roundTime } from '../../profile/format.ts'
import { type ContentCopier, contentLimit, copyHeaders, isText } from '../../record/copy.ts'
import { MoreWorkCounter } from '../../record/more-work.ts'
import { TracePart, type WorkOwner } from '../../record/trace.ts'

/** What is recorded of a call at its beginning. */
type TracedStart = Omit<CallStart, 'addHeaders'>

/** One HTTP client call while it runs. Times are in milliseconds since the request began. */
export class TracedCall implements CallWork {
  readonly client: CallStart['client']
  readonly method: string
  readonly url: string
  readonly start: number
  /** When it was assigned to a connection. */
  sent: number | undefined
  /** The id of the span that the call names as the parent of the work for it. */
  spanId: string | undefined
  /** When all of it was sent, including the body. */
  uploaded: number | undefined
  /** When the head of the response was received. */
  head: number | undefined
  /** When the response ended, or the call failed. */
  end: number | undefined
  status: number | undefined
  /** The announced length of the response body, else the bytes that were received. */
  bytes: number | undefined
  /** Whether the bytes were counted on the connection, which includes the head of the response. */
  isCounted: true | undefined
  error: string | undefined
  /** Whether neither a signal nor a timeout of it was seen. */
  isUnlimited: true | undefined
  /** Whether its caller has aborted it. */
  isAborted: true | undefined
  readonly signal: AbortSignal | undefined
  readonly caller: Caller | undefined
  /** The field of GraphQL whose resolver makes it. */
  field: string | undefined
  /** The request as it was sent, and the response. */
  sentMessage: CallMessage | undefined
  receivedMessage: CallMessage | undefined
  readonly #owner: WorkOwner
  readonly #kept: KeptBytes
  /** Of a call over the limit: it is only counted and timed, unless it turns out bad. */
  readonly #more: CallTrace | undefined
  #isListed: boolean
  #socket: CallSocket | null | undefined
  #bytesBefore = 0

  constructor(
    { client, isUnlimited, method, signal, url }: TracedStart,
    caller: Caller | undefined,
    owner: WorkOwner,
    kept: KeptBytes,
    more?: CallTrace,
  ) {
    this.#more = more
    this.#isListed = more === undefined
    this.#kept = kept
    this.client = client
    this.method = method
    this.url = url
    this.isUnlimited = isUnlimited
    this.signal = signal
    this.caller = caller
    this.#owner = owner
    this.start = this.#time()
  }

  noteSent(headers: readonly string[]): void {
    this.spanId = parseTraceParent(findHeader(headers, 'traceparent'))?.parentId
    if (this.#more === undefined) this.sentMessage = new CallMessage(headers, this.#kept)
  }

  takeSent(chunk: unknown): void {
    this.sentMessage?.take(chunk)
  }

  noteUnlimited(): void {
    this.isUnlimited = true
  }

  send(socket: CallSocket | null | undefined): void {
    this.sent = this.#time()
    this.#socket = socket
    this.#bytesBefore = socket?.bytesRead ?? 0
  }

  upload(): void {
    this.uploaded = this.#time()
  }

  noteReceived(status: number, headers: readonly unknown[]): void {
    const texts = headers.map(String)
    if (this.#more === undefined) this.receivedMessage = new CallMessage(texts, this.#kept)
    this.head = this.#time()
    this.status = status
    const hasBody = this.method !== 'HEAD' && status !== 204 && status !== 304
    const length = hasBody ? findHeader(texts, 'content-length') : ''
    this.bytes = length === '' ? undefined : Number(length)
    if (status >= 400) this.#list()
  }

  takeReceived(chunk: unknown): void {
    this.receivedMessage?.take(chunk)
  }

  finish(): void {
    this.#end(false)
    if (this.bytes !== undefined || !this.#socket) return
    this.bytes = this.#socket.bytesRead - this.#bytesBefore
    this.isCounted = true
    this.#socket = undefined
  }

  fail(error: unknown, isAborted = false): void {
    this.#end(true)
    if (this.error !== undefined) return
    const { code, message, name } = flattenError(error, { hasFrames: false })
    // An error of several failed attempts to connect has a code only.
    this.error = message || String(code ?? name)
    const isReason = this.signal?.aborted === true && this.signal.reason === error
    if (isAborted || isReason || name === 'AbortError' || name === 'TimeoutError') this.isAborted = true
  }

  #end(hasFailed: boolean): void {
    if (this.end === undefined) {
      this.end = this.#time()
      if (hasFailed) this.#list()
      // An answer that is an error of the server counts as failed everywhere.
      if (!this.#isListed) this.#more?.more.add(this.start, this.end, hasFailed || (this.status ?? 0) >= 500)
    }
    this.#owner.touch()
  }

  #list(): void {
    this.#isListed ||= this.#more?.list(this) === true
  }

  #time(): number {
    return roundTime(this.#owner.elapsed())
  }
}

const callLimit = 200

/** Over the limit, so many calls that failed or were answered with an error have details, too. */
const badLimit = 50

/** The HTTP client calls of one request, in the order in which they began. */
export class CallTrace {
  readonly calls: TracedCall[] = []
  /** The number of all calls; after 200 only bad ones are recorded, and others counted and timed. */
  count = 0
  readonly more = new MoreWorkCounter()
  readonly #kept = createAllowance()

  /** Records a call. When there are too many, the call has no place, and nothing of it is kept but its time. */
  begin(start: TracedStart, findCaller: () => Caller | undefined, owner: WorkOwner, field?: string): TracedCall {
    this.count++
    if (this.calls.length >= callLimit) return new TracedCall(start, undefined, owner, this.#kept, this)
    const call = new TracedCall(start, findCaller(), owner, this.#kept)
    call.field = field
    this.calls.push(call)
    owner.touch()
    return call
  }

  /** Records a call over the limit at the place of its start. Returns whether there was room for it. */
  list(call: TracedCall): boolean {
    if (this.calls.length >= callLimit + badLimit) return false
    this.calls.splice(this.calls.findLastIndex(({ start }) => start <= call.start) + 1, 0, call)
    return true
  }
}

/** The HTTP client calls of a trace. */
export const callPart: TracePart<CallTrace> = new TracePart(() => new CallTrace())

/** Bytes of the bodies of all calls of a request. */
const bytesLimit = 192 * 1024

/** The bytes that the calls of a request may still keep. */
interface KeptBytes {
  left: number
}

/** Creates the allowance of the calls of one request. */
export function createAllowance(): KeptBytes {
  return { left: bytesLimit }
}

/** A request or a response of an HTTP client call: its headers, and the beginning of its body as it passes. */
export class CallMessage {
  /** Names and values in turn. */
  readonly #headers: readonly string[]
  readonly #type: string
  readonly #kept: KeptBytes
  readonly #chunks: Buffer[] = []
  #size = 0
  #length = 0

  constructor(headers: readonly string[], kept: KeptBytes) {
    this.#headers = headers
    this.#kept = kept
    this.#type = findHeader(headers, 'content-type')
  }

  /** Copies a chunk of the body, if it is text and within the limits. Another reader gets the chunk itself. */
  take(chunk: unknown): void {
    if (!(chunk instanceof Uint8Array || typeof chunk === 'string')) return
    this.#size += Buffer.byteLength(chunk)
    const room = Math.min(contentLimit - this.#length, this.#kept.left)
    if (room <= 0 || !isText(mediaTypeOf(this.#type))) return
    // Only the part that is kept is copied: a chunk may be a whole file.
    const bytes = typeof chunk === 'string' ? toBytes(chunk, room) : Buffer.from(chunk.subarray(0, room))
    this.#chunks.push(bytes)
    this.#length += bytes.length
    this.#kept.left -= bytes.length
  }

  /** The masked data of the message. */
  describe(copier: MaskingCopier, contents: ContentCopier): MessageData {
    const headers = copyHeaders({ toRaw: () => this.#headers }, copier)
    const content = contents.copy({
      body: Buffer.concat(this.#chunks),
      type: this.#type,
      encoding: findHeader(this.#headers, 'content-encoding'),
      whole: this.#size,
    })
    return content === undefined ? { headers } : { headers, content }
  }
}

/** The value of a header in a list of names and values in turn; empty without it. */
function findHeader(headers: readonly string[], wanted: string): string {
  const index = headers.findIndex((name, index) => index % 2 === 0 && name.toLowerCase() === wanted)
  return index === -1 ? '' : (headers[index + 1] ?? '')
}

function toBytes(text: string, limit: number): Buffer {
  return Buffer.from(text.slice(0, limit)).subarray(0, limit)
}
