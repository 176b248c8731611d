import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { RequestBody } from '../../lib/body/request-body.ts'
import { CookieJar } from '../../lib/http/cookie-jar.ts'
import { Headers, type HeadersInit } from '../../lib/http/headers.ts'
import { Request } from '../../lib/http/request.ts'
import type { Response } from '../../lib/http/response.ts'
import type { HttpKernel } from '../http-kernel.ts'
import { encodeMultipart, type TestFile } from './multipart.ts'

/** What a test sends: at most one of `body`, `json`, `form` and `upload`. */
export interface TestRequestInit {
  readonly headers?: HeadersInit
  readonly body?: string | Uint8Array
  readonly json?: unknown
  readonly form?: Readonly<Record<string, string>>
  readonly upload?: Readonly<Record<string, string | TestFile>>
}

/** A response whose body has been read. */
export interface TestResponse {
  readonly status: number
  readonly headers: Headers
  readonly bytes: Uint8Array
  readonly text: string
  json(): unknown
  /** The request as the kernel has seen it, with its attributes. */
  readonly request: Request
}

/** A client that talks to a kernel in the same process, and keeps cookies. Requests come from this machine, for localhost. */
export class TestClient {
  readonly cookies: CookieJar = new CookieJar()
  readonly #kernel: HttpKernel

  constructor(kernel: HttpKernel) {
    this.#kernel = kernel
  }

  get(target: string, init?: TestRequestInit): Promise<TestResponse> {
    return this.request('GET', target, init)
  }

  post(target: string, init?: TestRequestInit): Promise<TestResponse> {
    return this.request('POST', target, init)
  }

  /** Sends a request and reads the whole response; `kernel.terminate` is over when it returns. */
  async request(method: string, target: string, init: TestRequestInit = {}): Promise<TestResponse> {
    const request = this.#createRequest(method, target, init)
    const response = await this.#kernel.handle(request)
    const bytes = await readBody(response, method)
    this.cookies.take(response.headers)
    await this.#kernel.terminate(request, response)
    const text = new TextDecoder().decode(bytes)
    return { status: response.status, headers: response.headers, bytes, text, json: () => JSON.parse(text), request }
  }

  /** Asks for what a redirect points to, as a browser does: with GET, unless the status keeps the method (307, 308). */
  follow({ headers, request, status }: TestResponse): Promise<TestResponse> {
    const location = headers.get('location')
    if (location === null) throw new TypeError(`The response (${status}) has no Location to follow.`)
    const isSafe = request.method === 'GET' || request.method === 'HEAD'
    const method = isSafe || status === 307 || status === 308 ? request.method : 'GET'
    return this.request(method, location.replace(/^https?:\/\/[^/]+/, ''))
  }

  #createRequest(method: string, target: string, init: TestRequestInit): Request {
    const headers = new Headers(init.headers)
    const cookie = this.cookies.toHeader()
    if (!headers.has('host')) headers.set('host', 'localhost')
    if (cookie !== '' && !headers.has('cookie')) headers.set('cookie', cookie)
    const body = encodeBody(init)
    const connection = { remoteAddress: '127.0.0.1' }
    if (body === undefined) return new Request({ method, target, headers, connection })

    const contentType = headers.get('content-type') ?? body.contentType
    headers.set('content-type', contentType)
    headers.set('content-length', String(body.bytes.length))
    const source = { stream: Readable.from([body.bytes]), length: body.bytes.length, contentType }
    return new Request({ method, target, headers, connection, body: new RequestBody(source) })
  }
}

function encodeBody(init: TestRequestInit): { bytes: Buffer; contentType: string } | undefined {
  if (init.json !== undefined) return { bytes: Buffer.from(JSON.stringify(init.json)), contentType: 'application/json' }
  if (init.form !== undefined) {
    const bytes = Buffer.from(new URLSearchParams(init.form).toString())
    return { bytes, contentType: 'application/x-www-form-urlencoded' }
  }
  if (init.upload !== undefined) {
    const { body, contentType } = encodeMultipart(init.upload)
    return { bytes: body, contentType }
  }
  if (init.body !== undefined) return { bytes: Buffer.from(init.body), contentType: 'application/octet-stream' }
  return undefined
}

async function readBody({ body }: Response, method: string): Promise<Uint8Array> {
  if (body instanceof Readable) {
    const bytes = await buffer(body)
    return method === 'HEAD' ? Buffer.alloc(0) : bytes
  }
  return method === 'HEAD' || body === null ? Buffer.alloc(0) : Buffer.from(body)
}
