import { EventEmitter } from 'node:events'
import { createRequire } from 'node:module'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import type { CookieJar as ToughCookieJar } from 'tough-cookie'
import { ARGUMENT_INVALID, checkFunction, checkObject, checkOptions, checkString } from '../../lib/errors/arguments.ts'
import { isRetrieval } from '../../lib/http/conditions.ts'
import { parseCookies, setCookie } from '../../lib/http/cookies.ts'
import { Headers, type HeadersInit } from '../../lib/http/headers.ts'
import type { Request, RequestInit } from '../../lib/http/request.ts'
import { discard, type Response } from '../../lib/http/response.ts'
import type { TrustedProxies } from '../../lib/http/trusted-proxies.ts'
import { describeValue } from '../../lib/text/describe-value.ts'
import type { ShapeOf } from '../../lib/text/mistakes.ts'
import type { HttpKernel } from '../http-kernel.ts'
import { createRequest, type TestRequestInit } from './event-factories.ts'

/** The options of a test client. */
export interface TestClientOptions {
  /** The origin of paths, such as `https://shop.test`; `http://localhost` by default. */
  readonly base?: string
  /** The address of the client; this machine by default. */
  readonly remoteAddress?: string
  /** Headers of each request; the headers of a single request replace them by name. */
  readonly headers?: HeadersInit
  /** Proxies whose `X-Forwarded-…` headers are trusted. */
  readonly trustedProxies?: TrustedProxies
  /** The limit of redirects in a row; 10 by default. */
  readonly redirectLimit?: number
}

const optionShape: ShapeOf<TestClientOptions> = {
  base: 'string',
  remoteAddress: 'string',
  headers: true,
  trustedProxies: 'object',
  redirectLimit: 'number',
}

/** The parts of a client's request. With `redirect: 'follow'` redirects are followed; by default they are returned. */
export interface ClientRequestInit extends Omit<TestRequestInit, 'session'> {
  /** The default is `manual`: the redirect is the response. */
  readonly redirect?: 'manual' | 'follow'
}

/** A response whose body has been read. */
export interface TestResponse {
  /** The status code. */
  readonly status: number
  /** The header fields. */
  readonly headers: Headers
  /** The body as it was sent; empty for HEAD. */
  readonly bytes: Uint8Array
  /** The body as UTF-8. */
  readonly text: string
  /** The body as JSON. @throws TypeError with the beginning of a body that is not JSON */
  json(): unknown
  /** The request with the attributes that the kernel and its listeners have set. */
  readonly request: Request
  /** The redirects before this response, in order. */
  readonly redirects: readonly TestResponse[]
}

/** Members of other clients, and what is right. */
const foreignMembers = { body: 'text or json()', data: 'json()', ok: 'status', statusCode: 'status' }

/** The response to a request of a test client. */
class ReadResponse implements TestResponse {
  readonly status: number
  readonly headers: Headers
  readonly bytes: Uint8Array
  readonly text: string
  readonly request: Request
  readonly redirects: readonly TestResponse[]

  constructor({ headers, status }: Response, bytes: Uint8Array, request: Request, redirects: readonly TestResponse[]) {
    this.status = status
    this.headers = headers
    this.bytes = bytes
    this.text = new TextDecoder().decode(bytes)
    this.request = request
    this.redirects = redirects
  }

  /** Not a method: tests may take it out of the response. */
  readonly json = (): unknown => {
    try {
      return JSON.parse(this.text)
    } catch {
      const type = this.headers.get('content-type') ?? 'without a type'
      throw new TypeError(`The body (${this.status}, ${type}) is no JSON: ${this.text.slice(0, 200)}`)
    }
  }
}

for (const [member, right] of Object.entries(foreignMembers)) {
  Object.defineProperty(ReadResponse.prototype, member, {
    get(): never {
      throw new ARGUMENT_INVALID(['the response of a test client', `it has no "${member}": use ${right}`])
    },
  })
}

type ReplyingInit = ClientRequestInit & Pick<RequestInit, 'reply'>

