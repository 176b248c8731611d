import { channel } from 'node:diagnostics_channel'
import { Agent, ClientRequest, type IncomingMessage } from 'node:http'
import { beginHttpCall, type CallStart, type CallWork } from '../../kernel/contracts/calls.ts'
import { guard, listenTo, subscribeChannels } from '../../lib/guard.ts'
import { observeMethod } from '../../lib/observe-calls.ts'
import { isAtLeast } from '../../lib/optional-packages.ts'
import { endAll, share } from '../../lib/share.ts'
import { type Library, observeChunks } from './library.ts'

/** The clients of node:http and node:https, such as axios and got. */
export const nodeHttp: Library = {
  name: 'node:http',
  reports: 'calls',
  seenBy: 'channel',
  instrumentation: 'http',
  watch: share(watchNodeHttp),
}

/**
 * A new request is passed to its agent, with the options of its connection; before Node 22.12,
 * which publishes it, one without an agent is first seen with its connection.
 */
const newRequests = [
  [Agent.prototype, 'addRequest', (_: unknown, args: unknown[]) => args],
  ...(isAtLeast(process.versions.node, '22.12')
    ? []
    : ([[ClientRequest.prototype, 'onSocket', (request: unknown) => [request]]] as const)),
] as const

/** A message of the channels. */
interface HttpMessage {
  readonly request: SentRequest
  readonly response: IncomingMessage
  readonly error: unknown
}

/** A request, with what its types do not have. */
interface SentRequest extends ClientRequest {
  readonly agent?: object & { readonly addRequest?: unknown }
  readonly res?: IncomingMessage | null
  /** Milliseconds, of the option. */
  readonly timeout?: number
}

/** The part of the options of a request that its agent gets. */
interface ConnectionOptions {
  readonly port?: unknown
  readonly socketPath?: unknown
}

function watchNodeHttp(): () => void {
  const started = channel('http.client.request.start')
  /**
   * A message may be the first one of its request. Later ones run in the context of the
   * connection, which may belong to another request.
   */
  const calls = new WeakMap<object, CallWork | undefined>()
  /** The requests whose headers were reported: they do not change after the first chunk. */
  const noted = new WeakSet<object>()
  const begin = (request: SentRequest, options?: ConnectionOptions): CallWork | undefined => {
    if (!calls.has(request)) calls.set(request, beginHttpCall(toStart(request, options), started.publish))
    return calls.get(request)
  }
  const noteSent = (call: CallWork, request: SentRequest) => {
    if (call.noteSent === undefined || noted.has(request)) return
    noted.add(request)
    call.noteSent(flattenHeaders(request.getHeaders()))
  }
  const beginNew = (request: SentRequest, options?: ConnectionOptions) => {
    if (calls.has(request)) return
    const call = begin(request, options)
    const take =
      call?.takeSent &&
      ((chunk: unknown, encoding: unknown) => {
        noteSent(call, request)
        const isEncoded = typeof chunk === 'string' && typeof encoding === 'string' && Buffer.isEncoding(encoding)
        call.takeSent?.(isEncoded ? Buffer.from(chunk, encoding) : chunk)
      })
    observeChunks(request, 'write', take)
    observeChunks(request, 'end', take)
  }
  const restores = newRequests.map(([prototype, name, find]) =>
    observeMethod(prototype, name, (self, args) => {
      const [request, options] = find(self, args)
      beginNew(request as SentRequest, options as ConnectionOptions | undefined)
    }),
  )
  const unsubscribe = subscribeChannels({
    'http.client.request.created': listenTo<HttpMessage>(({ request }) => {
      // Unless its agent takes it by a method of its own, that of Node gets it next.
      if (request.agent?.addRequest !== Reflect.get(Agent.prototype, 'addRequest')) beginNew(request)
    }),
    'http.client.request.start': listenTo<HttpMessage>(({ request }) => {
      const call = begin(request)
      if (call === undefined) return
      noteSent(call, request)
      if (isUnlimited(request)) call.noteUnlimited?.()
      if (call.send === undefined) return
      const { socket } = request
      const send = guard('an HTTP client call', () => {
        call.send?.(socket)
        call.upload?.()
      })
      // Until then, the name of the host is looked up.
      if (socket?.connecting) socket.once('encrypted' in socket ? 'secureConnect' : 'connect', send)
      else send()
    }),
    // In spite of its name, this is published with the head of the response.
    'http.client.response.finish': listenTo<HttpMessage>(({ request, response }) => {
      const call = calls.get(request)
      if (call === undefined) return
      call.noteReceived(response.statusCode ?? 0, response.rawHeaders)
      // Node.js passes each chunk of the body to this method, and at its end `null`. The response
      // closes later, when it was read.
      observeChunks(response, 'push', chunk => {
        if (chunk === null && response.complete) call.finish()
        else call.takeReceived?.(chunk)
      })
      let isAborted = false
      observeMethod(request, 'destroy', () => {
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
  return endAll([unsubscribe, ...restores])
}

/** Whether no timeout of a call is seen, and no signal: it listens to the end of a call with a signal. */
function isUnlimited(request: SentRequest): boolean {
  return request.timeout === undefined && request.listenerCount('timeout') + request.listenerCount('close') === 0
}

/** The request is read only if the call is recorded. */
function toStart(request: SentRequest, options: ConnectionOptions = {}): CallStart {
  return {
    client: 'node:http',
    get method() {
      return request.method
    },
    get url() {
      return urlOf(request, options)
    },
    addHeaders(added) {
      // A list of headers is written at once.
      if (request.headersSent || request.getHeader(added[0]?.[0] ?? '') !== undefined) return
      for (const [name, value] of added) request.setHeader(name, value)
    },
  }
}

/**
 * Its server is that of the connection, where it is known: a reverse proxy keeps the Host of its client. With a proxy
 * the path is the whole URL.
 */
function urlOf(request: SentRequest, { port, socketPath }: ConnectionOptions): string {
  const { host, path, protocol } = request
  if (/^https?:/.test(path)) return path
  if (port === undefined || socketPath) return `${protocol}//${request.getHeader('host') ?? host}${path}`
  const name = host.includes(':') && !host.startsWith('[') ? `[${host}]` : host
  return `${protocol}//${name}${Number(port) === (protocol === 'https:' ? 443 : 80) ? '' : `:${port}`}${path}`
}

/** Headers as a list of names and values in turn. */
function flattenHeaders(headers: Readonly<Record<string, unknown>>): string[] {
  return Object.entries(headers).flatMap(([name, value]) => [value].flat().flatMap(each => [name, String(each)]))
}
