import { Agent, ClientRequest } from 'node:http'
import { parseTraceParent } from '../../../../kernel/contracts/trace-context.ts'
import { guard, listenTo, subscribeChannels } from '../../../../lib/guard.ts'
import { observeMethod } from '../../../../lib/observe-calls.ts'
import { isAtLeast } from '../../../../lib/optional-packages.ts'
import { type MaskingCopier, maskAndCut } from '../../../../lib/redact/masking-copier.ts'
import type { Redactor } from '../../../../lib/redact/redactor.ts'
import { type Caller, Callers, createCallerSearch, type Running } from '../../../../lib/stack/callers.ts'
import { joinPeriods, type Period, subtractPeriods, totalOf } from '../../profile/work.ts'
import type { FindRunning } from '../../record/code-places.ts'
import type { CollectorOf } from '../../record/collect.ts'
import { type ContentCopier, createCallCopier } from '../../record/copy.ts'
import type { RecordedSubject } from '../../record/recorded-subject.ts'
import type { FindTrace, Trace } from '../../record/trace.ts'
import type { HttpCall } from './data.ts'
import { isLate } from './read.ts'
import {
  type CallSocket,
  type CallStart,
  callPart,
  flattenHeaders,
  parseSentHeaders,
  type TracedCall,
  toTexts,
} from './traced-calls.ts'

/** The HTTP client calls, by fetch and by the modules of Node.js. In production, `fetch` stays as it is. */
export const httpSubject: RecordedSubject = {
  observeProcess: ({ debugGate }) => (debugGate.isDebug ? [watchSignals()] : []),
  createCollectors: ({ redactor }, { contents }) => [createHttpCollector(redactor, contents)],
  observeLibraries({ directory }, { findRunning, findTrace }) {
    const calls = new CallWatch(findTrace, new Callers(directory), findRunning)
    return [watchFetch(calls), watchNodeHttp(calls)]
  },
}

const urlLength = 2000

const errorLength = 500

/** Collects the HTTP client calls, how they ended, and where they were made. */
function createHttpCollector(redactor: Redactor, contents: ContentCopier): CollectorOf<'http'> {
  /** Late work collects the calls of a request again, but those that have ended stay the same. */
  const described = new WeakMap<TracedCall, HttpCall>()
  return {
    name: 'http',
    collectsLate: true,
    collect(trace) {
      const calls = callPart.find(trace)
      if (calls === undefined) return undefined
      const copier = createCallCopier(redactor)
      return {
        calls: calls.calls.map(call => {
          const data = described.get(call) ?? describe(call, redactor, copier, contents)
          if (call.end !== undefined) described.set(call, data)
          return data
        }),
        omitted: calls.count - calls.calls.length,
        more: calls.more.toData(),
      }
    },
    summarize: trace => ({ calls: callPart.find(trace)?.count ?? 0 }),
    hasWorked(trace, since) {
      const { calls = [], more } = callPart.find(trace) ?? {}
      return calls.some(call => isLate(call, since)) || (more !== undefined && more.latest > since)
    },
    measure(traces, stopsOf) {
      const time = traces.reduce((sum, trace) => sum + timeOfCalls(trace, stopsOf(trace)), 0)
      return time > 0 ? [['http', 'HTTP client calls', time]] : []
    },
  }
}

/** The time of the HTTP client calls; overlapping calls count once. */
function timeOfCalls(trace: Trace, stops: readonly Period[]): number {
  const traced = callPart.find(trace)
  if (traced === undefined) return 0
  const now = trace.elapsed()
  const calls = traced.calls.map(({ end = now, start }) => ({ start, duration: end - start }))
  return totalOf(subtractPeriods(joinPeriods([...calls, ...traced.more.periods]), joinPeriods(stops)))
}

/** Fields without a value are left out: a call without an end was still running. */
function describe(call: TracedCall, redactor: Redactor, copier: MaskingCopier, contents: ContentCopier): HttpCall {
  const { client, method, start, sent, uploaded, head, end, status, bytes, caller, spanId } = call
  return {
    client,
    method,
    url: maskAndCut(call.url, urlLength, redactor),
    start,
    sent,
    uploaded,
    head,
    end,
    status,
    bytes,
    isCounted: call.isCounted,
    isUnlimited: call.isUnlimited,
    isAborted: call.isAborted,
    error: call.error === undefined ? undefined : maskAndCut(call.error, errorLength, redactor),
    caller,
    spanId,
    request: call.sentMessage?.describe(copier, contents),
    response: call.receivedMessage?.describe(copier, contents),
  }
}

