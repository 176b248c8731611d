import { type IncomingMessage, ServerResponse } from 'node:http'
import { Http2ServerRequest, Http2ServerResponse } from 'node:http2'
import type { Socket } from 'node:net'
import { currentMessage, observeFrameworks } from '../../../kernel/contracts/functions.ts'
import {
  exchangeOf,
  type ObservedExchange,
  type ServerMessage,
  type ServerReply,
} from '../../../kernel/contracts/servers.ts'
import type { DebugGate } from '../../../kernel/debug/debug-gate.ts'
import type { RequestContext } from '../../../kernel/request-context.ts'
import { decodeUtf8 } from '../../../lib/body/body-source.ts'
import { type FormData, parseForm } from '../../../lib/body/form-data.ts'
import { readMultipart } from '../../../lib/body/multipart.ts'
import { RequestBody } from '../../../lib/body/request-body.ts'
import { Headers } from '../../../lib/http/headers.ts'
import { type Connection, Request } from '../../../lib/http/request.ts'
import { isBodiless, Response } from '../../../lib/http/response.ts'
import { readClock } from '../../../lib/own-globals.ts'
import type { TextMasker } from '../../../lib/redact/masking-copier.ts'
import { readProperty } from '../../../lib/text/describe-value.ts'
import { listenToFrameworks, readRoute, watchServers } from '../../libraries/libraries.ts'
import { isOwnPath, profileLink } from '../profile/links.ts'
import { middlewarePart, routePatternOf } from '../record/middleware-trace.ts'
import { isRepeatedAnswer } from '../record/node-warnings.ts'
import type { Profiler } from '../record/profiler.ts'
import { replayAttribute } from '../record/recording-policy.ts'
import type { Trace } from '../record/trace.ts'
import { judgeEnding, socketOf } from './ending.ts'
import { takeReplayMark } from './replay-mark.ts'
import { type AddToolbar, insertToolbar } from './toolbar.ts'

declare module '../../../lib/http/request.ts' {
  interface KnownAttributes {
    /** Of a request of another server: the pattern of its route, such as `/users/:id`. */
    _route_pattern: string
  }
}

/** The services that record the requests of servers. */
export interface ExchangeServices {
  readonly profiler: Profiler
  readonly context: RequestContext
  readonly debugGate: Pick<DebugGate, 'allows' | 'identify'>
  readonly redactor: Pick<TextMasker, 'text'>
  /** The value of the header `server-timing`. */
  readonly toServerTiming: (trace: Trace) => string
  /** The origin of the pages of the profiler. */
  readonly viewer: string
  /** The secret in the mark of a replay. */
  readonly replaySecret: string
  /** Answers a request for a page of the profiler. Absent if these are on a port of their own only. */
  readonly answerOwn?: ((message: IncomingMessage, reply: ServerResponse) => void) | undefined
  /** Absent if pages get no toolbar. */
  readonly addToolbar?: AddToolbar | undefined
  /** Called when a request was answered with 404. */
  readonly onMissing: (request: Request) => unknown
  /** Called before the first request, when the application has started: whether requests are recorded. */
  readonly onFirst: () => boolean
}

/** Records the requests of all servers of the process but those of kernels, until the returned function is called. */
export function recordServers(services: ExchangeServices): () => void {
  const { answerOwn, context, debugGate, onFirst, profiler, replaySecret } = services
  const ownMessages = new WeakSet<ServerMessage>()
  let isRecording: boolean | undefined
  listenToFrameworks()
  const stopFrameworks = observeFrameworks(message => {
    const exchange = exchangeOf(message)
    const ofExchange = exchange instanceof ServerExchange ? exchange.trace : undefined
    const trace = message === currentMessage ? profiler.find(context.current) : ofExchange
    return trace && middlewarePart.of(trace)
  })
  const stopServers = watchServers({
    context,
    begin(message, reply) {
      isRecording ??= onFirst()
      if (!isRecording) return undefined
      const request = new ServerRequest(message)
      const original = takeReplayMark(message, request.headers, replaySecret)
      if (original !== undefined) request.attributes.set(replayAttribute, original)
      // Before the trace begins: it may read a file of the system.
      debugGate.identify(request)
      if (answerOwn !== undefined && isOwnPath(request.path) && debugGate.allows(request)) {
        ownMessages.add(message)
        return undefined
      }
      const trace = profiler.begin(request)
      return trace && new ServerExchange(services, trace, request, message, reply)
    },
    endSocket: socket => latestOf(socket)?.closeStream(),
    answer:
      answerOwn &&
      ((message, reply) => {
        const isOwn = ownMessages.has(message)
        if (isOwn) answerOwn(message, reply)
        return isOwn
      }),
  })
  return () => {
    stopFrameworks()
    stopServers()
  }
}