/** A client that sends requests to a kernel in the same process, and keeps cookies. */
export class TestClient {
  /** The cookies that responses set and requests send, by the rules of browsers. */
  readonly cookies: CookieJar
  readonly #kernel: HttpKernel
  readonly #options: TestClientOptions
  /** The parts of each request, for redirects that repeat it. */
  readonly #sent = new WeakMap<Request, ClientRequestInit>()

  constructor(kernel: HttpKernel, options: TestClientOptions = {}) {
    checkFunction('new TestClient(app.kernel)', 'the method handle() of the kernel', kernel?.handle)
    checkOptions('new TestClient()', options, optionShape)
    this.#kernel = kernel
    this.#options = options
    this.cookies = new CookieJar(this.#createRequest('GET', '/', {}).url)
  }

  /** Sends a GET. */
  get(target: string, init?: ClientRequestInit): Promise<TestResponse> {
    return this.request('GET', target, init)
  }

  /** Sends a HEAD: the response has no body. */
  head(target: string, init?: ClientRequestInit): Promise<TestResponse> {
    return this.request('HEAD', target, init)
  }

  /** Sends a POST. */
  post(target: string, init?: ClientRequestInit): Promise<TestResponse> {
    return this.request('POST', target, init)
  }

  /** Sends a PUT. */
  put(target: string, init?: ClientRequestInit): Promise<TestResponse> {
    return this.request('PUT', target, init)
  }

  /** Sends a PATCH. */
  patch(target: string, init?: ClientRequestInit): Promise<TestResponse> {
    return this.request('PATCH', target, init)
  }

  /** Sends a DELETE. */
  delete(target: string, init?: ClientRequestInit): Promise<TestResponse> {
    return this.request('DELETE', target, init)
  }

  /**
   * Sends a request for a path or a URL, reads the response, and waits for `kernel.terminate`.
   *
   * @throws Error if the body is incomplete, or at more redirects than the limit
   */
  request(method: string, target: string, init: ClientRequestInit = {}): Promise<TestResponse> {
    checkString('client.request(method, path)', 'the method', method)
    const response = this.#send(method, target, init, [])
    return init?.redirect === 'follow' ? response.then(first => this.#followAll(first)) : response
  }

  /** Sends a GET and returns the response with its headers; the body is read later and may be endless. */
  async open(target: string, init: ClientRequestInit = {}): Promise<OpenResponse> {
    const client = new EventEmitter()
    const reply = Object.assign(client, { writableFinished: false, destroyed: false })
    const request = this.#prepare('GET', target, { ...init, reply })
    const response = await this.#kernel.handle(request)
    this.cookies.take(response.headers, request.url)
    return new OpenResponse(request, response, this.#kernel, () => client.emit('close'))
  }

  /**
   * Follows a redirect as a browser does: with GET, unless the status keeps method and body (307, 308).
   *
   * @throws TypeError without a Location, or for a Location on another host
   */
  follow(response: TestResponse): Promise<TestResponse> {
    if (typeof response?.headers?.get !== 'function' || response.request === undefined) {
      const mistake = `it needs a response of a test client, not ${describeValue(response)}`
      throw new ARGUMENT_INVALID(['client.follow(response)', mistake])
    }
    const { headers, redirects, request, status } = response
    const location = headers.get('location')
    if (location === null) throw new TypeError(`The response (${status}) has no Location to follow.`)
    const url = new URL(location, request.url)
    if (url.hostname !== request.hostname) {
      throw new TypeError(`The redirect leads to another site, ${url.href}: look at its Location instead.`)
    }
    const isKept = status === 307 || status === 308 || isRetrieval(request.method)
    const init = this.#sent.get(request) ?? {}
    return this.#send(isKept ? request.method : 'GET', url.href.replace(/#.*/, ''), isKept ? init : withoutBody(init), [
      ...redirects,
      response,
    ])
  }

  async #followAll(first: TestResponse): Promise<TestResponse> {
    const { redirectLimit = 10 } = this.#options
    let last = first
    while (isRedirect(last)) {
      if (last.redirects.length === redirectLimit) {
        const way = [...last.redirects, last].map(({ request }) => request.target).join(' → ')
        throw new Error(`There are more than ${redirectLimit} redirects: ${way} → ${last.headers.get('location')}`)
      }
      last = await this.follow(last)
    }
    return last
  }

