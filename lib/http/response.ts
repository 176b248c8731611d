import { createHash } from 'node:crypto'
import { STATUS_CODES } from 'node:http'
import { Readable } from 'node:stream'
import { RequestBody } from '../body/request-body.ts'
import { ARGUMENT_INVALID, checkOptions } from '../errors/arguments.ts'
import { describeValue, readProperty, wayIntoJson } from '../text/describe-value.ts'
import type { ShapeOf } from '../text/mistakes.ts'
import { HTTP_JSON_INVALID, HTTP_REDIRECT_INVALID, HTTP_STATUS_INVALID, HTTP_STREAM_USED } from './errors.ts'
import { Headers, type HeadersInit } from './headers.ts'

/**
 * The body of a response. Text is sent as UTF-8. A stream is read while it is sent, and destroyed if the client leaves.
 */
export type Body = string | Uint8Array | Readable | null

/** The status (200 by default) and headers of a response. */
export interface ResponseInit {
  /** The default is 200. */
  readonly status?: number
  /** The header fields, as an object, pairs, or `Headers`. */
  readonly headers?: HeadersInit
}

const initShape: ShapeOf<ResponseInit> = { status: true, headers: true }

/** A response. Its status, headers and body may be changed until it is sent. */
export class Response {
  /** The header fields. They may be changed until the response is sent. */
  readonly headers: Headers
  /** Bytes of the body before compression; `undefined` without compression, and for a stream. */
  originalSize: number | undefined
  #body: Body = null
  #status = 200

  /** @throws HTTP_STATUS_INVALID HTTP_HEADER_INVALID ARGUMENT_INVALID */
  constructor(body: Body = null, init?: ResponseInit) {
    checkOptions('Response', init, initShape)
    this.body = body
    this.headers = new Headers(init?.headers)
    this.status = init?.status ?? 200
  }

  /** HTML in UTF-8, also that of a page that has to wait: `Response.html(view.render(…))`. */
  static html(body: string, init?: ResponseInit): Response
  static html(body: string | Promise<string>, init?: ResponseInit): Response | Promise<Response>
  static html(body: string | Promise<string>, init?: ResponseInit): Response | Promise<Response> {
    if (body instanceof Promise) return body.then(text => Response.html(text, init))
    checkText('Response.html()', body)
    return withDefaultType(new Response(body, init), 'text/html; charset=UTF-8')
  }

  /** Plain text in UTF-8. */
  static text(body: string, init?: ResponseInit): Response {
    checkText('Response.text()', body)
    return withDefaultType(new Response(body, init), 'text/plain; charset=UTF-8')
  }

  /**
   * A value as JSON.
   *
   * @throws HTTP_JSON_INVALID for `undefined`, a function, a symbol, a BigInt or a cycle;
   * ARGUMENT_INVALID for a promise, a map or a set, whose JSON is `{}`
   */
  static json(data: unknown, init?: ResponseInit): Response {
    return withDefaultType(new Response(toJson(data), init), 'application/json')
  }

  /**
   * Redirects the client to another URL, with 302 by default. The body has a link for clients that do not follow.
   *
   * @throws HTTP_REDIRECT_INVALID without a location, or with a status other than 201, 301, 302, 303, 307 and 308
   */
  static redirect(location: string, status?: number): Response
  static redirect(location: string, status = 302, ...more: readonly unknown[]): Response {
    checkText('Response.redirect()', location)
    if (more.length > 0) refuseHeaders('Response.redirect(url, status)', more[0])
    if (location === '') throw new HTTP_REDIRECT_INVALID([location, 'it needs a URL or a path, such as "/"'])
    if (!redirectStatuses.has(status)) {
      const found = typeof status === 'number' ? status : describeValue(status)
      const reason = `its status must be 201, 301, 302, 303, 307 or 308, not "${found}"`
      throw new HTTP_REDIRECT_INVALID([location, reason])
    }
    const encoded = location.toWellFormed().replace(unsafeInUrl, encodeURIComponent)
    return Response.html(redirectPage(encoded), { status, headers: { location: encoded } })
  }

  /** A stream, with the type `application/octet-stream` by default. */
  static stream(body: Readable, init?: ResponseInit): Response {
    return withDefaultType(new Response(body, init), 'application/octet-stream')
  }

  /** A status without a body, 204 by default. */
  static empty(status?: number): Response
  static empty(status = 204, ...more: readonly unknown[]): Response {
    if (more.length > 0) refuseHeaders('Response.empty(status)', more[0])
    return new Response(null, { status })
  }

