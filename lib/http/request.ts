import type { FormData } from '../body/form-data.ts'
import { RequestBody } from '../body/request-body.ts'
import { ARGUMENT_INVALID, checkArguments, checkOptions, checkString } from '../errors/arguments.ts'
import { HttpError } from '../errors/http-error.ts'
import type { DispatchOptions } from '../event-dispatcher/event-dispatcher.ts'
import type { RouteName, UrlArguments, UrlParameters } from '../routing/route-names.ts'
import type { Session } from '../session/session.ts'
import { Stopwatch } from '../stopwatch/stopwatch.ts'
import { describeValue } from '../text/describe-value.ts'
import { parseCookies } from './cookies.ts'
import { HTTP_HINT_INVALID } from './errors.ts'
import { Headers, type HeadersInit } from './headers.ts'
import { createRequestId, isRequestId } from './request-id.ts'
import { type Host, parseTarget, readHost, type Target } from './request-target.ts'
import { Response } from './response.ts'
import { type Forwarded, nothingForwarded, TrustedProxies } from './trusted-proxies.ts'

/** The connection of a request, such as a socket of node. */
export interface Connection {
  readonly remoteAddress?: string | undefined
  /** The ports and the local address are known for sockets only. */
  readonly remotePort?: number | undefined
  readonly localAddress?: string | undefined
  readonly localPort?: number | undefined
  /** Whether the connection itself is TLS. */
  readonly encrypted?: boolean
}

/** The parts of a request. */
export interface RequestInit {
  /** The target in the request line: `/path?query`. */
  readonly target: string
  /** The default is GET. */
  readonly method?: string
  /** The header fields. */
  readonly headers?: HeadersInit
  readonly body?: RequestBody | undefined
  readonly httpVersion?: string
  readonly connection?: Connection | undefined
  readonly trustedProxies?: TrustedProxies | undefined
  /** Without it the `signal` is never aborted. */
  readonly reply?: Reply | undefined
}

/**
 * A request. Members are named as in the Fetch API where it has them. A malformed request can be read without an error:
 * its `problem` is the error with which the ValidateRequestListener refuses it.
 */
export class Request {
  /** The method. Only the framework's option `methodOverride` changes it. */
  method: string
  /** The request target as it was sent. */
  readonly target: string
  /** The header fields as the client has sent them. */
  readonly headers: Headers
  /** The version of HTTP, such as `1.1`. */
  readonly httpVersion: string
  /** Values by names: those of the router, such as `_route`, and those of listeners. */
  // The type of Map does not have the types of the known attributes.
  readonly attributes: Attributes = new AttributeMap() as Attributes
  /** The options with which the kernel dispatches events of this request. Only the kernel sets them. */
  dispatchOptions: DispatchOptions | undefined
  /** When the kernel began with this request, by `performance.now()`, if anything needs it. Only the kernel sets it. */
  startedAt: number | undefined
  /** Whether a listener has answered it at kernel.request. Only the kernel sets it. */
  isAnswered: boolean
  // Not a field that texts of a request list: a socket has many parts, and leads back to the request.
  readonly #connection: Connection | undefined
  readonly #trustedProxies: TrustedProxies
  readonly #parsed: ParsedHead
  readonly #reply: Reply | undefined
  #signal: AbortSignal | undefined
  #id: string | undefined
  #body: RequestBody | undefined
  #query: URLSearchParams | undefined
  #cookies: ReadonlyMap<string, string> | undefined
  readonly #parent: Request | undefined
  #createSession: ((request: Request) => Session) | undefined
  #urls: Urls | undefined
  #session: Session | undefined
  #stopwatch: Stopwatch | undefined

  constructor(init: RequestInit, parent?: Request) {
    this.#parent = parent
    this.dispatchOptions = undefined
    this.startedAt = undefined
    this.isAnswered = false
    this.method = init.method ?? 'GET'
    this.target = init.target
    this.headers = init.headers instanceof Headers ? init.headers : new Headers(init.headers)
    this.httpVersion = init.httpVersion ?? '1.1'
    this.#connection = init.connection
    this.#trustedProxies = init.trustedProxies ?? noProxies
    this.#reply = init.reply
    this.#body = init.body

    const inherited = parent === undefined ? undefined : parent.#parsed
    const isSame = inherited !== undefined && parent?.target === init.target
    this.#parsed = isSame ? inherited : parseHead(this, this.#trustedProxies, inherited)
  }