  async #send(
    method: string,
    target: string,
    init: ClientRequestInit,
    redirects: readonly TestResponse[],
  ): Promise<TestResponse> {
    const request = this.#prepare(method, target, init)
    this.#sent.set(request, init)
    const { response, bytes } = await this.#read(request, await this.#kernel.handle(request))
    this.cookies.take(response.headers, request.url)
    const sentBytes = response.body instanceof Readable ? bytes.length : undefined
    await this.#kernel.terminate(request, response, { isSent: true, sentBytes })
    return new ReadResponse(response, bytes, request, redirects)
  }

  /** The cookies depend on the URL, which depends on the headers. */
  #prepare(method: string, target: string, init: ReplyingInit): Request {
    const request = this.#createRequest(method, target, init)
    const cookies = request.headers.has('cookie') ? '' : this.cookies.toHeader(request.url)
    if (cookies !== '') request.headers.set('cookie', cookies)
    return request
  }

  #createRequest(method: string, target: string, init: ReplyingInit): Request {
    const call = `client.${method.toLowerCase()}(path)`
    checkString(call, 'the path', target)
    checkObject(call, init, { headers: true, json: true, form: true, redirect: true })
    const { base = '', headers, redirectLimit: _, ...options } = this.#options
    const all = new Headers(headers)
    const own = new Headers(init.headers)
    for (const [name] of own) all.delete(name)
    for (const [name, value] of own) all.append(name, value)
    if (/^[\w.-]+(?:[/?]|$)/.test(target)) {
      const mistake = `the path "${target}" begins with a slash: "/${target}"`
      throw new ARGUMENT_INVALID([call, mistake])
    }
    return createRequest(target.startsWith('/') ? base + target : target, { ...options, ...init, method, headers: all })
  }

  /** Like in a server, a stream that fails before its first chunk becomes an error page. */
  async #read(
    request: Request,
    response: Response,
    isErrorPage = false,
  ): Promise<{ response: Response; bytes: Uint8Array }> {
    const { body } = response
    if (!(body instanceof Readable)) {
      return { response, bytes: Buffer.from(request.method === 'HEAD' ? '' : (body ?? '')) }
    }
    try {
      const bytes = await this.#kernel.run(request, () => buffer(body))
      return { response, bytes: request.method === 'HEAD' ? Buffer.alloc(0) : bytes }
    } catch (error) {
      if (!body.readableDidRead && !isErrorPage) {
        return this.#read(request, await this.#kernel.answerError(request, error), true)
      }
      await this.#kernel.terminate(request, response, { isSent: false, streamError: error })
      throw new Error(`The body of the response to ${request.method} ${request.target} broke off.`, { cause: error })
    }
  }
}

function withoutBody({ body, form, headers, json, upload, ...init }: ClientRequestInit): ClientRequestInit {
  const kept = new Headers(headers)
  kept.delete('content-type')
  return { ...init, headers: kept }
}

function isRedirect({ headers, status }: TestResponse): boolean {
  return status >= 300 && status < 400 && headers.has('location')
}

/** Loads the package with the first cookie: most tests need none. */
function createJar(): ToughCookieJar {
  const toughCookie: typeof import('tough-cookie') = createRequire(import.meta.url)('tough-cookie')
  return new toughCookie.CookieJar()
}

/** Like browsers, keeps a cookie without a name, and drops refused cookies without an error. */
const leniency = { loose: true, ignoreError: true }

/** Neither a name nor a value: section 5.6 ignores it; tough-cookie would keep it as a cookie without a name. */
const nothing = /^[ \t]*=?[ \t]*(?:;|$)/

/** The cookies of a client. They are kept and sent as browsers do (RFC 6265bis): by host, path, scheme and age. */
export class CookieJar {
  readonly #base: string
  #jar: ToughCookieJar | undefined