  /**
   * Sets an etag of the body, unless there is one or the body is a stream. A client that has the body then gets a 304.
   */
  withEtag(): this
  withEtag(given?: unknown): this {
    const { body, headers } = this
    if (given !== undefined) {
      const own = `one of your own is headers.set("etag", '"v7"'), in double quotes`
      throw new ARGUMENT_INVALID(['response.withEtag()', `it makes the etag of the body, and takes none: ${own}`])
    }
    if ((typeof body === 'string' || body instanceof Uint8Array) && !headers.has('etag')) {
      headers.set('etag', createEtag(body))
    }
    return this
  }

  /** Text, bytes, a stream, or `null`. A listener may set another one. */
  get body(): Body {
    return this.#body
  }

  set body(body: Body) {
    if (body !== null && typeof body === 'object' && 'on' in body) {
      // A stream may fail before the server reads it. An error without a listener would end the process.
      body.on('error', ignore)
    } else if (typeof body !== 'string' && body !== null && !(body instanceof Uint8Array)) {
      const way = wayOfBody(body)
      const mistake = `its body is a text, bytes, a stream or null, not ${describeValue(body)}: use ${way}`
      throw new ARGUMENT_INVALID(['Response', mistake])
    }
    this.#body = body
  }

  /** An integer from 200 to 599. @throws HTTP_STATUS_INVALID */
  get status(): number {
    return this.#status
  }

  set status(status: number) {
    if (!Number.isInteger(status) || status < 200 || status > 599) {
      throw new HTTP_STATUS_INVALID([typeof status === 'object' ? describeValue(status) : status])
    }
    this.#status = status
  }

  /** Whether the status redirects the client (3xx, but not 304). */
  get isRedirect(): boolean {
    return this.#status >= 300 && this.#status < 400 && this.#status !== 304
  }
}

function ignore(): void {}

/** The first argument of these functions is a text, or in JavaScript the bytes of a file. @throws ARGUMENT_INVALID */
function checkText(call: string, text: unknown): void {
  if (typeof text === 'string' || text instanceof Uint8Array) return
  throw new ARGUMENT_INVALID([call, `its first argument must be a text, not ${describeValue(text)}`])
}

/** @throws HTTP_JSON_INVALID ARGUMENT_INVALID */
function toJson(data: unknown): string {
  if (data instanceof RequestBody) {
    throw new ARGUMENT_INVALID(['Response.json()', 'its value is request.body: use await request.json()'])
  }
  const text = stringify(data)
  if (text === undefined)
    throw new HTTP_JSON_INVALID(['Response.json()', `${typeof data}; pass null, or use Response.empty() for no body`])
  // The search takes 3 % of the time of JSON.stringify, a replacer would double it.
  if (text.includes('{}')) refuseEmptied(data)
  return text
}

/** Writes JSON. @throws HTTP_JSON_INVALID for a BigInt or a cycle, and the error of a method `toJSON` */
export function stringify(data: unknown, call = 'Response.json()'): string | undefined {
  try {
    return JSON.stringify(data)
  } catch (error) {
    const message = String(readProperty(error, 'message'))
    const [, key] = /^Converting circular.*property '(.+)' closes/s.exec(message) ?? []
    const isCycle = message.startsWith('Converting circular')
    if (isCycle)
      throw new HTTP_JSON_INVALID([call, `an object that contains itself${key ? `, at "${key}"` : ''}`], {
        cause: error,
      })
    if (message.includes('serialize a BigInt'))
      throw new HTTP_JSON_INVALID([call, 'a BigInt; use String(value)'], { cause: error })
    throw error
  }
}

/**
 * Values in which a promise, a map or a set is searched. An answer with many objects that are
 * empty on purpose stays quick.
 */
const searchedValues = 100

/** Refuses values whose JSON is `{}` although they have content, those near the root first. @throws ARGUMENT_INVALID */
function refuseEmptied(data: unknown): void {
  const found: [place: string, value: unknown][] = [['its value', data]]
  for (let index = 0; index < Math.min(found.length, searchedValues); index++) {
    const [place, value] = found[index] as (typeof found)[number]
    const way = wayIntoJson(value)
    if (way !== undefined) {
      throw new ARGUMENT_INVALID(['Response.json()', `the JSON of ${place}, ${describeValue(value)}, is {}: ${way}`])
    }
    if (typeof value !== 'object' || value === null || typeof readProperty(value, 'toJSON') === 'function') continue
    for (const [key, inner] of Object.entries(value)) {
      if (typeof inner === 'object') found.push([data === value ? `"${key}"` : `${place.slice(0, -1)}.${key}"`, inner])
    }
  }
}

