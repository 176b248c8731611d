import { channel } from 'node:diagnostics_channel'
import { EventEmitter } from 'node:events'
import { IncomingMessage, type ServerOptions, ServerResponse, STATUS_CODES } from 'node:http'
import { Socket } from 'node:net'
import { Readable } from 'node:stream'
import type { BodyReader, DirectStream } from '../../lib/body/body-source.ts'
import { UpgradableMessage } from './websocket-upgrade.ts'

/**
 * Messages of node:http with less work. Node prepares a message for any code that may use it; here
 * only this server does. These steps are left out, and the bytes of each response stay the same:
 *
 * - the object of all header fields, until the server has the message: before, Node itself reads two of them;
 * - the end of the stream of a request without a body, unless there is a listener for it;
 * - the events of the stream of a body that the server reads into memory;
 * - a second check of the fields of a response: `Headers` has checked them, and is the only guard
 *   against response splitting;
 * - separate writes of the head and the text of a response.
 *
 * They use internals of Node, such as `_header`. {@link fastMessageClasses} tries them once, and
 * takes Node's own classes if they have changed.
 */
export class FastMessage extends UpgradableMessage implements DirectStream {
  static {
    // TypeScript refuses accessors in place of properties.
    Object.defineProperties(FastMessage.prototype, {
      headers: {
        get(this: FastMessage) {
          const isEarly = !this.#isReceived && this.httpVersion === '1.1' && !isObserved(this.socket)
          return isEarly ? readEarly(this.rawHeaders) : fields.get.call(this)
        },
        set(this: FastMessage, value: unknown) {
          fields.set.call(this, value)
        },
      },
      readableEnded: {
        get(this: FastMessage) {
          return this.#isDumped || this.#isPassed || ended.get.call(this)
        },
      },
    })
  }

  #isReceived = false
  #isBodiless = false
  /** Whether Node has announced the end of the stream, and nothing listened. */
  #isEndHeld = false
  #isDumped = false
  /** Takes the body in place of the stream. */
  #reader: BodyReader | undefined
  /** Whether a reader has taken the body to its end. */
  #isPassed = false

  /** Called when the server has the message. Without a body nothing is left to read. */
  receive(hasBody: boolean): void {
    this.#isReceived = true
    this.#isBodiless = !hasBody
  }

  /** Passes the body to a reader, in place of the events of the stream. */
  passTo(reader: BodyReader): boolean {
    const isUnread = this.readableFlowing === null && this.readableLength === 0 && !this.complete && !this.destroyed
    if (!isUnread || !this.#isReceived || this.#hasListener()) return false
    this.#reader = reader
    return true
  }

  stopPassing(): void {
    this.#reader = undefined
  }

  /** Whether the application, or other code, waits for an event of the stream. */
  #hasListener(): boolean {
    return endEvents.some(name => this.listenerCount(name) > 0)
  }

