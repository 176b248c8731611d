import { randomBytes } from 'node:crypto'
import { Readable } from 'node:stream'
import type { BodySource } from '../../lib/body/body-source.ts'
import { encodeMultipart, type MultipartPart } from '../../lib/body/multipart.ts'
import { RequestBody } from '../../lib/body/request-body.ts'
import { ARGUMENT_INVALID, checkOptions, checkString } from '../../lib/errors/arguments.ts'
import { createEventDispatcher } from '../../lib/event-dispatcher/event-dispatcher.ts'
import { Headers, type HeadersInit } from '../../lib/http/headers.ts'
import { Request, type RequestInit } from '../../lib/http/request.ts'
import { Response } from '../../lib/http/response.ts'
import type { TrustedProxies } from '../../lib/http/trusted-proxies.ts'
import type { Logger } from '../../lib/log/logger.ts'
import type { RequestHandler } from '../../lib/routing/route-collection.ts'
import { Session } from '../../lib/session/session.ts'
import { MemorySessionStore } from '../../lib/session/session-store.ts'
import { describeValue, isPlainObject, wayIntoJson } from '../../lib/text/describe-value.ts'
import type { ShapeOf } from '../../lib/text/mistakes.ts'
import { ControllerResolver, toController } from '../controller.ts'
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

/** The parts of a test's request, apart from its target. */
export interface TestRequestInit extends TestBody {
  /** The header fields of the request. */
  readonly headers?: HeadersInit
  /** Attributes that earlier listeners would have set, such as `_route` or the parameters of the route. */
  readonly attributes?: Readonly<Record<string, unknown>>
  /** The content of the session, for tests of listeners without a kernel. */
  readonly session?: Readonly<Record<string, unknown>>
  /** The address of the client; this machine by default. */
  readonly remoteAddress?: string
  /** Proxies whose `X-Forwarded-…` headers are trusted; none by default. */
  readonly trustedProxies?: TrustedProxies
}

/** The shape of the options, and of the parts that a test client adds. */
const requestShape: ShapeOf<TestRequestInit & Pick<RequestInit, 'method' | 'reply'> & { readonly redirect?: string }> =
  {
    body: true,
    json: true,
    form: true,
    upload: true,
    headers: true,
    attributes: 'object',
    session: 'object',
    remoteAddress: 'string',
    trustedProxies: 'object',
    method: 'string',
    reply: true,
    redirect: true,
  }

/** The parts of an event that a test may choose: its request and its kernel. */
export interface EventInit {
  /** The request of the event. The default is that of `createRequest()`. */
  readonly request?: Request
  /** A kernel without listeners by default. */
  readonly kernel?: RequestKernel
}

/** The parts of an event with a response: those of `EventInit`, and the response. */
export interface ResponseEventInit extends EventInit {
  /** An empty response with status 200 by default. */
  readonly response?: Response
}

/** The parts of `kernel.terminate`: those of `ResponseEventInit`, and whether the response was sent. */
export interface TerminateEventInit extends ResponseEventInit {
  /** `false` if the client has left before. */
  readonly isSent?: boolean
  /** The error of the body, if it is a stream that has failed. */
  readonly streamError?: unknown
  /** The bytes of a stream that were sent. */
  readonly sentBytes?: number
}

const eventShape: ShapeOf<TerminateEventInit> = {
  request: 'object',
  kernel: 'object',
  response: 'object',
  isSent: 'boolean',
  streamError: true,
  sentBytes: 'number',
}

/**
 * Creates a request; by default a GET of `http://localhost/` from this machine. The target is a path or a URL:
 * `https://shop.test/cart` makes a request for that host, over TLS.
 */
export function createRequest(
  target = '/',
  init: TestRequestInit & Pick<RequestInit, 'method' | 'reply'> = {},
): Request {
  checkString('A request of a test', 'the target', target)
  checkOptions('A request of a test', init, requestShape)
  const { attributes = {}, method = 'GET', remoteAddress = '127.0.0.1', session, trustedProxies } = init
  const [, scheme = 'http', host = 'localhost', rest = target] = /^(https?):\/\/([^/?]+)(.*)$/i.exec(target) ?? []
  const sent = new Headers(init.headers)
  const headers = sent.has('host') ? sent : new Headers([['host', host], ...sent])
  const source = encodeBody(init, headers.get('content-type'))
  if (source !== undefined) {
    headers.set('content-type', source.contentType ?? '')
    if (source.length === undefined) headers.set('transfer-encoding', 'chunked')
    else headers.set('content-length', String(source.length))
  }
  const request = new Request({
    method,
    target: rest.startsWith('/') || rest === target ? rest : `/${rest}`,
    headers,
    connection: { remoteAddress, encrypted: scheme.toLowerCase() === 'https' },
    ...(trustedProxies && { trustedProxies }),
    reply: init.reply,
    ...(source && { body: new RequestBody(source) }),
  })
  for (const [name, value] of Object.entries(attributes)) request.attributes.set(name, value)
  if (session !== undefined) request.provideSession(() => createSession(session))
  return request
}