/**
 * Finds an HTTP client call by the request object in the messages of the client. The trace of a call is found when it
 * begins: later messages run in the context of the connection, which may belong to another request.
 */
class CallWatch {
  readonly #findTrace: FindTrace
  readonly #findCaller: () => Caller | undefined
  readonly #findRunning: FindRunning
  readonly #calls = new WeakMap<object, TracedCall | undefined>()

  constructor(findTrace: FindTrace, callers: Callers, findRunning: FindRunning) {
    this.#findRunning = findRunning
    this.#findTrace = findTrace
    const search = createCallerSearch(callers, 'undici:request:create')
    // A call of the global fetch has many frames of node between its caller and the message.
    this.#findCaller = () => {
      const below = findStartingFetch()?.below
      return below === undefined ? search() : callers.find(below)
    }
  }

  /**
   * Records a call on the trace of the current request, once; later calls for the same object return the first result.
   */
  begin(request: object, describe: () => CallStart): TracedCall | undefined {
    if (this.#calls.has(request)) return this.#calls.get(request)
    const trace = this.#findTrace()
    const call = trace && this.#beginOn(trace, describe())
    this.#calls.set(request, call)
    return call
  }

  has(request: object): boolean {
    return this.#calls.has(request)
  }

  find(request: object): TracedCall | undefined {
    return this.#calls.get(request)
  }

  #beginOn(trace: Trace, start: CallStart): TracedCall | undefined {
    return callPart.of(trace).begin(start, () => this.#findCaller() ?? this.#findRunning(trace), trace)
  }
}

/** The part of a message that is read; undici is the client behind the global fetch. */
interface FetchMessage {
  readonly request: { readonly method: string; readonly origin: string | URL; readonly path: string }
  readonly socket?: CallSocket
  /** The head of the request as it is sent. */
  readonly headers?: unknown
  readonly response: { readonly statusCode: number; readonly headers: readonly unknown[] }
  readonly error: unknown
  /** A part of a body. */
  readonly chunk?: unknown
}

/** Records calls of the global fetch, and of undici, until the returned function is called. */
function watchFetch(calls: CallWatch): () => void {
  return subscribeChannels({
    'undici:request:create': listenTo<FetchMessage>(({ request }) => {
      const { method, origin, path } = request
      const { isLimited, signal } = findStartingFetch() ?? {}
      const isUnlimited = isLimited === false || undefined
      const call = calls.begin(request, () => ({
        client: 'fetch',
        method,
        url: `${origin}${path}`,
        isUnlimited,
        signal,
      }))
      if (call === undefined) return
      observe(request, 'onBodySent', chunk => call.sentMessage?.take(chunk))
      observe(request, 'onData', chunk => call.receivedMessage?.take(chunk))
    }),
    'undici:client:sendHeaders': listenTo<FetchMessage>(({ headers, request, socket }) => {
      const call = calls.find(request)
      const [, traceparent = ''] = /^traceparent: *(\S+)/im.exec(String(headers)) ?? []
      call?.noteSent(parseSentHeaders(headers))
      call?.send(socket, parseTraceParent(traceparent)?.parentId)
    }),
    'undici:request:bodySent': listenTo<FetchMessage>(({ request }) => calls.find(request)?.upload()),
    'undici:request:headers': listenTo<FetchMessage>(({ request, response: { statusCode, headers } }) => {
      const call = calls.find(request)
      call?.noteReceived(toTexts(headers))
      call?.receiveHead({ status: statusCode, length: findLength(headers) })
    }),
    // Newer versions publish the chunks. Those with the methods are observed already.
    'undici:request:bodyChunkSent': listenTo<FetchMessage>(({ chunk, request }) => {
      if (!('onBodySent' in request)) calls.find(request)?.sentMessage?.take(chunk)
    }),
    'undici:request:bodyChunkReceived': listenTo<FetchMessage>(({ chunk, request }) => {
      if (!('onData' in request)) calls.find(request)?.receivedMessage?.take(chunk)
    }),
    'undici:request:trailers': listenTo<FetchMessage>(({ request }) => calls.find(request)?.finish()),
    'undici:request:error': listenTo<FetchMessage>(({ request, error }) => calls.find(request)?.fail(error)),
  })
}

/**
 * Observes a method of a request or response, such as one to which each chunk of a body is passed. It gets the same values in the
 * same order, and its results stay as they are. No stream is read, so a paused one stays paused.
 */
