import type { FormData } from '../body/form-data.ts'
import { RequestBody } from '../body/request-body.ts'
import { HttpError } from '../errors/http-error.ts'
import type { DispatchOptions } from '../event-dispatcher/event-dispatcher.ts'
import type { Session } from '../session/session.ts'
import { Stopwatch } from '../stopwatch/stopwatch.ts'
import { parseCookies } from './cookies.ts'
import { Headers, type HeadersInit } from './headers.ts'
import { type Host, readHost } from './host.ts'
import { parseTarget, type Target } from './request-line.ts'
import { type Forwarded, TrustedProxies } from './trusted-proxies.ts'

/** The connection that a request came by; a node socket is one. */
export interface Connection {
  readonly remoteAddress?: string | undefined
  /** The ports, and our own address, are known of a socket only. */
  readonly remotePort?: number | undefined
  readonly localAddress?: string | undefined
  readonly localPort?: number | undefined
  /** Whether the connection itself is TLS. */
  readonly encrypted?: boolean
}

/** What a request is made of. */
export interface RequestInit {
  /** As it stands in the request line: `/path?query`. */
  readonly target: string
  readonly method?: string
  readonly headers?: HeadersInit
  readonly body?: RequestBody | undefined
  readonly httpVersion?: string
  readonly connection?: Connection | undefined
  readonly trustedProxies?: TrustedProxies | undefined
}

/** Facts that listeners and controllers attach to a request; names with an underscore are the kernel's. */
export type Attributes = Map<string, unknown>

/**
 * A request as the kernel sees it. Words are those of the Fetch API where it has one. Everything that a client may get
 * wrong can be read without an error: `problem` says what is wrong, and the ValidateRequestListener refuses it.
 */
export class Request {
  readonly method: string
  /** The request target as it was sent. */
  readonly target: string
  readonly headers: Headers
  readonly httpVersion: string
  readonly attributes: Attributes = new Map()
  /** What is wrong with the request line, the Host or the forwarding headers; refused before anything else. */
  readonly problem: HttpError | undefined
  /** Whether this came from outside, and not from another request; the kernel sets it. */
  isMainRequest = true
  /** How the kernel dispatches the events of this request, where that is not as usual. Sub-requests inherit it. */
  dispatching: DispatchOptions | undefined
  readonly body: RequestBody
  /** How many requests this one is within: 0 unless it is a sub-request. */
  readonly depth: number
  /** What a trusted proxy says of this request. */
  readonly forwarded: Forwarded
  readonly #init: RequestInit
  readonly #target: Target
  readonly #host: Host | undefined
  #query: URLSearchParams | undefined
  #cookies: ReadonlyMap<string, string> | undefined
  readonly #parent: Request | undefined
  #createSession: (() => Session) | undefined
  #session: Session | undefined
  #stopwatch: Stopwatch | undefined