function createSession(attributes: Readonly<Record<string, unknown>>): Session {
  const store = new MemorySessionStore()
  const now = Date.now()
  const times = { lifetime: 3600, idleTime: 3600 }
  // A write to memory is done at once.
  void store.insert('test', { createdAt: now, lastUsedAt: now, expiresAt: now + 3_600_000, attributes, flashes: {} })
  return new Session({ store, times, id: 'test' })
}

/** Creates the first event of a request. */
export function createRequestEvent(init: EventInit = {}): RequestEvent {
  return new RequestEvent(...common(init))
}

/** Creates the event of a known controller; by default its answer is empty. */
export function createControllerEvent(handler: RequestHandler = answer, init: EventInit = {}): ControllerEvent {
  return new ControllerEvent(...common(init), toController(handler))
}

/** Creates the event of resolved arguments; by default these are the request and the parameters of its route. */
export function createControllerArgumentsEvent(
  handler: RequestHandler = answer,
  values?: unknown[],
  init: EventInit = {},
): ControllerArgumentsEvent {
  const [kernel, request] = common(init)
  const controller = toController(handler)
  const resolved = values ?? controller.arguments.map(source => source(request))
  return new ControllerArgumentsEvent(kernel, request, controller, resolved)
}

/** Creates the event of a controller whose result is not a response; by default an empty object. */
export function createViewEvent(result: unknown = {}, init: EventInit = {}): ViewEvent {
  return new ViewEvent(...common(init), result)
}

/** Creates the event of a response. */
export function createResponseEvent(init: ResponseEventInit = {}): ResponseEvent {
  return new ResponseEvent(...common(init), init.response ?? new Response())
}

/** Creates the event of a handled request. */
export function createFinishRequestEvent(init: EventInit = {}): FinishRequestEvent {
  return new FinishRequestEvent(...common(init))
}

/** Creates the event of a thrown value. */
export function createExceptionEvent(
  error: unknown = new Error('Something failed.'),
  init: EventInit = {},
): ExceptionEvent {
  return new ExceptionEvent(...common(init), error)
}

/** Creates the event of a response that was sent. */
export function createTerminateEvent(init: TerminateEventInit = {}): TerminateEvent {
  const [kernel, request] = common(init)
  const { isSent = true, response = new Response(), sentBytes, streamError } = init
  return new TerminateEvent(kernel, request, response, { isSent, streamError, sentBytes })
}