/** Bytes of a body that are kept: more is not parsed. */
const bodyLimit = 262_144

/** A property of the socket: see `attachTrace`. */
const latestKey: unique symbol = Symbol('exchange')

/** The last exchange of a connection, until it ends. */
function latestOf(socket: object): ServerExchange | undefined {
  return (socket as { readonly [latestKey]?: ServerExchange })[latestKey]
}

function setLatest(socket: object, exchange: ServerExchange | undefined): void {
  // Not enumerable: the application may print its sockets.
  if (!(latestKey in socket)) Object.defineProperty(socket, latestKey, { writable: true })
  const connected: { [latestKey]?: ServerExchange | undefined } = socket
  connected[latestKey] = exchange
}

/** A request that another server answers, from its head to the end of its response. */
class ServerExchange implements ObservedExchange {
  readonly request: ServerRequest
  readonly trace: Trace
  readonly #services: ExchangeServices
  readonly #message: ServerMessage
  readonly #reply: ServerReply
  readonly #content = new BodyCopy()
  readonly #socket: Socket
  #isStreamed = false
  /** When the application began to read the body, by `performance.now()`. */
  #reading: number | undefined
  /** Whether it has got a part of it. Next.js replaces the members of a message afterwards. */
  #hasRead = false
  /** Bytes that the toolbar has added to the page. */
  #added = 0
  /** When a part of the body was written last, by `performance.now()`. */
  #written = 0
  #isEnded = false
  #isClosedByServer = false
  #source: unknown
  /** The next request of the connection, if it has come before this one has ended. */
  #next: ServerExchange | undefined

  constructor(
    services: ExchangeServices,
    trace: Trace,
    request: ServerRequest,
    message: ServerMessage,
    reply: ServerReply,
  ) {
    this.#services = services
    this.trace = trace
    this.request = request
    this.#message = message
    this.#reply = reply
    this.#socket = socketOf(message)
    // The streams of HTTP/2 do not wait for one another.
    if (message instanceof Http2ServerRequest) return
    const earlier = latestOf(message.socket)
    if (earlier !== undefined) earlier.#next = this
    setLatest(message.socket, this)
  }