  constructor(init: RequestInit, parent?: Request) {
    this.#init = init
    this.#parent = parent
    this.depth = parent === undefined ? 0 : parent.depth + 1
    this.dispatching = parent?.dispatching
    this.method = init.method ?? 'GET'
    this.target = init.target
    this.headers = init.headers instanceof Headers ? init.headers : new Headers(init.headers)
    this.httpVersion = init.httpVersion ?? '1.1'

    this.body = init.body ?? new RequestBody(null)

    let problem: HttpError | undefined
    const attempt = <value>(read: () => value, fallback: value): value => {
      try {
        return read()
      } catch (error) {
        if (!(error instanceof HttpError)) throw error
        problem ??= error
        return fallback
      }
    }
    const asSent = { rawPath: this.target, path: this.target, queryString: '' }
    this.#target = attempt(() => parseTarget(this.target, this.method), asSent)
    this.forwarded = attempt(() => (init.trustedProxies ?? trustNobody).read(this.headers, this.peerAddress), {})
    const host = attempt(() => readHost(this.headers, this.forwarded.host, this.#target.authority), undefined)
    // A sub-request is for the same host, be it named by its parent's target alone.
    this.#host = host === undefined && parent !== undefined ? parent.#host : host
    this.problem = problem
  }

  /** The percent-decoded path: what routes are matched against. */
  get path(): string {
    return this.#target.path
  }

  /** The path as it was sent. */
  get rawPath(): string {
    return this.#target.rawPath
  }

  /** What stands behind the `?`, as it was sent. */
  get queryString(): string {
    return this.#target.queryString
  }

  get query(): URLSearchParams {
    this.#query ??= new URLSearchParams(this.queryString)
    return this.#query
  }

  get cookies(): ReadonlyMap<string, string> {
    this.#cookies ??= parseCookies(this.headers.get('cookie'))
    return this.#cookies
  }

  get scheme(): 'http' | 'https' {
    return this.forwarded.scheme ?? (this.#init.connection?.encrypted ? 'https' : 'http')
  }

  /** The name of the host, lower case and without a port; empty when the request has none. */
  get hostname(): string {
    return this.#host?.name ?? ''
  }

  /** The port that the client has asked: what a trusted proxy says, else that of the host, else the scheme's own. */
  get port(): number {
    return this.forwarded.port ?? this.#host?.port ?? defaultPorts[this.scheme]
  }

  /** `https://host:port`, without the scheme's own port; empty when the request has no host. */
  get origin(): string {
    if (this.#host === undefined) return ''
    const { port, scheme } = this
    return `${scheme}://${this.#host.name}${port === defaultPorts[scheme] ? '' : `:${port}`}`
  }

  /** What a trusted proxy has cut off the beginning of the path (`/shop`); mostly empty. It stands before each link. */
  get basePath(): string {
    return this.forwarded.prefix ?? ''
  }

  /** The full URL as the client sees it. */
  get url(): string {
    return `${this.origin}${this.basePath}${this.rawPath}${this.queryString === '' ? '' : `?${this.queryString}`}`
  }

  /** The connection of the request; absent when the request was made in this process. */
  get connection(): Connection | undefined {
    return this.#init.connection
  }

  /** The address of the other end of the connection. */
  get peerAddress(): string {
    return this.#init.connection?.remoteAddress ?? 'unknown'
  }

  /** The address of the client: what trusted proxies say, else the peer's. */
  get clientIp(): string {
    return this.forwarded.clientIp ?? this.peerAddress
  }

  /** The body as JSON. @throws BODY_TYPE_UNSUPPORTED (415) BODY_JSON_INVALID (400) BODY_TOO_LARGE (413) */
  json(): Promise<unknown> {
    return this.body.json()
  }

  /** The body as text. @throws BODY_TOO_LARGE (413) */
  text(): Promise<string> {
    return this.body.text()
  }

  /** The fields and files of a form. @throws BODY_TYPE_UNSUPPORTED (415) BODY_TOO_LARGE (413) */
  formData(): Promise<FormData> {
    return this.body.formData()
  }

  /** The request that this one was made from, when it is a sub-request. */
  get parent(): Request | undefined {
    return this.#parent
  }

  /** The session: made when it is first asked for, read when it is first used. @throws TypeError without a SessionListener */
  get session(): Session {
    if (this.#parent !== undefined) return this.#parent.session
    this.#session ??= this.#createSession?.()
    if (this.#session === undefined)
      throw new TypeError('There is no session: no SessionListener has seen this request.')
    return this.#session
  }

  /** The session, if anyone has asked for it. */
  get requestedSession(): Session | undefined {
    return this.#parent?.requestedSession ?? this.#session
  }

  /** Says how the session is made, should anyone ask for it. */
  provideSession(create: () => Session): void {
    this.#createSession = create
  }

  /** Measures the work of this request. A sub-request has its own stopwatch. */
  get stopwatch(): Stopwatch {
    this.#stopwatch ??= new Stopwatch()
    return this.#stopwatch
  }

  /** The stopwatch, if anyone has asked for it. */
  get requestedStopwatch(): Stopwatch | undefined {
    return this.#stopwatch
  }

  /** The same request with fresh attributes and what `changes` say: the form of a sub-request. Session and body are shared. */
  duplicate({ method = this.method, target = this.target }: Partial<Pick<Request, 'method' | 'target'>> = {}): Request {
    const { body, headers, httpVersion } = this
    const { connection, trustedProxies } = this.#init
    // By hand: to spread the parts of this one takes five times as long as all the rest.
    return new Request({ method, target, headers, body, httpVersion, connection, trustedProxies }, this)
  }
}

const defaultPorts = { http: 80, https: 443 } as const

const trustNobody = new TrustedProxies()