function common(init: EventInit): [RequestKernel, Request] {
  checkOptions('An event of a test', init, eventShape)
  const { kernel = createKernel(), request = createRequest() } = init
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

/** A logger that writes nothing. */
export const silentLogger: Logger = {
  debug: ignore,
  info: ignore,
  warning: ignore,
  error: ignore,
  critical: ignore,
  isLevelEnabled: () => false,
  channel: () => silentLogger,
  withRequestId: () => silentLogger,
  access: ignore,
  correlate: () => ignore,
  observe: () => ignore,
}

/** The body of a test's request: at most one of these. */
export interface TestBody {
  /** Text or bytes; a stream is sent in chunks, without a length. */
  readonly body?: string | Uint8Array | Readable
  /** A value that is sent as JSON. */
  readonly json?: unknown
  /** A form with fields. A field with a list of values is repeated. */
  readonly form?: Readonly<Record<string, string | readonly string[]>>
  /** A form with fields and files. */
  readonly upload?: MultipartFields
}

const kinds = ['body', 'json', 'form', 'upload'] as const

/**
 * Encodes a body, by default with the type that suits it; `undefined` without a body. @throws TypeError for two bodies
 */
function encodeBody(init: TestBody, contentType: string | null): BodySource | undefined {
  const given = kinds.filter(kind => init[kind] !== undefined)
  if (given.length > 1) throw new TypeError(`A request has one body: give either ${given.join(' or ')}.`)
  const { body, form, json, upload } = init
  if (json !== undefined) return toSource(encodeJson(json), contentType ?? 'application/json')
  if (form !== undefined) return toSource(encodeForm(form), contentType ?? 'application/x-www-form-urlencoded')
  if (upload !== undefined) {
    const encoded = encodeUpload(upload)
    return toSource(encoded.body, contentType ?? encoded.contentType)
  }
  if (body === undefined) return undefined
  if (typeof body !== 'string' && !(body instanceof Uint8Array) && !(body instanceof Readable)) {
    const mistake = `"body" must be a text, bytes or a stream, not ${describeValue(body)}: use json or form`
    throw new ARGUMENT_INVALID(['A request of a test', mistake])
  }
  const type = contentType ?? 'application/octet-stream'
  return body instanceof Readable ? { stream: Readable.from(toBytes(body)), contentType: type } : toSource(body, type)
}

/** A connection gives bytes; streams of tests usually give text. */
async function* toBytes(stream: Readable): AsyncGenerator<Buffer> {
  for await (const chunk of stream) yield Buffer.from(chunk)
}

function toSource(content: string | Uint8Array, contentType: string): BodySource {
  const bytes = Buffer.from(content)
  return { stream: Readable.from([bytes]), length: bytes.length, contentType }
}

function encodeJson(json: unknown): string {
  // The type of JSON.stringify leaves out that it may return `undefined`.
  const text = JSON.stringify(json) as string | undefined
  const way = text === undefined ? 'JSON has no such value' : wayIntoJson(json)
  if (text === undefined || way !== undefined)
    throw new ARGUMENT_INVALID(['A request of a test', `"json" is ${describeValue(json)}: ${way}`])
  return text
}

function encodeForm(form: NonNullable<TestBody['form']>): string {
  checkFields('form', form, "{ name: 'Ada' }", value => typeof value === 'string' || typeof value === 'number')
  const parameters = new URLSearchParams()
  for (const [name, values] of Object.entries(form)) {
    for (const value of [values].flat()) parameters.append(name, value)
  }
  return parameters.toString()
}

/** A file that a test uploads. */
export interface TestFile {
  /** The name of the file, as the client sends it. */
  readonly name: string
  /** The media type; that of binary data by default. */
  readonly type?: string
  /** The content; a text is sent as UTF-8. */
  readonly content: string | Uint8Array
}

/** Fields and files by name. A name with a list of values is repeated. */
export type MultipartFields = Readonly<Record<string, MultipartValue | readonly MultipartValue[]>>

type MultipartValue = string | TestFile

/** Encodes fields and files as a browser does (RFC 7578). */
export function encodeUpload(fields: MultipartFields): { body: Buffer; contentType: string } {
  checkFields('upload', fields, "{ cover: { name: 'a.png', content } }", isUpload)
  const boundary = randomBytes(16).toString('hex')
  const parts = Object.entries(fields).flatMap(([field, value]) => [value].flat().map(one => toPart(field, one)))
  return { body: encodeMultipart(boundary, parts), contentType: `multipart/form-data; boundary=${boundary}` }
}

function isUpload(value: unknown): boolean {
  if (typeof value === 'string') return true
  const { content, name, type = '' } = Object(value) as Readonly<Record<string, unknown>>
  return (
    typeof name === 'string' &&
    typeof type === 'string' &&
    (typeof content === 'string' || content instanceof Uint8Array)
  )
}

/** Refuses fields that a browser could not send: an object of the form of a fetch has none of its own. */
function checkFields(kind: string, fields: unknown, right: string, isRight: (value: unknown) => boolean): void {
  if (!isPlainObject(fields)) {
    const mistake = `"${kind}" is an object such as ${right}, not ${describeValue(fields)}`
    throw new ARGUMENT_INVALID(['A request of a test', mistake])
  }
  for (const [name, value] of Object.entries(fields)) {
    const values: readonly unknown[] = Array.isArray(value) ? value : [value]
    const at = values.findIndex(each => !isRight(each))
    if (at === -1) continue
    const mistake = `the field "${name}" of "${kind}" is ${describeValue(values[at])}: write ${right}`
    throw new ARGUMENT_INVALID(['A request of a test', mistake])
  }
}

function toPart(field: string, value: MultipartValue): MultipartPart {
  return typeof value === 'string' ? { field, content: value } : { field, content: value.content, file: value }
}