/** The statuses that Symfony accepts. 201 has the location of a created resource; 300 and 304 do not redirect. */
const redirectStatuses: ReadonlySet<number> = new Set([201, 301, 302, 303, 307, 308])

/**
 * The characters that browsers encode in a query, and the backslash, which they read as a slash.
 * All others stay as they are given: the brackets of an IPv6 address, and those of `?a[]=1`.
 */
const unsafeInUrl = /[^\x21-\x7e]|["<>\\]/gu

/** @throws ARGUMENT_INVALID */
function refuseHeaders(call: string, found: unknown): never {
  const right = 'set headers by response.headers.set(name, value)'
  throw new ARGUMENT_INVALID([call, `${describeValue(found)} behind the status has no effect: ${right}`])
}

function withDefaultType(response: Response, type: string): Response {
  if (!response.headers.has('content-type')) response.headers.set('content-type', type)
  return response
}

function redirectPage(location: string): string {
  const url = location.replace(/[&<>"']/g, character => `&#${character.charCodeAt(0)};`)
  return `<!DOCTYPE html><html lang="en"><meta charset="UTF-8"><title>Redirecting to ${url}</title><p>Redirecting to <a href="${url}">${url}</a>.</p></html>`
}

/** The strong entity tag of bytes, or of a text in UTF-8: 128 bits of the SHA-256, in quotes. */
export function createEtag(body: string | Uint8Array): string {
  return `"${createHash('sha256').update(body).digest('hex').slice(0, 32)}"`
}

/** Makes an etag weak: the body is equivalent, but no longer equal byte for byte (RFC 9110, section 8.8.1). */
export function weakenEtag(headers: Headers): void {
  const etag = headers.get('etag')
  if (etag?.startsWith('"')) headers.set('etag', `W/${etag}`)
}

/** The reason phrase of a status: `Not Found` for 404, `unknown status` for a status without one. */
export function statusText(status: number): string {
  return STATUS_CODES[status] ?? 'unknown status'
}

/** Whether a response of this status never has a body (RFC 9110, sections 6.4.1 and 15.3.6). */
export function isBodiless(status: number): boolean {
  return status === 204 || status === 205 || status === 304 || status === 101
}

/** Removes the body of a response whose status has none, with its length. A stream is destroyed. */
export function dropForbiddenBody(response: Response): Response {
  if (!isBodiless(response.status)) return response
  discard(response.body)
  response.body = null
  response.headers.delete('content-length')
  return response
}

/** The requests that streams answer. */
const answered = new WeakMap<Readable, object>()

/**
 * Refuses a stream that has ended, or answers another request: each client would get a part of it. @throws
 * HTTP_STREAM_USED
 */
export function refuseUsedStream({ body }: Response, request: object): void {
  if (!(body instanceof Readable)) return
  if (body.destroyed || (answered.get(body) ?? request) !== request) throw new HTTP_STREAM_USED([])
  answered.set(body, request)
}

/** Destroys the stream of a body that is not sent. */
export function discard(body: Body): void {
  // An error of the stream without a listener would end the process.
  if (body instanceof Readable) body.on('error', () => undefined).destroy()
}

const types: ReadonlyMap<string, string> = new Map([
  ['html', 'text/html; charset=UTF-8'],
  ['txt', 'text/plain; charset=UTF-8'],
  ['md', 'text/markdown; charset=UTF-8'],
  ['css', 'text/css; charset=UTF-8'],
  ['csv', 'text/csv; charset=UTF-8'],
  ['js', 'text/javascript; charset=UTF-8'],
  ['json', 'application/json'],
  ['jsonld', 'application/ld+json'],
  ['xml', 'text/xml; charset=UTF-8'],
  ['rss', 'application/rss+xml'],
  ['atom', 'application/atom+xml'],
  ['rdf', 'application/rdf+xml'],
  ['svg', 'image/svg+xml'],
  ['ics', 'text/calendar; charset=UTF-8'],
])

/** What makes a body of a value that is none. */
export function wayOfBody(value: unknown): string {
  if ('pipe' in Object(value)) return 'Response.stream(stream)'
  if (value instanceof ReadableStream) return 'Readable.fromWeb(stream)'
  if (typeof value === 'function') return 'Readable.from() with what the function returns'
  return Symbol.asyncIterator in Object(value) || 'next' in Object(value) ? 'Readable.from(items)' : 'Response.json()'
}

/** The content type of a format, such as the `_format` of a route; HTML for an unknown format. */
export function contentTypeOf(format: string): string {
  return types.get(format) ?? 'text/html; charset=UTF-8'
}
