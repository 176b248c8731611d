import type { ShapeOf } from '../text/mistakes.ts'
import { addVary, type Headers, isHeaderName } from './headers.ts'
import type { Request } from './request.ts'
import { Response } from './response.ts'

/** The pages of other origins whose scripts may read responses (CORS, of the Fetch standard). */
export interface CorsPolicy {
  /**
   * Exact origins, such as `https://app.example.org`, or a function. `*` is every origin, without
   * credentials; it does not allow requests that the cross-origin protection refuses.
   */
  readonly origins: readonly string[] | '*' | ((origin: string, request: Request) => boolean)
  /** Whether scripts may send cookies and HTTP authentication. The default is `false`. */
  readonly credentials?: boolean | undefined
  /** The request headers that scripts may send. By default all that the preflight request asks for. */
  readonly headers?: readonly string[] | undefined
  /** The response headers that scripts may read, in addition to those that they may always read. */
  readonly exposedHeaders?: readonly string[] | undefined
  /** Seconds for which a browser may keep the answer to a preflight request. By default the browser decides (5). */
  readonly maxAge?: number | undefined
}

/** The shape of a policy, which is checked before {@link findCorsMistakes}. */
export const corsShape: ShapeOf<CorsPolicy> = {
  origins: true,
  credentials: 'boolean',
  headers: ['string'],
  exposedHeaders: ['string'],
  maxAge: 'number',
}

/** Lists the mistakes of a policy that has the right shape. Each one is a sentence without a full stop. */
export function findCorsMistakes(policy: CorsPolicy, place: 'cors' | '_cors'): string[] {
  const { credentials = false, exposedHeaders = [], headers = [], maxAge = 0, origins } = policy
  const mistakes: string[] = []
  const check = (isGood: boolean, mistake: string): void => {
    if (!isGood) mistakes.push(`${place}.${mistake}`)
  }
  const isList = Array.isArray(origins)
  check(isList || origins === '*' || typeof origins === 'function', 'origins must be a list, "*" or a function')
  for (const origin of isList ? origins : []) {
    if (!isOrigin(origin)) mistakes.push(describeNoOrigin(`${place}.origins`, origin))
  }
  check(!(credentials && origins === '*'), 'credentials is true, and origins is "*": name the origins')
  for (const name of [...headers, ...exposedHeaders]) {
    check(isHeaderName(name), `headers and ${place}.exposedHeaders have "${name}": use names of headers`)
  }
  check(Number.isInteger(maxAge) && maxAge >= 0, `maxAge is ${maxAge}: use whole seconds`)
  return mistakes
}

/** Whether scripts of the page that has sent a request may read the response. */
function allowsReading({ origins }: CorsPolicy, request: Request): boolean {
  return origins === '*' || allowsSending({ origins }, request)
}

/** Whether the policy names the origin of the request, so that the request may change something. */
export function allowsSending({ origins }: Pick<CorsPolicy, 'origins'>, request: Request): boolean {
  const origin = request.headers.get('origin')
  if (origin === null || origins === '*') return false
  return typeof origins === 'function' ? origins(origin, request) : origins.includes(origin)
}

/** Adds the headers by which a browser lets scripts of other origins read a response. */
export function addCorsHeaders(headers: Headers, policy: CorsPolicy, request: Request): void {
  const { credentials, exposedHeaders = [], origins } = policy
  if (origins !== '*') addVary(headers, 'Origin')
  if (!allowsReading(policy, request)) return
  headers.set('access-control-allow-origin', origins === '*' ? '*' : (request.headers.get('origin') ?? ''))
  if (credentials) headers.set('access-control-allow-credentials', 'true')
  if (exposedHeaders.length > 0) headers.set('access-control-expose-headers', exposedHeaders.join(', '))
}

/** The method for which a preflight request asks; `undefined` for any other request. */
export function readPreflight({ headers, method }: Pick<Request, 'headers' | 'method'>): string | undefined {
  if (method !== 'OPTIONS' || !headers.has('origin')) return undefined
  return headers.get('access-control-request-method') ?? undefined
}

/**
 * Creates the answer to a preflight request for a method that a route of its path has.
 * {@link addCorsHeaders} completes it.
 */
export function createPreflightResponse(method: string, policy: CorsPolicy, request: Request): Response {
  const response = Response.empty()
  if (!allowsReading(policy, request)) return response
  const { headers } = response
  headers.set('access-control-allow-methods', method)
  const allowed = policy.headers?.join(', ') ?? request.headers.get('access-control-request-headers') ?? ''
  if (allowed !== '') headers.set('access-control-allow-headers', allowed)
  if (policy.maxAge !== undefined) headers.set('access-control-max-age', String(policy.maxAge))
  return response
}

/** The header of a request that shows that a page of another origin has sent it. */
export interface CrossOriginSign {
  readonly header: 'sec-fetch-site' | 'origin'
  readonly value: string
}

/**
 * Finds the header that shows that a page of another origin (RFC 6454) has sent the request. `undefined` for
 * a request of a page of this origin, of the address bar, of a program, or of a page of an allowed origin.
 *
 * Browsers send Sec-Fetch-Site (W3C Fetch Metadata) over HTTPS and to the own machine: `same-origin`, `none`
 * (the user), `same-site` (another port or subdomain) or `cross-site`. Without it, the Origin header is compared
 * with {@link Request.origin}: old browsers, and pages over plain HTTP, send only that. Programs send neither.
 */
export function findCrossOrigin(
  { headers, origin }: Pick<Request, 'headers' | 'origin'>,
  allowed: readonly string[] = [],
): CrossOriginSign | undefined {
  const site = headers.get('sec-fetch-site')
  if (site === 'same-origin' || site === 'none') return undefined
  const from = headers.get('origin')
  if (from !== null && allowed.includes(from)) return undefined
  if (site !== null) return { header: 'sec-fetch-site', value: site }
  return from === null || from === origin ? undefined : { header: 'origin', value: from }
}

/**
 * Whether a text is an origin as browsers send it: `https://example.org`, without a default port
 * and without a path. Web views of applications have schemes of their own: `capacitor://localhost`.
 */
export function isOrigin(text: unknown): boolean {
  if (typeof text !== 'string' || !URL.canParse(text)) return false
  return /^https?:/.test(text) ? new URL(text).origin === text : /^[a-z][a-z\d+.-]*:\/\/[\w.-]+(?::\d+)?$/.test(text)
}

/** The mistake of a text in a list of origins, without a full stop. */
export function describeNoOrigin(list: string, text: unknown): string {
  return `${list} has "${text}": use an origin such as "https://example.org", without a path`
}
