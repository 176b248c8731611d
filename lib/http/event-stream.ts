import { Readable } from 'node:stream'
import { ARGUMENT_INVALID, checkFunction, checkObject, checkOptions } from '../errors/arguments.ts'
import { describeValue } from '../text/describe-value.ts'
import type { ShapeOf } from '../text/mistakes.ts'
import { HTTP_EVENT_INVALID, HTTP_EVENTS_UNREAD } from './errors.ts'
import type { Headers } from './headers.ts'
import { checkRequest, type Request } from './request.ts'
import { Response, stringify } from './response.ts'

/** An event for the client of an {@link EventStream}; each part may be absent. */
export interface ServerEvent {
  /** The type of the event. In a browser: `source.addEventListener(event, …)`; the default is `message`. */
  readonly event?: string
  /** When the client connects again, it sends the last id: see `lastEventId`. */
  readonly id?: string | number
  /** A text is sent as it is, any other value as JSON. */
  readonly data?: unknown
  /** Milliseconds that the client waits before it connects again. */
  readonly retry?: number
}

/** The options of an event stream. */
export interface EventStreamOptions {
  /** Milliseconds between two comments, by which a client that is gone is detected. The default is 15,000. */
  readonly heartbeat?: number
}

const eventShape: ShapeOf<ServerEvent> = { event: 'string', id: true, data: true, retry: 'number' }
const optionShape: ShapeOf<EventStreamOptions> = { heartbeat: 'positive' }

/** Bytes that may wait for a client. The next event then ends the stream. */
const waitingLimit = 1024 * 1024

/** Events after the end of a stream, of which some may be on their way when a client leaves. */
const lostLimit = 20

const lostAdvice =
  'events were sent to an EventStream that is over: its function has to return a function that ends its work, such as () => clearInterval(timer).'

/**
 * A response with server-sent events (HTML Standard, section 9.2), for `EventSource` in a browser.
 * The function `open` is called when the stream is read; it calls `send` now or later, and may return
 * a function that is called when the stream is over, or a timer, which is then cleared. An error that it throws before
 * its first event and its first `await` is the error of the request; a later one is logged, and ends the stream.
 *
 *     new EventStream(request, stream =>
 *       prices.subscribe(price => stream.send({ event: 'price', data: price })),
 *     )
 *
 * The stream ends when the client leaves, with `end()`, and when the server stops: clients then connect again. A client
 * that does not read for as long as a megabyte of events is disconnected, with the error HTTP_EVENTS_UNREAD.
 */
export class EventStream extends Response {
  /** The id of the last event that the client has received; `undefined` at its first connection. */
  readonly lastEventId: string | undefined
  readonly #source: Readable
  /** Made when `signal` is read: most streams do without it. */
  #over: AbortController | undefined
  #isOver = false
  /** The function that `open` has returned, if it has returned one. */
  #stop: (() => unknown) | undefined
  #sentEvents = 0
  #isBegun = false
  #lostEvents = 0