function observe(
  message: object,
  name: 'onBodySent' | 'onData' | 'write' | 'end' | 'push' | 'destroy',
  take: (chunk: unknown, encoding?: unknown) => void,
): void {
  const note = guard('an HTTP client call', take)
  observeMethod(message, name, (_, args) => void note(args[0], args[1]))
}

/** The headers are names and values in turn, as bytes. */
function findLength(headers: readonly unknown[]): number | undefined {
  const index = headers.findIndex((name, index) => index % 2 === 0 && /^content-length$/i.test(String(name)))
  return index === -1 ? undefined : Number(headers[index + 1])
}

/** The part of a message of node:http that is read. */
interface HttpMessage {
  readonly request: SentRequest
  readonly response: IncomingResponse
  readonly error: unknown
}

interface SentRequest {
  readonly method: string
  readonly protocol: string
  readonly host: string
  readonly path: string
  readonly socket: ConnectingSocket | null
  /** Whether its caller has destroyed it, or its connection has closed. */
  readonly destroyed: boolean
  readonly res?: IncomingResponse | null
  /** Milliseconds, of the option. */
  readonly timeout?: number
  getHeader(name: string): unknown
  listenerCount(event: string): number
  getHeaders(): Readonly<Record<string, unknown>>
}

interface ConnectingSocket extends CallSocket {
  readonly connecting?: boolean
  once(event: string, listener: () => void): void
}

interface IncomingResponse {
  readonly statusCode: number
  readonly headers: Readonly<Record<string, unknown>>
  readonly rawHeaders: readonly string[]
  readonly complete: boolean
  readonly destroyed: boolean
  readonly errored: Error | null
  once(event: 'close', listener: () => void): void
}

/** Before Node 22.12, `http.client.request.created` is not published: a new request is passed to its agent, or gets its connection. */
const newRequests = isAtLeast(process.versions.node, '22.12')
  ? []
  : ([
      [Agent.prototype, 'addRequest', (_: unknown, [request]: unknown[]) => request],
      [ClientRequest.prototype, 'onSocket', (request: unknown) => request],
    ] as const)

/** Records calls of node:http and node:https until the returned function is called. */
function watchNodeHttp(calls: CallWatch): () => void {
  const begin = (request: SentRequest): TracedCall | undefined =>
    calls.begin(request, () => ({ client: 'node:http', method: request.method, url: urlOf(request) }))
  const beginNew = (request: SentRequest) => {
    if (calls.has(request)) return
    const call = begin(request)
    if (call === undefined) return
    const take = (chunk: unknown, encoding: unknown) => takeSent(call, request, chunk, encoding)
    observe(request, 'write', take)
    observe(request, 'end', take)
  }
  const restores = newRequests.map(([prototype, name, find]) =>
    observeMethod(prototype, name, (self, args) => void beginNew(find(self, args) as SentRequest)),
  )
  const unsubscribe = subscribeChannels({
    'http.client.request.created': listenTo<HttpMessage>(({ request }) => beginNew(request)),
    'http.client.request.start': listenTo<HttpMessage>(({ request }) => {
      const call = begin(request)
      if (call?.sentMessage === undefined) call?.noteSent(flattenHeaders(request.getHeaders()))
      if (call === undefined) return
      if (isUnlimited(request)) call.isUnlimited = true
      const { socket } = request
      const send = guard('an HTTP client call', () => {
        call.send(socket, parseTraceParent(String(request.getHeader('traceparent')))?.parentId)
        call.upload()
      })
      // Until then, the name of the host is looked up.
      if (socket?.connecting) socket.once('encrypted' in socket ? 'secureConnect' : 'connect', send)
      else send()
    }),
    // In spite of its name, this is published with the head of the response.
    'http.client.response.finish': listenTo<HttpMessage>(({ request, response }) => {
      const call = calls.find(request)
      if (call === undefined) return
      call.noteReceived(response.rawHeaders)
      // Node.js passes each chunk of the body to this method, and at its end `null`. The response closes later, when it was read.
      observe(response, 'push', chunk => {
        if (chunk === null && response.complete) call.finish()
        else call.receivedMessage?.take(chunk)
      })
      call.receiveHead({ status: response.statusCode, length: lengthOf(response) })
      let isAborted = false
      observe(request, 'destroy', () => {
        isAborted = true
      })
      const onClose = guard('an HTTP client call', () => {
        // Node.js destroys a response that was cut off with an error.
        if (!response.complete) call.fail('The response was cut off.', isAborted || response.errored === null)
      })
      response.once('close', onClose)
    }),
    // An error of the connection is reported before Node.js itself destroys the request and the response.
    'http.client.request.error': listenTo<HttpMessage>(({ request, error }) =>
      begin(request)?.fail(error, request.destroyed || request.res?.destroyed === true),
    ),
  })
  return () => {
    for (const restore of [unsubscribe, ...restores]) restore()
  }
}