  /**
   * The id of the request in log lines and in the response header `x-request-id`: that of a
   * trusted proxy, else that of its trace, else a random one. Each has 32 hexadecimal digits,
   * except for that of a proxy. A sub-request has the id of its parent.
   */
  get id(): string {
    if (this.#parent !== undefined) return this.#parent.id
    this.#id ??= this.forwarded.requestId ?? createRequestId()
    return this.#id
  }

  /**
   * Sets the id of a request without an id of a trusted proxy. Does nothing if the id was read, or
   * has unsafe characters.
   */
  provideId(id: string): void {
    if (isRequestId(id)) this.#id ??= this.forwarded.requestId ?? id
  }

  /** The first error in the request line, the Host or the forwarding headers. */
  get problem(): HttpError | undefined {
    return this.#parsed.problem
  }

  /** The facts that trusted proxies have added. */
  get forwarded(): Forwarded {
    return this.#parsed.forwarded
  }

  /** The percent-decoded path, which is matched against routes. */
  get path(): string {
    return this.#parsed.target.path
  }

  /** The path as it was sent. */
  get rawPath(): string {
    return this.#parsed.target.rawPath
  }

  /** The part behind the `?`, as it was sent. */
  get queryString(): string {
    return this.#parsed.target.queryString
  }

  /** The parameters of the query. Escaped bytes that are not UTF-8 become U+FFFD, as in browsers. */
  get query(): URLSearchParams {
    this.#query ??= new Query(this.queryString)
    return this.#query
  }

  /** The decoded cookies by their names. */
  get cookies(): ReadonlyMap<string, string> {
    this.#cookies ??= parseCookies(this.headers.get('cookie'))
    return this.#cookies
  }

  /** The scheme that the client has used, also behind a trusted proxy. */
  get scheme(): 'http' | 'https' {
    return this.forwarded.scheme ?? (this.connection?.encrypted ? 'https' : 'http')
  }

  /** The name of the host, in lower case and without a port. Empty without a host. */
  get hostname(): string {
    return this.#parsed.host?.name ?? ''
  }

  /**
   * The port that the client has used: that of a trusted proxy, else that of the host, else the default of the scheme.
   */
  get port(): number {
    return this.forwarded.port ?? this.#parsed.host?.port ?? defaultPorts[this.scheme]
  }

  /** `https://host:port`, without the default port of the scheme. Empty without a host. */
  get origin(): string {
    if (this.#parsed.host === undefined) return ''
    const { port, scheme } = this
    return `${scheme}://${this.#parsed.host.name}${port === defaultPorts[scheme] ? '' : `:${port}`}`
  }

  /** The beginning of the path that a trusted proxy has removed (`/shop`); mostly empty. Each link begins with it. */
  get basePath(): string {
    return this.forwarded.prefix ?? ''
  }

  /** The full URL as the client sees it. */
  get url(): string {
    return `${this.origin}${this.basePath}${this.rawPath}${this.queryString === '' ? '' : `?${this.queryString}`}`
  }

  /** The connection. Absent for a request that was created in this process. */
  get connection(): Connection | undefined {
    return this.#connection
  }

  /** The address of the other end of the connection. */
  get peerAddress(): string {
    return this.connection?.remoteAddress ?? 'unknown'
  }

  /** The address of the client: that of trusted proxies, else that of the peer. */
  get clientIp(): string {
    return this.forwarded.clientIp ?? this.peerAddress
  }

  /** Aborted when the client leaves before the whole response was sent: `fetch(url, { signal: request.signal })`. */
  get signal(): AbortSignal {
    if (this.#parent !== undefined) return this.#parent.signal
    this.#signal ??= createSignal(this.#reply)
    return this.#signal
  }

  /** The body, which sub-requests share. */
  get body(): RequestBody {
    if (this.#parent !== undefined) return this.#parent.body
    this.#body ??= new RequestBody(null)
    return this.#body
  }

  /** Whether the request has a body; see `RequestBody.isPresent`. */
  get hasBody(): boolean {
    if (this.#parent !== undefined) return this.#parent.hasBody
    return this.#body?.isPresent === true
  }

  /** The body as JSON. @throws BODY_TYPE_UNSUPPORTED (415) BODY_JSON_INVALID (400) BODY_TOO_LARGE (413) */
  json(): Promise<unknown>
  json(...misplaced: unknown[]): Promise<unknown> {
    refuseAnswer('json', misplaced)
    return this.body.json()
  }

  /** The body as text. @throws BODY_TOO_LARGE (413) */
  text(): Promise<string>
  text(...misplaced: unknown[]): Promise<string> {
    refuseAnswer('text', misplaced)
    return this.body.text()
  }

  /** The fields and files of a form. @throws BODY_TYPE_UNSUPPORTED (415) BODY_TOO_LARGE (413) */
  formData(): Promise<FormData> {
    return this.body.formData()
  }

  /** The request from which a sub-request was made. */
  get parent(): Request | undefined {
    return this.#parent
  }

  /**
   * The session: created with the first access, read with the first use. A request that was refused or
   * answered before it had one has an empty session, which is never saved. @throws TypeError if there is none
   */
  get session(): Session {
    if (this.#parent !== undefined) return this.#parent.session
    this.#session ??= this.#createSession?.(this)
    // A listener before sessions has refused or answered this request: later code need not know.
    if (this.hasSession) this.#session ??= createEmptySession?.()
    if (this.#session === undefined) throw new TypeError(noSessionMessage)
    return this.#session
  }

  /** Whether there is a session, which may not have been accessed yet. */
  get hasSession(): boolean {
    if (this.#parent !== undefined) return this.#parent.hasSession
    return this.#createSession !== undefined || this.isAnswered || this.hasFailed
  }

  /** Whether the connection of the client is closed before the whole response was sent. Cheaper than `signal`. */
  get hasClientLeft(): boolean {
    if (this.#parent !== undefined) return this.#parent.hasClientLeft
    return this.#reply?.destroyed === true && !this.#reply.writableFinished
  }

  /** The session, if it was accessed. */
  get requestedSession(): Session | undefined {
    return this.#parent?.requestedSession ?? this.#session
  }

  /** Sets the function that creates the session with the first access. */
  provideSession(create: (request: Request) => Session): void {
    this.#createSession = create
  }

  /** Sets the generator of URLs for {@link redirectTo}. */
  provideUrls(urls: Urls): void {
    this.#urls = urls
  }

  /**
   * Redirects the client to a route, whose variable `_locale` is that of this page by default. The
   * status is 303, so that a browser asks by GET; after a GET it is 302. @throws ROUTE_UNKNOWN
   * ROUTE_PARAMETER_MISSING ROUTE_PARAMETER_INVALID
   */
  redirectTo<name extends RouteName>(route: name, ...rest: UrlArguments<name, []>): Response
  redirectTo(route: string, parameters: UrlParameters = {}, ...others: readonly unknown[]): Response {
    checkRedirect('redirectTo', route, others)
    return this.#redirect(this.#generate(route, parameters))
  }

  /**
   * Redirects the client to the page before: that of the header Referer, if it is another page of
   * this site, otherwise a route. Other sites cannot choose the target. @throws ROUTE_UNKNOWN
   * ROUTE_PARAMETER_MISSING ROUTE_PARAMETER_INVALID
   */
  redirectBack<name extends RouteName>(otherwise: name, ...rest: UrlArguments<name, []>): Response
  redirectBack(otherwise: string, parameters: UrlParameters = {}, ...others: readonly unknown[]): Response {
    checkRedirect('redirectBack', otherwise, others)
    const referer = this.headers.get('referer') ?? ''
    const before = URL.canParse(referer) ? new URL(referer) : undefined
    // The origin of `blob:http://localhost/` is that of this site, too.
    const isHere = before !== undefined && this.origin !== '' && before.href.startsWith(`${this.origin}/`)
    const isOther = this.method !== 'GET' || before?.href !== this.url
    return isHere && isOther
      ? // With its origin: a path with two slashes would be another host.
        this.#redirect(`${before.origin}${before.pathname}${before.search}`)
      : this.#redirect(this.#generate(otherwise, parameters))
  }

  get #nearestUrls(): Urls | undefined {
    return this.#urls ?? (this.#parent === undefined ? undefined : this.#parent.#nearestUrls)
  }

  #generate(route: string, parameters: UrlParameters): string {
    const urls = this.#nearestUrls
    if (urls === undefined) throw new TypeError('The URLs of routes are known from kernel.request on: use app.urls.')
    return urls.generate(route, parameters, { request: this })
  }

  #redirect(location: string): Response {
    return Response.redirect(location, this.method === 'GET' || this.method === 'HEAD' ? 302 : 303)
  }

  /** Whether an error of the request is being answered, also in the sub-request for its error page. */
  get hasFailed(): boolean {
    return this.dispatchOptions?.onFailure !== undefined
  }

  /**
   * Sends a response 103 before the response (RFC 8297), so that the browser already loads what the page
   * will need: `</app.css>; rel=preload; as=style`. Only clients of HTTP/1.1 get it, and nothing is sent
   * for a sub-request, in a test, or after the head of the response. The attribute `_early_hints` lists
   * all links. Behind nginx before 1.29, the page then waits until the idle connection ends.
   *
   * @throws HTTP_HINT_INVALID
   */
  sendEarlyHints(links: readonly string[]): void {
    checkArguments('request.sendEarlyHints(links)', ['list'], links)
    checkLinks(links)
    if (this.#parent !== undefined || this.httpVersion !== '1.1' || this.#reply?.headersSent) return
    this.attributes.set('_early_hints', [...(this.attributes.get('_early_hints') ?? []), ...links])
    this.#reply?.writeEarlyHints?.({ link: [...links] })
  }

  /** Measures the work of this request. A sub-request has its own stopwatch. */
  get stopwatch(): Stopwatch {
    this.#stopwatch ??= new Stopwatch()
    return this.#stopwatch
  }

  /** The stopwatch, if it was accessed. */
  get requestedStopwatch(): Stopwatch | undefined {
    return this.#stopwatch
  }

  /**
   * A sub-request: this request with another method or target and new attributes, of which it has
   * the `_locale`. Session and body are shared. @throws ARGUMENT_INVALID
   */
  duplicate(changes: Partial<Pick<Request, 'method' | 'target'>> = {}): Request {
    checkOptions('request.duplicate()', changes, { method: 'string', target: 'string' })
    const { method = this.method, target = this.target } = changes
    const { connection, headers, httpVersion } = this
    const init = { method, target, headers, httpVersion, connection, trustedProxies: this.#trustedProxies }
    const duplicate = new Request(init, this)
    const locale = this.attributes.get('_locale')
    if (locale !== undefined) duplicate.attributes.set('_locale', locale)
    return duplicate
  }
}

/** Generates the URLs of routes. */
interface Urls {
  /** The URL of a route. */
  generate(name: string, parameters: UrlParameters, options: { readonly request: Request }): string
}

/** The attributes of a request. Development explains other ways to read them by this class. */
export class AttributeMap extends Map<string, unknown> {}

/** The parameters of a query. Development explains other ways to read them by this class. */
export class Query extends URLSearchParams {}

/** `c.json(value)` of Hono makes a response; here these methods read the body. @throws ARGUMENT_INVALID */
function refuseAnswer(method: 'json' | 'text', misplaced: readonly unknown[]): void {
  if (misplaced.length === 0) return
  const mistake = `it reads the body, and takes no argument: a response is Response.${method}(…)`
  throw new ARGUMENT_INVALID([`request.${method}()`, mistake])
}

let createEmptySession: (() => Session) | undefined

/** Sets what creates the session of a request that never had one. Programs that have no sessions load requests, too. */
export function provideEmptySessions(create: () => Session): void {
  createEmptySession = create
}

const defaultPorts = { http: 80, https: 443 } as const

const noSessionMessage =
  'This request has no session yet. In an application, createFrameworkBundle() gives it one at the priority 128 of kernel.request: use it in a listener with a lower priority. In a test, use createRequest(path, { session: {} }).'

const noProxies = new TrustedProxies()

/** What is read from the request line and the headers. */
interface ParsedHead {
  readonly target: Target
  readonly forwarded: Forwarded
  readonly host: Host | undefined
  readonly problem: HttpError | undefined
}

/** The parts of a request that are parsed. */
interface Head {
  readonly headers: Headers
  readonly method: string
  readonly peerAddress: string
  readonly target: string
}

/**
 * Parses a request. The first error is kept for later: one about the client and the host, else one about the target. A
 * sub-request has the host of its parent if its own has none.
 */
function parseHead(head: Head, trustedProxies: TrustedProxies, parent: ParsedHead | undefined): ParsedHead {
  const { headers, method, peerAddress, target: sent } = head
  let target: Target
  let forwarded = nothingForwarded
  let host = parent?.host
  let problem: HttpError | undefined
  let targetProblem: HttpError | undefined
  try {
    target = parseTarget(sent, method)
  } catch (error) {
    targetProblem = asProblem(error)
    target = { rawPath: sent, path: sent, queryString: '' }
  }
  try {
    forwarded = trustedProxies.read(headers, peerAddress)
  } catch (error) {
    problem = asProblem(error)
  }
  try {
    host = readHost(headers, forwarded.host, target.authority) ?? host
  } catch (error) {
    problem ??= asProblem(error)
  }
  return { target, forwarded, host, problem: problem ?? targetProblem }
}

/** An error that refuses a request. Any other error is thrown. */
function asProblem(error: unknown): HttpError {
  if (!(error instanceof HttpError)) throw error
  return error
}

/** Checks the links of a response 103 (RFC 8297). @throws HTTP_HINT_INVALID */
function checkLinks(links: readonly string[]): void {
  const wrong = links.find(link => !linkPattern.test(link))
  if (wrong !== undefined) throw new HTTP_HINT_INVALID([wrong])
}

/**
 * The links that `writeEarlyHints` of Node accepts, of printable ASCII: Node accepts line breaks
 * beside a semicolon, and sends only the low byte of other characters, which may be a line break.
 * Only one way leads through a text: the time is linear.
 */
const linkPattern = /^<[!-=?-~]*>(?:[ \t]*;[ \t]*[!#-:<>-~]+(?:=(")?[!#-:<-~]*\1)?)*$/

/**
 * The sending side of a request, such as a response of node. It is closed after the response, or
 * when the client leaves.
 */
export interface Reply {
  /** Whether the whole response was sent. */
  readonly writableFinished: boolean
  readonly destroyed: boolean
  /** Whether the head of the response is sent. */
  readonly headersSent?: boolean
  once(event: 'close', listener: () => void): unknown
  /** Sends a response 103; absent where that is not possible. */
  writeEarlyHints?(hints: { readonly link: string[] }): unknown
}

/**
 * Creates a signal that is aborted when the client leaves before the whole response was sent;
 * without a reply it never is.
 */
function createSignal(reply: Reply | undefined): AbortSignal {
  const controller = new AbortController()
  const onClose = () => {
    if (reply?.writableFinished === false) controller.abort()
  }
  if (reply?.destroyed) onClose()
  else reply?.once('close', onClose)
  return controller.signal
}

/**
 * The names and types of known request attributes. An application adds its own by declaration merging:
 *
 *     declare module 'sinfonietta' { interface KnownAttributes { locale: string } }
 */
export interface KnownAttributes {
  /** The format of the response, such as `html` or `json`. */
  _format: string
  /** The links of the early hints that were sent before the response. */
  _early_hints: readonly string[]
  /** Files that are deleted when the main request is over. */
  _temporary_files: readonly string[]
  /** The language of the page, such as `de`. A sub-request has that of its parent. */
  _locale: string
}

/** What the compiler shows of the name of an attribute that it does not know. */
type UnknownAttribute<name extends string> =
  `"${name}" is not in KnownAttributes; a parameter of the route is attributes.get('_route_params')?.${name}`

/** The type of an attribute; `unknown` for a name that is a text of any value. */
export type AttributeValue<name extends string> = name extends keyof KnownAttributes ? KnownAttributes[name] : unknown

/** The name of an attribute: a known one, or a text of any value. The compiler refuses others, which are mistyped. */
type AttributeName<name extends string> = name extends keyof KnownAttributes
  ? name
  : string extends name
    ? name
    : keyof KnownAttributes | UnknownAttribute<name>

/** The values that listeners and controllers attach to a request, by name. */
export interface Attributes extends Omit<Map<string, unknown>, 'delete' | 'get' | 'has' | 'set'> {
  /** Removes the value of the name. */
  delete<name extends string>(name: AttributeName<name>): boolean
  /** The value of the name; `undefined` without one. */
  get<name extends string>(name: AttributeName<name>): AttributeValue<name> | undefined
  /** Whether the name has a value. */
  has<name extends string>(name: AttributeName<name>): boolean
  /** Sets the value of the name, for all listeners and controllers after this. */
  set<name extends string>(name: AttributeName<name>, value: AttributeValue<name>): this
}

/** Refuses what is no request of the kernel, such as one of the Fetch API. @throws ARGUMENT_INVALID */
export function checkRequest(call: string, request: unknown): void {
  if (request instanceof Request) return
  throw new ARGUMENT_INVALID([call, `the request is an object of the class Request, not ${describeValue(request)}`])
}

/** A status behind the parameters would have no effect. @throws ARGUMENT_INVALID */
function checkRedirect(method: 'redirectTo' | 'redirectBack', route: unknown, [other]: readonly unknown[]): void {
  checkString(`request.${method}(route, parameters)`, 'the name of the route', route)
  if (other === undefined) return
  const mistake = `its third argument is ${describeValue(other)}: the status is 303, and 302 after a GET; for another one use Response.redirect(url, status)`
  throw new ARGUMENT_INVALID([`request.${method}(route, parameters)`, mistake])
}