  /** Node calls it with each chunk, and with `null` at the end of the message. */
  override push(chunk: unknown, encoding?: BufferEncoding): boolean {
    const reader = this.#reader
    if (reader !== undefined && chunk !== null) {
      reader.take(chunk as Uint8Array)
      // Code that listens meanwhile gets the rest, too.
      if (!this.#hasListener()) return true
    } else if (reader !== undefined) {
      this.#reader = undefined
      this.#isPassed = true
      reader.end()
    }
    const isUnheard = chunk === null && (this.#isBodiless || this.#isPassed) && !this.#hasListener()
    if (!isUnheard) return super.push(chunk, encoding)
    this.#isEndHeld = true
    return false
  }

  override on(name: string | symbol, listener: (...values: never[]) => void): this {
    super.on(name, listener as () => void)
    this.#release(name)
    return this
  }

  override addListener(name: string | symbol, listener: (...values: never[]) => void): this {
    return this.on(name, listener)
  }

  override prependListener(name: string | symbol, listener: (...values: never[]) => void): this {
    super.prependListener(name, listener as () => void)
    this.#release(name)
    return this
  }

  /** Ends the stream for the first listener. */
  #release(name: string | symbol): void {
    if (this.#isEndHeld && !this.#isDumped && endEvents.includes(name)) {
      this.#isEndHeld = false
      super.push(null)
    }
  }

  /** Node calls it when the response is sent: it reads the rest of a request that the application has not read. */
  _dump(): void {
    if (this.#isEndHeld) this.#isDumped = true
    else dump.call(this)
  }

  /** Node calls it when the connection has ended before the request was answered. */
  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    this.#reader?.fail(error ?? undefined)
    this.#reader = undefined
    super._destroy(error, callback)
  }
}

/** The events of a stream's end, and those that make a stream flow to its end. */
const endEvents: readonly (string | symbol)[] = ['end', 'close', 'data', 'readable']

/** Accessors of Node that are replaced. */
const fields = accessor(IncomingMessage.prototype, 'headers')
const ended = accessor(Readable.prototype, 'readableEnded')

function accessor(prototype: object, name: string) {
  return Object.getOwnPropertyDescriptor(prototype, name) as Required<Pick<PropertyDescriptor, 'get' | 'set'>>
}

const { _dump: dump } = IncomingMessage.prototype as unknown as { _dump(): void }

const startChannel = channel('http.server.request.start')
const { emit } = EventEmitter.prototype

/**
 * Whether code outside Node and this server sees a message before the server: it subscribes to a
 * channel, or wraps `emit`.
 */
function isObserved(socket: Socket & { server?: EventEmitter }): boolean {
  return startChannel.hasSubscribers || socket.server?.emit !== emit
}

/**
 * The fields that Node reads of a message of HTTP/1.1 before the server has it. One object, as Node does not keep it.
 */
const early: IncomingMessage['headers'] = { host: undefined, expect: undefined }

function readEarly(raw: readonly string[]): IncomingMessage['headers'] {
  early.host = undefined
  early.expect = undefined
  for (let at = 0; at < raw.length; at += 2) {
    const name = raw[at] as string
    if (name.length !== 4 && name.length !== 6) continue
    const key = name.toLowerCase()
    if (key === 'host') early.host ??= raw[at + 1]
    else if (key === 'expect')
      early.expect = early.expect === undefined ? raw[at + 1] : `${early.expect}, ${raw[at + 1]}`
  }
  return early
}

/** Internals of Node's response. */
interface Internals {
  _header: string | null
  readonly _hasBody: boolean
  readonly _keepAliveTimeout: number
  readonly _defaultKeepAlive: boolean
  readonly _maxRequestsPerSocket: number | null
  readonly _removedConnection: boolean
  readonly _expect_continue: boolean
  readonly maxRequestsOnConnectionReached?: boolean
}

/** A response whose head and ASCII text are sent in one write. See {@link FastMessage}. */
export class FastResponse extends ServerResponse {
  /**
   * Sends a response that keeps the connection. The fields are checked, and have the
   * Content-Length of the text. Returns `false` if this is no usual response: Node has to send it.
   */
  sendText(status: number, checked: readonly string[], text: string): boolean {
    const internals = this as unknown as Internals
    if (!isUsual(this, internals)) return false
    const reason = STATUS_CODES[status] ?? 'unknown'
    let head = `HTTP/1.1 ${status} ${reason}\r\n`
    for (let at = 0; at < checked.length; at += 2) {
      const name = checked[at] as string
      if (isSpecial(name)) return false
      head += `${name}: ${checked[at + 1]}\r\n`
    }
    this.statusCode = status
    this.statusMessage = reason
    // Node sends a head that was not sent before the next chunk, in the same write. The last chunk is empty.
    internals._header = `${head}Date: ${dateNow()}\r\n${keepAliveFields(internals._keepAliveTimeout)}\r\n${text}`
    this.end()
    return true
  }
}

function isUsual(reply: ServerResponse, internals: Internals): boolean {
  return (
    reply.shouldKeepAlive &&
    reply.sendDate &&
    internals._header === null &&
    internals._hasBody &&
    internals._defaultKeepAlive &&
    !internals._removedConnection &&
    !internals._expect_continue &&
    !internals._maxRequestsPerSocket &&
    !internals.maxRequestsOnConnectionReached &&
    reply.writeHead === writeHead &&
    reply.getHeaderNames().length === 0
  )
}

const { writeHead } = ServerResponse.prototype

/** Fields that change what Node writes. */
const specialNames = new Set([
  'connection',
  'content-disposition',
  'date',
  'expect',
  'keep-alive',
  'trailer',
  'transfer-encoding',
])
const specialLengths = new Set([...specialNames].map(({ length }) => length))

function isSpecial(name: string): boolean {
  return specialLengths.has(name.length) && specialNames.has(name.toLowerCase())
}

let date = ''

/**
 * The value of the field Date (RFC 9110, section 6.6.1), kept until the next second, as Node keeps
 * its own: to read the clock costs more.
 */
function dateNow(): string {
  if (date === '') {
    const now = new Date()
    date = now.toUTCString()
    setTimeout(forgetDate, 1000 - now.getMilliseconds()).unref()
  }
  return date
}

function forgetDate(): void {
  date = ''
}

let keepAliveTimeout = -1
let keepAlive = ''

/** Node has one timeout for all connections of a server. */
function keepAliveFields(timeout: number): string {
  if (timeout !== keepAliveTimeout) {
    keepAliveTimeout = timeout
    keepAlive = 'Connection: keep-alive\r\n'
    if (timeout) keepAlive += `Keep-Alive: timeout=${Math.floor(timeout / 1000)}\r\n`
  }
  return keepAlive
}

/** The classes of a server's messages. */
export type MessageClasses = Pick<ServerOptions, 'IncomingMessage' | 'ServerResponse'>

/** Node's own, but for upgrades: see {@link UpgradableMessage}. */
export const nodeMessageClasses: MessageClasses = { IncomingMessage: UpgradableMessage }

let isSupported: boolean | undefined

/** The fast classes, or those of Node if an internal of Node has changed. */
export function fastMessageClasses(): MessageClasses {
  isSupported ??= canBeFast()
  return isSupported ? { IncomingMessage: FastMessage, ServerResponse: FastResponse as never } : nodeMessageClasses
}

/** Whether requests have the accessors that are replaced, and both kinds of responses the same bytes. */
function canBeFast(): boolean {
  if (![fields?.get, fields?.set, ended?.get, dump].every(method => typeof method === 'function')) return false
  const content = ['Content-Type', 'text/plain', 'Content-Length', '2']
  const fast = prepare(new FastResponse(createMessage()))
  const slow = prepare(new ServerResponse(createMessage()))
  slow.writeHead(200, content).end('ok', 'latin1')
  return fast.sendText(200, content, 'ok') && bytesOf(fast) === bytesOf(slow)
}

function createMessage(): IncomingMessage {
  const head = { method: 'GET', httpVersion: '1.1', httpVersionMajor: 1, httpVersionMinor: 1 }
  return Object.assign(new IncomingMessage(new Socket()), head)
}

function prepare<Reply extends ServerResponse>(reply: Reply): Reply {
  return Object.assign(reply, { shouldKeepAlive: true, _keepAliveTimeout: 5_000 })
}

/** What a response without a connection would send, without its date. */
function bytesOf(reply: ServerResponse): string {
  const { outputData } = reply as unknown as { readonly outputData?: readonly { readonly data: string }[] }
  return String(outputData?.map(({ data }) => data).join('')).replace(/\r\nDate: [^\r]+/, '')
}
