import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { type CallStart, CallTrace, type Carrier, type OutgoingCall } from './call-trace.ts'
import type { Trace } from './trace.ts'

/** The calls of fetch have 27 frames of node's own above that of whoever called it. */
const stackLimit = 50

/**
 * Knows outgoing requests by the object that stands for each in the client's messages. Whose they are is asked once,
 * when they begin: what is told of them later comes from a connection, and connections belong to whoever opened them.
 */
export class CallWatch {
  readonly #findTrace: () => Trace | undefined
  readonly #calls = new WeakMap<object, OutgoingCall | undefined>()

  constructor(findTrace: () => Trace | undefined) {
    this.#findTrace = findTrace
  }

  /** Notes a request on the trace that runs now, if there is one; a request that is known already stays whose it is. */
  begin(request: object, describe: () => CallStart): OutgoingCall | undefined {
    if (this.#calls.has(request)) return this.#calls.get(request)
    const trace = this.#findTrace()
    const call = trace && beginOn(trace, describe())
    this.#calls.set(request, call)
    return call
  }

  find(request: object): OutgoingCall | undefined {
    return this.#calls.get(request)
  }
}

function beginOn(trace: Trace, start: CallStart): OutgoingCall | undefined {
  trace.calls ??= new CallTrace()
  return trace.calls.begin(start, captureOrigin, trace)
}

function captureOrigin(): Error {
  const { stackTraceLimit } = Error
  Error.stackTraceLimit = stackLimit
  const origin = new Error()
  Error.stackTraceLimit = stackTraceLimit
  return origin
}

/** The parts that are read of what undici tells: the client behind the global fetch. */
interface FetchMessage {
  readonly request: { readonly method: string; readonly origin: string | URL; readonly path: string }
  readonly socket?: Carrier
  readonly response: { readonly statusCode: number; readonly headers: readonly unknown[] }
  readonly error: unknown
}

/** Notes requests of the global fetch, and of undici where the application uses it, until the returned function is called. */
export function watchFetch(calls: CallWatch): () => void {
  return subscribeChannels({
    'undici:request:create': listenTo<FetchMessage>(({ request }) => {
      const { method, origin, path } = request
      calls.begin(request, () => ({ client: 'fetch', method, url: `${origin}${path}` }))
    }),
    'undici:client:sendHeaders': listenTo<FetchMessage>(({ request, socket }) => calls.find(request)?.send(socket)),
    'undici:request:bodySent': listenTo<FetchMessage>(({ request }) => calls.find(request)?.upload()),
    'undici:request:headers': listenTo<FetchMessage>(({ request, response: { statusCode, headers } }) =>
      calls.find(request)?.receiveHead({ status: statusCode, length: findLength(headers) }),
    ),
    'undici:request:trailers': listenTo<FetchMessage>(({ request }) => calls.find(request)?.finish()),
    'undici:request:error': listenTo<FetchMessage>(({ request, error }) => calls.find(request)?.fail(error)),
  })
}

/** Names and values by turns, as bytes. */
function findLength(headers: readonly unknown[]): number | undefined {
  const index = headers.findIndex((name, index) => index % 2 === 0 && /^content-length$/i.test(String(name)))
  return index === -1 ? undefined : Number(headers[index + 1])
}

/** The parts that are looked at of what node:http tells. */
interface HttpMessage {
  readonly request: ClientRequest
  readonly response: IncomingResponse
  readonly error: unknown
}

interface ClientRequest {
  readonly method: string
  readonly protocol: string
  readonly host: string
  readonly path: string
  readonly socket: Carrier | null
  getHeader(name: string): unknown
}

interface IncomingResponse {
  readonly statusCode: number
  readonly headers: Readonly<Record<string, unknown>>
  readonly complete: boolean
  once(event: 'close', listener: () => void): void
}

/**
 * Notes requests of node:http and node:https until the returned function is called. Node 20 tells of a request when all
 * of it is sent; from Node 22 on, already when it is created.
 */
export function watchNodeHttp(calls: CallWatch): () => void {
  const begin = (request: ClientRequest): OutgoingCall | undefined =>
    calls.begin(request, () => ({ client: 'node:http', method: request.method, url: urlOf(request) }))
  return subscribeChannels({
    'http.client.request.created': listenTo<HttpMessage>(({ request }) => begin(request)),
    'http.client.request.start': listenTo<HttpMessage>(({ request }) => {
      const call = begin(request)
      call?.send(request.socket)
      call?.upload()
    }),
    // Its name promises more: it is told when the head of the response is there.
    'http.client.response.finish': listenTo<HttpMessage>(({ request, response }) => {
      const call = calls.find(request)
      if (call === undefined) return
      call.receiveHead({ status: response.statusCode, length: lengthOf(response) })
      response.once('close', () => (response.complete ? call.finish() : call.fail('The response was cut off.')))
    }),
    'http.client.request.error': listenTo<HttpMessage>(({ request, error }) => begin(request)?.fail(error)),
  })
}

/** Through a proxy the path is the whole URL. */
function urlOf(request: ClientRequest): string {
  const { host, path, protocol } = request
  return /^https?:/.test(path) ? path : `${protocol}//${request.getHeader('host') ?? host}${path}`
}

function lengthOf({ headers }: IncomingResponse): number | undefined {
  const length = headers['content-length']
  return length === undefined ? undefined : Number(length)
}

/**
 * Listens to diagnostics channels, each by its name, until the returned function is called. Whoever publishes there
 * may have changed what a message holds: what a listener throws is dropped, because node would end the process for it.
 */
export function subscribeChannels(listeners: Readonly<Record<string, (message: unknown) => void>>): () => void {
  const guarded = Object.entries(listeners).map(([name, listen]): [string, (message: unknown) => void] => [
    name,
    message => {
      try {
        listen(message)
      } catch {
        // The application goes on; the profile has a gap.
      }
    },
  ])
  for (const [name, listener] of guarded) subscribe(name, listener)
  return () => {
    for (const [name, listener] of guarded) unsubscribe(name, listener)
  }
}

/** A message has the documented shape; if a later version changes it, the guard of the channel takes what is thrown. */
function listenTo<Message>(take: (message: Message) => void): (message: unknown) => void {
  return message => take(message as Message)
}