  /** `base` is the URL to which cookies belong that are set without a URL. */
  constructor(base = 'http://localhost/') {
    this.#base = base
  }

  /** The decoded value of a cookie of the base's host, for any path; `undefined` if there is none. */
  get(name: string): string | undefined {
    checkString('client.cookies.get(name)', 'the name', name)
    const header = this.#jar?.getCookieStringSync(this.#base, { allPaths: true })
    return parseCookies(header ?? null).get(name)
  }

  /** Sets a cookie for all paths of the base's host. @throws ARGUMENT_INVALID for an invalid name */
  set(name: string, value: string): void {
    const headers = new Headers()
    setCookie(headers, name, value, { secure: this.#base.startsWith('https:') })
    this.take(headers)
  }

  /** The Cookie header of a request; empty without cookies. */
  toHeader(url: string = this.#base): string {
    return this.#jar !== undefined && URL.canParse(url) ? this.#jar.getCookieStringSync(new URL(url)) : ''
  }

  /** Stores the cookies of the response to a request. */
  take(headers: Headers, url: string = this.#base): void {
    const fields = headers.getAll('set-cookie')
    // The Host of a request may be invalid in a URL; browsers do not send such requests.
    if (fields.length === 0 || !URL.canParse(url)) return
    this.#jar ??= createJar()
    for (const field of fields) {
      if (!nothing.test(field)) this.#jar.setCookieSync(field, new URL(url), leniency)
    }
  }
}

/** A response that is read while it is created, such as a stream of server-sent events. The test has to close it. */
export class OpenResponse {
  /** The status code. */
  readonly status: number
  /** The header fields, which arrive before the body. */
  readonly headers: Headers
  /** The request with the attributes that the kernel and its listeners have set. */
  readonly request: Request
  readonly #body: Readable
  readonly #chunks: AsyncIterator<string | Uint8Array>
  readonly #decoder = new TextDecoder()
  readonly #kernel: HttpKernel
  readonly #leave: () => void
  readonly #response: Response
  #text = ''
  #closing: Promise<void> | undefined

  /**
   * `kernel` is the kernel that made the response; it dispatches `kernel.terminate` at the end.
   * `leave` closes the connection.
   */
  constructor(request: Request, response: Response, kernel: HttpKernel, leave: () => void) {
    const { body, headers, status } = response
    this.status = status
    this.headers = headers
    this.request = request
    this.#body = body instanceof Readable ? body : Readable.from(body === null ? [] : [body])
    this.#chunks = this.#body[Symbol.asyncIterator]()
    this.#kernel = kernel
    this.#leave = leave
    this.#response = response
  }

  /**
   * Reads until a text appears. Returns the new text up to and with it.
   *
   * @throws Error if the response ends before, or if the text has not come after ten seconds
   */
  async readUntil(wanted: string): Promise<string> {
    const fail = (what: string) => new Error(`${what} ${JSON.stringify(wanted)}. It said: ${this.#text}`)
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(fail('For ten seconds the response has not said')), 10_000)
    })
    let end = this.#text.indexOf(wanted)
    try {
      while (end === -1) {
        const chunk = this.#kernel.run(this.request, () => this.#chunks.next())
        const { done, value } = await Promise.race([chunk, late])
        if (done) throw fail('The response has ended without')
        this.#text += typeof value === 'string' ? value : this.#decoder.decode(value, { stream: true })
        end = this.#text.indexOf(wanted)
      }
    } finally {
      clearTimeout(timer)
    }
    const text = this.#text.slice(0, end + wanted.length)
    this.#text = this.#text.slice(text.length)
    return text
  }

  /** Closes the connection like a client that leaves, and waits for `kernel.terminate`. */
  close(): Promise<void> {
    this.#closing ??= this.#terminate()
    return this.#closing
  }

  async #terminate(): Promise<void> {
    const { errored, readableEnded } = this.#body
    if (!readableEnded) this.#leave()
    discard(this.#body)
    await this.#kernel.terminate(this.request, this.#response, {
      isSent: readableEnded,
      streamError: errored ?? undefined,
    })
  }
}