  receive(chunk: unknown): void {
    const { observed } = this.request
    if (observed === undefined) return
    // Who reads an iterator is not known: the function that was called last, if it was there before the first part.
    if (this.#message.readableFlowing !== null)
      this.#reading ??= observed.isNew ? this.trace.start + (middlewarePart.find(this.trace)?.since ?? 0) : readClock()
    observed.note(chunk, this.#reading)
  }

  beginReading(hasPart: boolean): void {
    this.#reading ??= readClock()
    this.#hasRead ||= hasPart
  }

  /**
   * The profile is named for clients that may see debug output, as in an application of our own,
   * and for the profiler itself.
   */
  fieldsFor(given: readonly string[]): Readonly<Record<string, string>> | undefined {
    const { debugGate, profiler, toServerTiming, viewer } = this.#services
    const { request, trace } = this
    const isReplay = request.attributes.has(replayAttribute)
    if (!(isReplay || debugGate.allows(request)) || !profiler.keeps(trace)) return undefined
    const fields: Record<string, string> = {
      'x-debug-token': trace.token,
      'x-debug-token-link': `${viewer}${profileLink(trace.token)}`,
    }
    // A proxy copies the fields of a server that is profiled itself.
    if (this.#has('x-debug-token', given) || !this.#has('server-timing', given))
      fields['server-timing'] = toServerTiming(trace)
    return fields
  }

  #has(name: string, given: readonly string[]): boolean {
    return given.includes(name) || this.#reply.hasHeader(name)
  }

  /** Node.js drops what the application writes to a connection, or to a stream of HTTP/2, that is gone. */
  get #isGone(): boolean {
    const reply = this.#reply
    return reply instanceof Http2ServerResponse ? reply.stream.destroyed : this.#socket.destroyed
  }

  /** A stream of events may stay open for hours: its profile is stored when it begins. */
  noteHead(): void {
    if (this.#isGone) return
    this.trace.response = readHead(this.#reply)
    if (this.trace.response.headers.get('content-type')?.startsWith('text/event-stream')) this.finish()
  }

  /** A page gets the toolbar if its client gets the name of its profile, and if it is not a stream. */
  replaceEnd(chunk: string | Uint8Array, encoding: unknown): Uint8Array | undefined {
    const { request, trace } = this
    const { addToolbar, debugGate, profiler } = this.#services
    const reply = this.#reply
    if (addToolbar === undefined || this.#content.length > 0 || !(reply instanceof ServerResponse)) return undefined
    if (!debugGate.allows(request) || !profiler.keeps(trace)) return undefined
    const head = trace.response ?? new Response(null, { status: reply.statusCode, headers: listFields(reply) })
    const bytes = toBytes(chunk, encoding)
    const page = insertToolbar(reply, head, bytes, page => addToolbar(page, request, trace.token))
    if (page === undefined) return undefined
    this.#added = page.length - bytes.length
    // A head that is not sent yet has changed.
    if (trace.response !== undefined) trace.response = readHead(reply)
    return page
  }

  send(chunk: string | Uint8Array, encoding: unknown): void {
    if (this.#isGone) return
    if (this.request.method === 'HEAD' || isBodiless(this.#reply.statusCode)) return
    // Of HTTP/2, `end` writes its chunk before it has ended the reply.
    const reply = this.#reply
    this.#isStreamed ||= reply instanceof ServerResponse ? !reply.writableEnded : this.#content.length > 0
    this.#content.add(toBytes(chunk, encoding), typeof chunk === 'string')
    this.#written = readClock()
  }

  drain(): void {
    if (this.trace.duration === undefined) this.trace.noteDrain(this.#written)
  }

  fail(error: unknown): void {
    // Other errors of a response are those of its connection.
    if (isRepeatedAnswer(readProperty(error, 'code'))) this.trace.addThrown(error)
  }

  finish(): void {
    const { request, trace } = this
    if (trace.duration !== undefined) return
    if (!(this.#hasRead || this.#message.readableDidRead)) request.observed?.ignore()
    const part = middlewarePart.find(trace)
    const route = part?.route ?? readRoute(this.#message)
    // Small routers do as Express does.
    const { handler, parameters } = route ?? { handler: '', parameters: readProperty(this.#message, 'params') }
    const pattern = routePatternOf(route, request.path, this.#services.redactor)
    request.attributes.set('_route', `${request.method} ${pattern}`)
    request.attributes.set('_route_pattern', pattern)
    if (typeof parameters === 'object' && parameters !== null)
      request.attributes.set('_route_params', parameters as Record<string, unknown>)
    const name = part?.handler || handler
    if (name !== '') trace.controller = name
    part?.finish()
    trace.events.finish()
    this.#services.profiler.finish(trace)
  }

  /** Replies that wait behind the last one of a connection are never sent, and Node does not close them. */
  #endNext(): void {
    const socket = this.#socket
    if (latestOf(socket) === this) setLatest(socket, undefined)
    const { shouldKeepAlive } = this.#reply as Partial<ServerResponse>
    if (this.#next !== undefined && (shouldKeepAlive === false || socket.destroyed)) this.#next.end()
  }

  /** Node itself closes the streams of a connection that is lost. */
  closeStream(): void {
    if (!this.#socket.destroyed) this.#isClosedByServer = true
  }

  pipe(source: unknown): void {
    this.#source = source
  }

  endUpgrade(head: string | undefined): void {
    if (head !== undefined) this.trace.response = readUpgrade(head)
    this.#end(() => {
      this.finish()
      const { response } = this.trace
      const ending = response === undefined ? this.#judgeEnding() : { isSent: true, streamError: undefined }
      this.#services.profiler.terminate(this.trace, { ...ending, response, sentBytes: undefined })
    })
  }

  end(): void {
    this.#end(() => this.#terminate())
  }

  #end(terminate: () => void): void {
    if (this.#isEnded) return
    this.#isEnded = true
    try {
      this.#endNext()
      terminate()
    } finally {
      // If it has failed, the request is not in flight, either.
      this.#services.profiler.abandon(this.trace)
    }
  }

  #judgeEnding() {
    return judgeEnding({
      message: this.#message,
      reply: this.#reply,
      socket: this.#socket,
      isClosedByServer: this.#isClosedByServer,
      source: this.#source,
      thrown: this.trace.error,
    })
  }

  #terminate(): void {
    this.finish()
    const { trace } = this
    const { bytes, length } = this.#content
    trace.sentAt = trace.elapsed()
    // Code may answer by the stream of HTTP/2 instead of the reply: then its bytes are not known.
    const isByStream = trace.response === undefined && this.#reply instanceof Http2ServerResponse
    if (isByStream) trace.response = readSentHead(this.#reply as Http2ServerResponse)
    else {
      const encoding = trace.response?.headers.get('content-encoding') ?? ''
      const endFields = readEndFields(this.#reply)
      trace.page = { body: bytes, encoding, whole: length, isStreamed: this.#isStreamed, endFields }
    }
    const { isSent, streamError } = this.#judgeEnding()
    if (trace.response?.status === 404) this.#services.onMissing(this.request)
    this.#services.profiler.terminate(trace, {
      isSent,
      response: trace.response,
      sentBytes: isByStream ? undefined : length + this.#added,
      streamError,
    })
  }
}

function toBytes(chunk: string | Uint8Array, encoding: unknown): Uint8Array {
  if (typeof chunk !== 'string') return chunk
  // Node accepts the encoding, or throws.
  return Buffer.from(chunk, typeof encoding === 'string' ? (encoding as BufferEncoding) : 'utf8')
}

/** Reads the head as it was written. Node keeps the text of HTTP/1 in a property that many packages read. */
function readHead(reply: ServerReply): Response {
  const { _header: text } = reply as { readonly _header?: unknown }
  const headers = typeof text === 'string' ? parseHead(text) : listFields(reply)
  // Node sends any status up to 999.
  return new Response(null, { status: Math.min(reply.statusCode, 599), headers })
}

/** Reads the head with which a server has answered an upgrade; `undefined` if it is none of HTTP. */
function readUpgrade(head: string): Response | undefined {
  const [, digits] = /^HTTP\/1\.\d ([1-5]\d\d)/.exec(head) ?? []
  if (digits === undefined) return undefined
  const status = Number(digits)
  const headers = parseHead(`${head}\r\n\r\n`)
  return status < 200 ? new SwitchedProtocols(null, { headers }) : new Response(null, { status, headers })
}

/** An upgrade that the server has accepted. */
class SwitchedProtocols extends Response {
  override get status(): number {
    return 101
  }

  override set status(_status: number) {
    // The constructor of the base class sets one.
  }
}

/** Reads the head that a stream has sent; `undefined` if there is none. */
function readSentHead({ stream }: Http2ServerResponse): Response | undefined {
  const { ':status': status, ...fields } = stream.sentHeaders ?? {}
  return typeof status === 'number' ? new Response(null, { status, headers: showFields(fields) }) : undefined
}

/** Reads the fields after the body. Node keeps the text of those of HTTP/1 in a property. */
function readEndFields(reply: ServerReply): [string, string][] {
  if (reply instanceof Http2ServerResponse) return showFields(reply.stream.sentTrailers ?? {})
  const { _trailer: text } = reply as { readonly _trailer?: unknown }
  return typeof text === 'string' && text !== '' ? [...parseHead(`\r\n${text}`)] : []
}

function parseHead(text: string): Headers {
  const fields: string[] = []
  let start = text.indexOf('\r\n') + 2
  for (let end = text.indexOf('\r\n', start); end > start; end = text.indexOf('\r\n', start)) {
    const colon = text.indexOf(':', start)
    fields.push(text.slice(start, colon), text.slice(colon + 2, end))
    start = end + 2
  }
  return Headers.fromRaw(fields, true)
}

function listFields(reply: ServerReply): [string, string][] {
  return showFields(reply.getHeaders())
}

function showFields(headers: object): [string, string][] {
  const fields = Object.entries(headers).filter(([name]) => !name.startsWith(':'))
  // Node does not check the values of HTTP/2.
  const show = (value: unknown) => String(value).replace(/[^\t\x20-\x7e\x80-\xff]/g, '?')
  return fields.flatMap(([name, value]) => [value].flat().map((each): [string, string] => [name, show(each)]))
}

/** A request that another server answers. The profiler only looks at it. */
class ServerRequest extends Request {
  /** Its body, as far as the parser has passed it on. */
  readonly observed: ObservedBody | undefined

  constructor(message: ServerMessage) {
    const headers = readFields(message)
    const hasBody = headers.has('content-length') || headers.has('transfer-encoding') || isStreaming(message)
    const body = hasBody ? new ObservedBody(message, headers) : undefined
    const connection = connectionOf(message)
    super({
      // A message that a server receives has a method and a URL.
      method: message.method as string,
      target: message.url as string,
      // A client of HTTP/1 may send `HTTP/2.0`, which is not HTTP/2.
      httpVersion: message instanceof Http2ServerRequest ? '2' : message.httpVersion,
      headers,
      connection,
      body,
    })
    this.observed = body
    const address = addressOf(connection)
    if (address !== undefined) this.attributes.set('_server_address', address)
  }
}

/** The address at which a replay reaches the server; `undefined` for a socket of the file system. */
function addressOf({ localAddress, localPort }: Connection): string | undefined {
  if (localAddress === undefined || localPort === undefined) return undefined
  const address = localAddress.replace(/^::ffff:(?=\d+\.)/, '')
  return `${address.includes(':') ? `[${address}]` : address}:${localPort}`
}

/** A body in HTTP/2 may have no length. */
function isStreaming(message: ServerMessage): boolean {
  return message instanceof Http2ServerRequest && !message.stream.endAfterHeaders
}

/** The fields of HTTP/2 begin with pseudo-header fields (RFC 9113, section 8.3). */
function readFields({ rawHeaders }: ServerMessage): Headers {
  if (!rawHeaders.some(field => field.startsWith(':'))) return Headers.fromRaw([...rawHeaders])
  const fields: string[] = []
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const [name = '', value = ''] = rawHeaders.slice(at, at + 2)
    if (name === ':authority') fields.push('host', value)
    else if (!name.startsWith(':')) fields.push(name, value)
  }
  return Headers.fromRaw(fields)
}

/**
 * The ends of the connections of HTTP/2, by their sessions: Node throws when the socket of an ended session is read.
 */
const connections = new WeakMap<object, Connection>()

function connectionOf(message: ServerMessage): Connection {
  // A TLS socket has the property `encrypted`; a plain one does not.
  const socket = message.socket as Connection
  const session = message instanceof Http2ServerRequest ? message.stream.session : undefined
  if (session === undefined) return socket
  const known = connections.get(session)
  if (known !== undefined) return known
  const { encrypted, localAddress, localPort, remoteAddress, remotePort } = socket
  const connection = { encrypted: encrypted === true, localAddress, localPort, remoteAddress, remotePort }
  connections.set(session, connection)
  return connection
}

/** A body that the application reads. Its bytes are kept as they pass by, as long as they are few. */
class ObservedBody extends RequestBody {
  readonly #copy = new BodyCopy()
  #isComplete = false
  #reading: readonly [start: number, end: number] | undefined
  #isIgnored = false
  #form: FormData | undefined
  readonly #type: string | undefined

  constructor(message: ServerMessage, headers: Headers) {
    const length = headers.get('content-length')
    const contentType = headers.get('content-type') ?? undefined
    super({ stream: message, length: length === null ? undefined : Number(length), contentType })
    this.#type = contentType
  }

  /** Whether the parser has passed nothing on. */
  get isNew(): boolean {
    return this.#copy.length === 0
  }

  /**
   * Notes a part that the parser passes on; `null` at the end. `reading` is when the application
   * began to read, if it has.
   */
  note(chunk: unknown, reading: number | undefined): void {
    if (chunk === null) {
      this.#isComplete = true
      this.#reading = reading === undefined ? undefined : [reading, readClock()]
    } else if (chunk instanceof Uint8Array) this.#copy.add(chunk)
  }

  /** The application has answered without reading it. */
  ignore(): void {
    this.#isIgnored = true
  }

  override get wasRead(): boolean {
    return this.#copy.length > 0 && !this.#isIgnored
  }

  override peek(): ReturnType<RequestBody['peek']> {
    const { isWhole, length } = this.#copy
    if (this.#isIgnored) return { bytes: undefined, form: undefined }
    if (!this.#isComplete) return { bytes: undefined, form: undefined, received: length }
    const reading = this.#reading && { reading: this.#reading }
    if (this.contentType === 'multipart/form-data')
      this.#form ??= readForm(() => readMultipart(this.#copy.bytes, this.#type))
    if (!isWhole) return { bytes: undefined, form: this.#form, size: length, ...reading }
    const { bytes } = this.#copy
    if (this.contentType === 'application/x-www-form-urlencoded')
      this.#form ??= readForm(() => parseForm(decodeUtf8(bytes), fieldLimit))
    return { bytes, form: this.#form, ...reading }
  }
}

const fieldLimit = 1000

function readForm(parse: () => FormData): FormData | undefined {
  try {
    return parse()
  } catch {
    return undefined
  }
}

/** The first bytes of a body. They are copied, unless they are own ones: the application may use its buffers again. */
class BodyCopy {
  /** Bytes of the whole body. */
  length = 0
  readonly #parts: Uint8Array[] = []
  #kept = 0

  add(part: Uint8Array, isOwn = false): void {
    this.length += part.length
    const room = Math.min(bodyLimit - this.#kept, part.length)
    if (room <= 0) return
    this.#parts.push(isOwn && room === part.length ? part : Buffer.from(part.subarray(0, room)))
    this.#kept += room
  }

  get isWhole(): boolean {
    return this.length === this.#kept
  }

  /** The bytes that are kept. */
  get bytes(): Uint8Array {
    const [first] = this.#parts
    return first !== undefined && this.#parts.length === 1 ? first : Buffer.concat(this.#parts)
  }
}
