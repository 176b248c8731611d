import { RequestBody } from '../../lib/body/request-body.ts'
import { createEventDispatcher } from '../../lib/event-dispatcher/event-dispatcher.ts'
import { Headers, type HeadersInit } from '../../lib/http/headers.ts'
import { Request } from '../../lib/http/request.ts'
import { Response } from '../../lib/http/response.ts'
import type { TrustedProxies } from '../../lib/http/trusted-proxies.ts'
import type { Logger } from '../../lib/log/logger.ts'
import { Session } from '../../lib/session/session.ts'
import { MemorySessionStore } from '../../lib/session/session-store.ts'
import { type RequestHandler, toController } from '../controller.ts'
import { ControllerResolver } from '../controller-resolver.ts'
import {
  ControllerArgumentsEvent,
  ControllerEvent,
  ExceptionEvent,
  FinishRequestEvent,
  RequestEvent,
  type RequestKernel,
  ResponseEvent,
  TerminateEvent,
  ViewEvent,
} from '../events.ts'
import { HttpKernel } from '../http-kernel.ts'
import { RequestContext } from '../request-context.ts'
import { encodeBody, type TestBody } from './test-body.ts'

/** What a request of a test has beside its target. */
export interface TestRequestInit extends TestBody {
  readonly headers?: HeadersInit
  /** What listeners before the tested one would have attached: `_route`, say, or a route's parameters. */
  readonly attributes?: Readonly<Record<string, unknown>>
  /** What the client's session holds, for listeners that are tested without a kernel. */
  readonly session?: Readonly<Record<string, unknown>>
  /** The other end of the connection: this machine unless told else. */
  readonly remoteAddress?: string
  /** Whose `X-Forwarded-…` headers are believed: nobody's unless told else. */
  readonly trustedProxies?: TrustedProxies
}

/** What an event is made with; everything that is not said is as plain as can be. */
export interface EventInit {
  readonly request?: Request
  /** One without listeners unless told else. */
  readonly kernel?: RequestKernel
}

/** What an event with a response is made with. */
export interface ResponseEventInit extends EventInit {
  /** An empty one of status 200 unless told else. */
  readonly response?: Response
}

/** What the last event of a request is made with. */
export interface TerminateEventInit extends ResponseEventInit {
  /** False for a client that has left before. */
  readonly isSent?: boolean
  readonly streamError?: unknown
}

/**
 * Creates a request: a GET from this machine, for `http://localhost`, unless told else. A target may be a path or a URL:
 * `https://shop.test/cart` is a request for that host, over TLS.
 */
export function createRequest(target = '/', init: TestRequestInit & { readonly method?: string } = {}): Request {
  const { attributes = {}, method = 'GET', remoteAddress = '127.0.0.1', session, trustedProxies } = init
  const [, scheme = 'http', host = 'localhost', rest = target] = /^(https?):\/\/([^/?]+)(.*)$/i.exec(target) ?? []
  const sent = new Headers(init.headers)
  const headers = sent.has('host') ? sent : new Headers([['host', host], ...sent])
  const source = encodeBody(init, headers.get('content-type'))
  if (source !== undefined) {
    headers.set('content-type', String(source.contentType))
    if (source.length === undefined) headers.set('transfer-encoding', 'chunked')
    else headers.set('content-length', String(source.length))
  }
  const request = new Request({
    method,
    target: rest.startsWith('/') || rest === target ? rest : `/${rest}`,
    headers,
    connection: { remoteAddress, encrypted: scheme.toLowerCase() === 'https' },
    ...(trustedProxies && { trustedProxies }),
    ...(source && { body: new RequestBody(source) }),
  })
  for (const [name, value] of Object.entries(attributes)) request.attributes.set(name, value)
  if (session !== undefined) request.provideSession(() => createSession(session))
  return request
}

function createSession(attributes: Readonly<Record<string, unknown>>): Session {
  const store = new MemorySessionStore()
  const now = Date.now()
  const lifetime = 3600
  // In memory it is there at once.
  void store.write('test', { createdAt: now, lastUsedAt: now, attributes, flashes: {} }, lifetime)
  return new Session({ store, lifetime, id: 'test' })
}

/** Creates the first event of a request. */
export function createRequestEvent(init: EventInit = {}): RequestEvent {
  return new RequestEvent(...common(init))
}

/** Creates the event of a controller that was found: one that answers nothing much, unless told else. */
export function createControllerEvent(handler: RequestHandler = answer, init: EventInit = {}): ControllerEvent {
  return new ControllerEvent(...common(init), toController(handler))
}

/** Creates the event of a controller whose arguments are resolved: the request alone, unless told else. */
export function createControllerArgumentsEvent(
  handler: RequestHandler = answer,
  values?: unknown[],
  init: EventInit = {},
): ControllerArgumentsEvent {
  const [kernel, request] = common(init)
  return new ControllerArgumentsEvent(kernel, request, toController(handler), values ?? [request])
}

/** Creates the event of a controller that has returned something else than a response: an empty object, unless told else. */
export function createViewEvent(result: unknown = {}, init: EventInit = {}): ViewEvent {
  return new ViewEvent(...common(init), result)
}

/** Creates the event of a response that is built. */
export function createResponseEvent(init: ResponseEventInit = {}): ResponseEvent {
  return new ResponseEvent(...common(init), init.response ?? new Response())
}

/** Creates the event of a request that is handled. */
export function createFinishRequestEvent(init: EventInit = {}): FinishRequestEvent {
  return new FinishRequestEvent(...common(init))
}

/** Creates the event of something that was thrown. */
export function createExceptionEvent(
  error: unknown = new Error('Something failed.'),
  init: EventInit = {},
): ExceptionEvent {
  return new ExceptionEvent(...common(init), error)
}

/** Creates the event of a response that was sent. */
export function createTerminateEvent(init: TerminateEventInit = {}): TerminateEvent {
  const [kernel, request] = common(init)
  return new TerminateEvent(kernel, request, init.response ?? new Response(), init.isSent, init.streamError)
}

function common({ kernel = createKernel(), request = createRequest() }: EventInit): [RequestKernel, Request] {
  return [kernel, request]
}

function createKernel(): HttpKernel {
  return new HttpKernel({
    dispatcher: createEventDispatcher(),
    controllers: new ControllerResolver(),
    context: new RequestContext(),
    logger: silentLogger,
  })
}

function answer(): Response {
  return new Response()
}

function ignore(): void {}

/** A logger that says nothing. */
export const silentLogger: Logger = {
  debug: ignore,
  info: ignore,
  warning: ignore,
  error: ignore,
  critical: ignore,
  channel: () => silentLogger,
  observe: () => ignore,
}
