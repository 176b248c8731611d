import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import http, { type IncomingMessage, type ServerResponse } from 'node:http'
import http2, {
  Http2ServerRequest,
  Http2ServerResponse,
  type IncomingHttpHeaders,
  type ServerHttp2Stream,
} from 'node:http2'
import https from 'node:https'
import { type Server, Socket } from 'node:net'
import {
  exchangeOf,
  noteExchange,
  type ObservedExchange,
  type ServerMessage,
  type ServerObserver,
  type ServerReply,
} from '../../kernel/contracts/servers.ts'
import { isKernelServer } from '../../kernel/server/http-server.ts'
import { guard } from '../../lib/guard.ts'
import type { Request } from '../../lib/http/request.ts'
import { observeMethod } from '../../lib/observe-calls.ts'
import { endAll } from '../../lib/share.ts'

/**
 * Observes the requests of all HTTP servers of the process, except for those of kernels, until the returned
 * function is called. An upgrade is observed until its head is written; of the core API of HTTP/2, bodies are not.
 *
 * Node publishes the channel `http.server.request.start` before the application sees a request, with and without
 * TLS, however the server was made. A subscriber cannot run the application, so the context is entered, and
 * entered again for each event of the message and of its reply: from Node.js 24 on, the parser calls back in the
 * context of its connection. HTTP/2 has no such channel: there, its servers emit the request in its context.
 *
 * The methods of the prototypes are observed once. A symbol on the message and on the reply leads
 * to the exchange, so that a request costs no listener and no closure.
 */
export function watchHttpServers(observer: ServerObserver): () => void {
  const { context } = observer
  const begin = guard('a request', (message: ServerMessage, reply: ServerReply) => begun(observer, message, reply))
  const onStart = guard('a request', (event: unknown) => {
    const { request, response, server } = event as RequestStart
    if (isKernelServer(server)) return
    // Without an exchange, the request would run in the context of an earlier one on its connection.
    context.enter(begin(request, response)?.request)
  })
  subscribe('http.server.request.start', onStart)
  const beginStream = guard('a stream of HTTP/2', (server: Server, [, stream, headers, , rawHeaders]: unknown[]) => {
    const isOfCore = server.listenerCount('request') === 0 && server.listenerCount('stream') > 0
    return isOfCore ? begin(...toMessages(stream as ServerHttp2Stream, Object(headers), rawHeaders)) : undefined
  })
  const watchStream = guard('a stream of HTTP/2', (stream: object, exchange: ObservedExchange) => {
    restores.push(...noteClosing(stream, exchange, observer))
  })
  const restores = [
    () => unsubscribe('http.server.request.start', onStart),
    ...observeMessages(http.IncomingMessage.prototype, observer),
    ...observeReplies(http.ServerResponse.prototype, observer),
    ...observeMessages(Http2ServerRequest.prototype, observer),
    ...observeReplies(Http2ServerResponse.prototype, observer),
    observeSockets(observer),
    ...observeServers(observer, begin),
    // The classes are not exported.
    ...[http2.createServer(), http2.createSecureServer()].map(server =>
      observeMethod(Object.getPrototypeOf(server), 'emit', (self, args) => {
        const message = args[1]
        const reply = args[2]
        const isRequest = message instanceof Http2ServerRequest && reply instanceof Http2ServerResponse
        const isStream = args[0] === 'stream'
        let exchange = isStream ? beginStream(self as Server, args) : undefined
        if (isRequest && isRequestEvent(args[0])) exchange = begin(message, reply)
        if (exchange === undefined) return undefined
        watchStream(isStream ? Object(message) : (message as Http2ServerRequest).stream, exchange)
        return enter(observer, exchange.request)
      }),
    ),
  ]
  return endAll(restores)
}

/**
 * A message and a reply of the core API of HTTP/2, which has none. Those of Node would listen to
 * the stream, also to its errors.
 */
function toMessages(
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  rawHeaders: unknown,
): [Http2ServerRequest, Http2ServerResponse] {
  const { ':method': method, ':path': url } = headers
  const message = { stream, method, url, rawHeaders, socket: stream.session?.socket, readableDidRead: true }
  const withFields = (prototype: object, fields: object) =>
    Object.create(prototype, Object.getOwnPropertyDescriptors(fields))
  return [withFields(Http2ServerRequest.prototype, message), withFields(Http2ServerResponse.prototype, { stream })]
}

/** The prototypes of streams whose `close` and `emit` are observed. */
const watchedStreams = new WeakSet<object>()

/**
 * Notes that the code of the application closes a stream: afterwards it looks as if its client had
 * reset it. Their class is not exported.
 */
function noteClosing(stream: object, exchange: ObservedExchange, observer: ServerObserver): (() => void)[] {
  noteExchange(stream, exchange)
  let prototype: object = Object.getPrototypeOf(stream)
  while (!Object.hasOwn(prototype, 'close')) prototype = Object.getPrototypeOf(prototype)
  if (watchedStreams.has(prototype)) return []
  watchedStreams.add(prototype)
  const restore = observeMethod(prototype, 'close', self => {
    const exchange = exchangeOf(Object(self))
    return void (exchange && closeStream(exchange))
  })
  const restoreEmit = observeEmit(Object.getPrototypeOf(stream), observer, true)
  return [restore, restoreEmit, () => void watchedStreams.delete(prototype)]
}