  /** @throws ARGUMENT_INVALID */
  constructor(request: Request, open: (stream: EventStream) => unknown, options: EventStreamOptions = {}) {
    checkRequest('new EventStream(request, open)', request)
    checkFunction('new EventStream(request, open)', 'open', open)
    checkOptions('new EventStream()', options, optionShape)
    super(null, { headers })
    const { heartbeat = 15_000 } = options
    const id = request.headers.get('last-event-id')
    // Browsers send the id as UTF-8, and node:http reads each byte as a character.
    this.lastEventId = id === null ? undefined : Buffer.from(id, 'latin1').toString()
    let heart: NodeJS.Timeout | undefined
    this.#source = new Readable({
      read: () => {
        if (heart !== undefined) return
        heart = setInterval(() => this.#beat(), heartbeat).unref()
        void this.#open(open)
      },
      destroy: (error, done) => {
        clearInterval(heart)
        const ownError = this.#finish()
        done(error ?? (ownError as Error | undefined))
      },
    })
    this.body = this.#source
  }

  /** Aborted when the stream is over, for any reason: for `fetch`, timers and other work that takes a signal. */
  get signal(): AbortSignal {
    this.#over ??= new AbortController()
    if (this.#isOver) this.#over.abort()
    return this.#over.signal
  }

  /** How many events were sent, or wait for the client. An event without a type and data does not count. */
  get sentEvents(): number {
    return this.#sentEvents
  }

  /** Whether earlier events still wait for the client: a stream of states can leave some out. */
  get isBehind(): boolean {
    return this.#source.readableLength > 0
  }

  /**
   * Sends an event; nothing if the stream is over. An event that cannot be sent ends a stream that
   * has begun, with its error: the caller may be a timer, or the request of another client.
   *
   * @throws before the stream has begun: HTTP_EVENT_INVALID for a line break in `event` or `id`, for
   * an invalid `retry`, and for data that JSON cannot represent; TypeError for a BigInt or a cycle
   */
  send(event: ServerEvent): void {
    if (this.#isOver) {
      if (++this.#lostEvents === lostLimit) process.emitWarning(`${lostLimit} ${lostAdvice}`)
      return
    }
    let text: string
    try {
      checkObject('EventStream.send()', event, eventShape)
      checkOptions('EventStream.send()', event, eventShape)
      text = format(event)
    } catch (error) {
      if (!this.#isBegun) throw error
      this.#source.destroy(error as Error)
      return
    }
    const waiting = this.#source.readableLength
    if (waiting > waitingLimit) {
      this.#source.destroy(new HTTP_EVENTS_UNREAD([waiting]))
      return
    }
    if (event.event !== undefined || event.data !== undefined) this.#sentEvents++
    this.#begin()
    this.#source.push(text)
  }

  /** Ends the stream after its last event. `EventSource` connects again, until it gets a response with status 204. */
  end(): void {
    if (this.#isOver) return
    this.#begin()
    const error = this.#finish()
    if (error === undefined) this.#source.push(null)
    else this.#source.destroy(error as Error)
  }

  /** Ends the work for the stream. Returns the error of the function that `open` has returned. */
  #finish(): unknown {
    const stop = this.#stop
    this.#stop = undefined
    this.#isOver = true
    this.#over?.abort()
    try {
      stop?.()
      return undefined
    } catch (error) {
      return error
    }
  }

  async #open(open: (stream: EventStream) => unknown): Promise<void> {
    try {
      const pending = open(this)
      if (/Generator\]$/.test(Object.prototype.toString.call(pending)))
        throw new ARGUMENT_INVALID(['new EventStream(request, open)', generator])
      warnOfWork(pending)
      this.#begin()
      const stop = toStop(await pending)
      if (stop === undefined) return
      // `open` may have sent more than a client reads, or may have ended the stream.
      if (this.#isOver) stop()
      else this.#stop = stop
    } catch (error) {
      // After the end, work that `signal` has stopped may reject.
      if (!this.#isOver) this.#source.destroy(error as Error)
    }
  }

  /**
   * A proxy may hold the head back until there is a part of the body. An error of `open` comes
   * before it: the client then gets the error page.
   */
  #begin(): void {
    if (this.#isBegun) return
    this.#isBegun = true
    this.#beat()
  }

  /** A comment, which clients ignore. A client that is behind gets its events instead. */
  #beat(): void {
    if (!this.isBehind && !this.#isOver) this.#source.push(':\n\n')
  }
}

const generator = 'open is a generator, which nothing runs: use a function that calls stream.send() for each event'

/** What ends the work that `open` has returned: a function, or a timer, which can end itself. */
function toStop(work: unknown): (() => unknown) | undefined {
  if (typeof work === 'function') return work as () => unknown
  const dispose: unknown = Object(work)[Symbol.dispose]
  return typeof dispose === 'function' ? () => dispose.call(work) : undefined
}

/** The classes that were named. */
const named = new Set<string>()

/** Warns of an object that goes on when the stream is over, such as a subscription. A promise has an end of its own. */
function warnOfWork(work: unknown): void {
  const { name = 'Object' } = Object(Object(work).constructor)
  if (typeof work !== 'object' || /^(?:Object|Array|Promise|EventStream)$/.test(name) || named.has(name)) return
  if (toStop(work) !== undefined || typeof Object(work).then === 'function') return
  named.add(name)
  process.emitWarning(
    `The function of an EventStream has returned an object of the class ${name}, which the end of the stream does not end: return a function that ends it.`,
  )
}

const headers = {
  'content-type': 'text/event-stream; charset=UTF-8',
  'cache-control': 'no-store, no-transform',
  // nginx then passes each event on at once.
  'x-accel-buffering': 'no',
}

/** The lines of an event. @throws HTTP_EVENT_INVALID */
function format({ data, event, id, retry }: ServerEvent): string {
  let lines = ''
  if (event !== undefined) lines += `event: ${check('event', event)}\n`
  if (id !== undefined) lines += `id: ${check('id', id)}\n`
  if (retry !== undefined) {
    if (!Number.isSafeInteger(retry) || retry < 0) throw new HTTP_EVENT_INVALID([`retry is ${retry}: use milliseconds`])
    lines += `retry: ${retry}\n`
  }
  if (data !== undefined) lines += `data: ${toText(data).replace(lineBreaks, '\ndata: ')}\n`
  // Clients ignore an event without data.
  else if (event !== undefined) lines += 'data:\n'
  // Without a part it is two line breaks.
  return `${lines || '\n'}\n`
}

const lineBreaks = /\r\n|\r|\n/g

function check(part: string, text: string | number): string {
  if (typeof text !== 'string' && !Number.isFinite(text))
    throw new HTTP_EVENT_INVALID([`${part} is a text or a number, not ${describeValue(text)}`])
  if (/[\r\n\0]/.test(String(text))) throw new HTTP_EVENT_INVALID([`${part} has a line break or a NUL character`])
  return String(text)
}

function toText(data: unknown): string {
  const text = typeof data === 'string' ? data : stringify(data, 'An event')
  if (text === undefined) throw new HTTP_EVENT_INVALID([`JSON cannot represent its data, a ${typeof data}`])
  return text
}

/** Whether the fields of a response are those of server-sent events. */
export function isEventStream(headers: Headers): boolean {
  return headers.get('content-type')?.startsWith('text/event-stream') === true
}