/** Whether no timeout of a call of node:http is seen, and no signal: it listens to the end of a call with a signal. */
function isUnlimited(request: SentRequest): boolean {
  return request.timeout === undefined && request.listenerCount('timeout') + request.listenerCount('close') === 0
}

/** The headers do not change after the first chunk. */
function takeSent(call: TracedCall, request: SentRequest, chunk: unknown, encoding: unknown): void {
  if (call.sentMessage === undefined) call.noteSent(flattenHeaders(request.getHeaders()))
  const isEncoded = typeof chunk === 'string' && typeof encoding === 'string' && Buffer.isEncoding(encoding)
  call.sentMessage?.take(isEncoded ? Buffer.from(chunk, encoding) : chunk)
}

/** With a proxy the path is the whole URL. */
function urlOf(request: SentRequest): string {
  const { host, path, protocol } = request
  return /^https?:/.test(path) ? path : `${protocol}//${request.getHeader('host') ?? host}${path}`
}

function lengthOf({ headers }: IncomingResponse): number | undefined {
  const length = headers['content-length']
  return length === undefined ? undefined : Number(length)
}

/** A call of the global fetch that is about to create its request. */
interface StartingFetch {
  /** Whether a signal or a dispatcher of the application may end it. */
  readonly isLimited: boolean
  readonly signal: AbortSignal | undefined
  /** The function that the application has called. */
  readonly below: Running
}

let starting: StartingFetch | undefined

/** The call of the global fetch that runs now, in its synchronous part; `undefined` unless it is watched. */
export function findStartingFetch(): StartingFetch | undefined {
  return starting
}

/** The global fetch belongs to the process, and so do its watches: a process may have several kernels. */
const watches = new Set<symbol>()

let restore: (() => void) | undefined

/**
 * Watches which calls of the global fetch have a signal, until the returned function is called: undici does not report it. The
 * function behaves as before.
 */
export function watchSignals(): () => void {
  const watch = Symbol()
  watches.add(watch)
  restore ??= patch()
  return () => {
    watches.delete(watch)
    if (watches.size > 0) return
    restore?.()
    restore = undefined
  }
}

/** Where undici has the dispatcher of the calls without one of their own; that of Node.js reads one of both. */
const globalDispatcher = Symbol.for(`undici.globalDispatcher.${isAtLeast(process.versions.undici ?? '0', '8') ? 2 : 1}`)

/** Whether it is a dispatcher of undici without any option of the application: without one, Node.js makes it with the first call. */
function isDefault(dispatcher: object | undefined): boolean {
  if (dispatcher === undefined) return true
  const prototype = Object(Object.getPrototypeOf(dispatcher))
  const key = Object.getOwnPropertySymbols(dispatcher).find(({ description }) => description === 'options')
  // A dispatcher with interceptors has another method.
  const isAgent = prototype.constructor?.name === 'Agent' && Reflect.get(dispatcher, 'dispatch') === prototype.dispatch
  const options: unknown[] = Object.values(Object(key && Reflect.get(dispatcher, key)))
  return isAgent && options.every(value => value === undefined || value === Infinity)
}

function patch(): () => void {
  const { fetch: original } = globalThis
  // With `--no-experimental-fetch` there is none, and nothing is observed.
  return observeMethod(globalThis, 'fetch', (_, args) => {
    const outer = starting
    starting = describeFetch(args as Parameters<typeof fetch>, original)
    return {
      after(result) {
        starting = outer
        return result
      },
    }
  })
}

const describeFetch = guard('fetch', (values: Parameters<typeof fetch>, below: Running): StartingFetch => {
  const signal = findSignal(...values)
  return { isLimited: isLimited(signal, ...values), signal, below }
})

/** A `Request` has a signal in any case, so it may be that of the application. */
function findSignal(...[input, init]: Parameters<typeof fetch>): AbortSignal | undefined {
  return init?.signal ?? (input instanceof globalThis.Request ? input.signal : undefined)
}

/** A dispatcher may have a timeout. */
function isLimited(signal: AbortSignal | undefined, ...[, init]: Parameters<typeof fetch>): boolean {
  return signal !== undefined || !isDefault(init?.dispatcher ?? Reflect.get(globalThis, globalDispatcher))
}