/** Node itself ends a connection after its client has done so, or after a whole response. */
function observeSockets(observer: ServerObserver): () => void {
  const note = guard('the end of a connection', (socket: object) => observer.endSocket?.(socket))
  return observeMethod(Socket.prototype, 'end', socket => {
    if (!(socket as Socket).readableEnded) note(Object(socket))
  })
}

/**
 * Lets the observer answer a message before its server passes it to the application, and begins
 * the exchanges of upgrades: Node has no channel for these.
 */
function observeServers(
  observer: ServerObserver,
  begin: (message: IncomingMessage, reply: ServerResponse) => ObservedExchange | undefined,
): (() => void)[] {
  const { answer } = observer
  const answerOwn = guard(
    'a page of the profiler',
    (server: object, message: IncomingMessage, reply: ServerResponse) =>
      answer !== undefined && !isKernelServer(server) && answer(message, reply),
  )
  const upgrade = guard('an upgrade', (server: object, message: unknown, socket: object) => {
    if (isKernelServer(server) || !(message instanceof http.IncomingMessage)) return undefined
    const exchange = begin(message, new http.ServerResponse(message))
    if (exchange !== undefined) watchHead(socket, exchange)
    return exchange
  })
  return [http.Server.prototype, https.Server.prototype].map(prototype =>
    observeMethod(prototype, 'emit', (server, args) => {
      const message = args[1]
      const reply = args[2]
      if (args[0] === 'upgrade') {
        const exchange = upgrade(Object(server), message, Object(reply))
        return exchange && enter(observer, exchange.request)
      }
      const isRequest = args[0] === 'request' && message instanceof http.IncomingMessage
      const isOpen = isRequest && reply instanceof http.ServerResponse
      return isOpen && answerOwn(Object(server), message, reply) ? () => true : undefined
    }),
  )
}

/** Libraries write the head of an upgrade to the socket: it is in what is written first. */
function watchHead(socket: object, exchange: ObservedExchange): void {
  const end = guard('the end of an upgrade', (chunk: unknown) => {
    for (const stop of stops) stop()
    const text = chunk instanceof Uint8Array ? Buffer.from(chunk).toString('latin1') : chunk
    exchange.endUpgrade(typeof text === 'string' ? text.split('\r\n\r\n', 1)[0] : undefined)
  })
  const stops = [
    ...['write', 'end'].map(name =>
      observeMethod(socket, name, (_, [chunk]) => ({
        after: () => {
          if (isChunk(chunk)) end(chunk)
        },
      })),
    ),
    observeMethod(socket, 'emit', (_, [name]) => {
      if (name === 'close') end(undefined)
    }),
  ]
}

/** The events with which a server of HTTP/2 passes a message to the application. */
function isRequestEvent(name: unknown): boolean {
  return name === 'request' || name === 'checkContinue' || name === 'checkExpectation'
}

/** A message of the channel `http.server.request.start`. */
interface RequestStart {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly server: object
}

function begun(observer: ServerObserver, message: ServerMessage, reply: ServerReply): ObservedExchange | undefined {
  const exchange = observer.begin(message, reply)
  if (exchange === undefined) return undefined
  for (const part of [message, reply]) noteExchange(part, exchange)
  return exchange
}

/** The rest of a synchronous call works for a request. */
function enter({ context }: Pick<ServerObserver, 'context'>, request: Request) {
  const outer = context.current
  context.enter(request)
  return { after: () => void context.enter(outer) }
}

/** Runs the listeners of a message, and of a reply, in the context of its request. */
function observeEmit(
  prototype: object,
  observer: ServerObserver,
  isReply: boolean,
  endsExchange = isReply,
): () => void {
  return observeMethod(prototype, 'emit', (self, args) => {
    const exchange = exchangeOf(Object(self))
    if (exchange === undefined) return undefined
    const name = args[0]
    if (isReply && name === 'error') fail(exchange, args[1])
    else if (isReply && name === 'pipe') notePipe(exchange, args[1])
    else if (isReply && name === 'drain') noteDrain(exchange)
    else if (!isReply && (name === 'resume' || name === 'data')) beginReading(exchange, name === 'data')
    const isEnd = endsExchange && name === 'close'
    if (!isEnd && observer.context.current === exchange.request) return undefined
    const following = enter(observer, exchange.request)
    return isEnd ? endAfter(exchange, following) : following
  })
}

function endAfter(exchange: ObservedExchange, following: ReturnType<typeof enter>) {
  let isOver = false
  const end = () => {
    if (!isOver) endExchange(exchange)
    isOver = true
  }
  // A listener may throw.
  nextTick(end)
  return {
    after() {
      following.after()
      end()
    },
  }
}

const { nextTick } = process

function observeMessages(prototype: object, observer: ServerObserver): (() => void)[] {
  return [
    observeEmit(prototype, observer, false),
    observeMethod(prototype, 'push', (self, args) => {
      const exchange = exchangeOf(Object(self))
      if (exchange !== undefined) receive(exchange, args[0])
    }),
  ]
}

/** Each head is written by `writeHead`, which `write`, `end` and `flushHeaders` call. */
function observeReplies(prototype: ServerReply, observer: ServerObserver): (() => void)[] {
  const isHttp2 = prototype === Http2ServerResponse.prototype
  return [
    // Of HTTP/2, the stream ends the exchange.
    observeEmit(prototype, observer, true, !isHttp2),
    observeMethod(prototype, 'write', (reply, args) => {
      const exchange = exchangeOf(Object(reply))
      const chunk = args[0]
      if (exchange !== undefined && isChunk(chunk) && !(reply as ServerReply).writableEnded)
        noteChunk(exchange, chunk, args[1])
    }),
    observeMethod(prototype, 'end', (reply, args) => {
      const exchange = exchangeOf(Object(reply))
      if (exchange === undefined || (reply as ServerReply).writableEnded) return undefined
      const chunk = args[0]
      const encoding = args[1]
      const page = isChunk(chunk) ? replaceEnd(exchange, chunk, encoding) : undefined
      if (page !== undefined) args[0] = page
      return {
        after() {
          // Of HTTP/2, `end` calls `write` with its chunk.
          if (isChunk(chunk) && !isHttp2) noteChunk(exchange, chunk, encoding)
          finish(exchange)
        },
      }
    }),
    observeMethod(prototype, 'writeHead', (reply, args) => {
      const exchange = exchangeOf(Object(reply))
      // Another status is interim, or that of an upgrade by hand.
      if (exchange === undefined || (args[0] as number) < 200) return undefined
      if ((reply as ServerReply).headersSent) return { failed: error => void fail(exchange, error) }
      const at = typeof args[1] === 'string' || args[2] != null ? 2 : 1
      // Node refuses `null` of HTTP/2.
      if (!(isHttp2 && args[at] === null)) addFields(exchange, args, at)
      return { after: () => void noteHead(exchange) }
    }),
  ]
}

const receive = guard('the body of a request', (exchange: ObservedExchange, chunk: unknown) => exchange.receive(chunk))
const beginReading = guard('the body of a request', (exchange: ObservedExchange, hasPart: boolean) =>
  exchange.beginReading(hasPart),
)
const noteHead = guard('the head of a response', (exchange: ObservedExchange) => exchange.noteHead())
const noteChunk = guard(
  'the body of a response',
  (exchange: ObservedExchange, chunk: string | Uint8Array, encoding: unknown) => exchange.send(chunk, encoding),
)
const finish = guard('the end of a response', (exchange: ObservedExchange) => exchange.finish())
const closeStream = guard('the end of a stream', (exchange: ObservedExchange) => exchange.closeStream())
const fail = guard('an error of a response', (exchange: ObservedExchange, error: unknown) => exchange.fail(error))
const noteDrain = guard('the body of a response', (exchange: ObservedExchange) => exchange.drain())
const notePipe = guard('the stream of a response', (exchange: ObservedExchange, source: unknown) =>
  exchange.pipe(source),
)
const endExchange = guard('the end of a request', (exchange: ObservedExchange) => exchange.end())

const replaceEnd = guard(
  'the end of a page',
  (exchange: ObservedExchange, chunk: string | Uint8Array, encoding: unknown) => exchange.replaceEnd(chunk, encoding),
)

function isChunk(chunk: unknown): chunk is string | Uint8Array {
  return typeof chunk === 'string' || chunk instanceof Uint8Array
}

const noNames: readonly string[] = []

/** The names of fields for `writeHead`, in lower case: these are an object, names and values in turn, or pairs. */
function fieldNames(given: unknown): readonly string[] {
  if (typeof given !== 'object' || given === null) return noNames
  const names = Array.isArray(given) ? given.flat().filter((_, index) => index % 2 === 0) : Object.keys(given)
  return names.map(name => String(name).toLowerCase())
}

/**
 * Passes fields to `writeHead`, in the place of given ones with their names: with `setHeader`, the
 * application would find them, and Node would merge its own in another way.
 */
const addFields = guard('the fields of a response', (exchange: ObservedExchange, args: unknown[], at: number) => {
  const given = args[at]
  const names = fieldNames(given)
  const added = exchange.fieldsFor(names)
  if (added === undefined) return
  if (given === undefined) {
    args[at] = added
    return
  }
  const pairs = Object.entries(added)
  const isKept = (index: number) => !Object.hasOwn(added, names[index] ?? '')
  if (!Array.isArray(given)) {
    const kept = { ...(given as object | undefined) }
    for (const [index, name] of Object.keys(kept).entries()) if (!isKept(index)) Reflect.deleteProperty(kept, name)
    args[at] = { ...kept, ...added }
  } else if (Array.isArray(given[0])) args[at] = [...given.filter((_, index) => isKept(index)), ...pairs]
  else args[at] = [...given.filter((_, index) => isKept(index >> 1)), ...pairs.flat()]
})
