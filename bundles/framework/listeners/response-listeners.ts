import { realpathSync } from 'node:fs'
import path from 'node:path'
import { Readable } from 'node:stream'
import type { DebugGate } from '../../../kernel/debug/debug-gate.ts'
import type { ThrownFrames } from '../../../kernel/debug/thrown-frames.ts'
import { ResponseEvent } from '../../../kernel/events.ts'
import type { EventDispatcher } from '../../../lib/event-dispatcher/event-dispatcher.ts'
import { isNotModified, isRetrieval, toNotModified } from '../../../lib/http/conditions.ts'
import { FileResponse } from '../../../lib/http/file-response.ts'
import { addVary, Headers, setChecked } from '../../../lib/http/headers.ts'
import {
  type Coding,
  compress,
  compressionThreshold,
  isCompressible,
  preferredCoding,
} from '../../../lib/http/negotiation.ts'
import type { Request } from '../../../lib/http/request.ts'
import { type Body, contentTypeOf, discard, isBodiless, type Response, weakenEtag } from '../../../lib/http/response.ts'
import type { Logger } from '../../../lib/log/logger.ts'
import type { RouteCollection } from '../../../lib/routing/route-collection.ts'
import { showPlace } from '../../../lib/stack/declaration-sites.ts'
import type { findMisnamed } from '../misnamed-fields.ts'

/** The default, as that of the ResponseListener. */
const requestIdPriority = 0

/** Sends the id of a request to its client, for a question about this request: log lines have the same id. */
export class RequestIdListener {
  subscribe(dispatcher: EventDispatcher): void {
    dispatcher.subscribe(ResponseEvent, this, 'onResponse', requestIdPriority)
  }

  onResponse(event: ResponseEvent): void {
    const { request, response } = event
    if (request.parent !== undefined) return
    // The request has checked its id.
    setChecked(response.headers, 'x-request-id', request.id)
    event.complete(addId)
  }
}

/** A listener that sets another response may have set another id. */
function addId({ headers }: Response, { id }: Request): void {
  if (!headers.has('x-request-id')) setChecked(headers, 'x-request-id', id)
}

/** The default. The framework is registered first, so other listeners without a priority see the completed headers. */
const responsePriority = 0

/**
 * Completes a response with a content type, by the format of the request, with the charset of a
 * text, default headers, and a cautious Cache-Control. As in Symfony, a response without
 * Cache-Control becomes `no-cache, private`, or `private, must-revalidate` if it has `last-modified`
 * or `expires`. To a Cache-Control without `public`, `private` and `s-maxage`, `private` is added.
 */
export class ResponseListener {
  readonly #defaults: Headers

  readonly #development: Development | undefined
  readonly #warned = new Set<string>()

  /**
   * The headers of all responses with a body that do not have them. By default there are none. In development, it warns
   * of cookies whose time is probably in milliseconds, of etags without quotes, of redirects to names of routes and of
   * hosts, and of forms whose fields differ from the schema.
   */
  constructor(defaults: Headers = new Headers(), development?: Development) {
    this.#defaults = defaults
    this.#development = development
  }

  subscribe(dispatcher: EventDispatcher): void {
    dispatcher.subscribe(ResponseEvent, this, 'onResponse', responsePriority)
  }

  onResponse(event: ResponseEvent): void {
    event.complete(this.#complete)
    if (this.#development === undefined) return
    const { headers } = event.response
    for (const cookie of headers.getAll('set-cookie')) this.#check(cookie)
    const { request } = event
    const route = request.attributes.get('_route')
    const { findMisnamed, logger, routes, thrown } = this.#development
    const log = logger.withRequestId(request.id)
    const found = isRetrieval(request.method) ? undefined : routes.find(route ?? '')
    const [sent, wanted] = (found && findMisnamed?.(found, request)) ?? []
    const key = `form of ${route}`
    if (sent !== undefined && !this.#warned.has(key) && this.#warned.size <= 100) {
      this.#warned.add(key)
      log.warning(misnamedField, { route, where: showPlace(thrown.findDefinition(request)), sent, wanted })
    }
    const etag = headers.get('etag')
    if (etag !== null && !/^(?:W\/)?"[^"]*"$/.test(etag)) log.warning(bareEtag, { etag, route })
    const location = headers.get('location') ?? ''
    if (/^(?:www\.|[\w-]+(?:\.[\w-]+)*\.(?:com|org|net|io|dev|app)(?:\/|$)|localhost:\d)/.test(location))
      log.warning(hostRedirect, { location, route })
    if (!/^[\w.-]+$/.test(location) || routes.find(location) === undefined) return
    log.warning(namedRedirect, { location, route })
  }

  #check(cookie: string): void {
    const [, name = '', seconds] = /^([^=]+)=.*;\s*max-age=(\d+)/i.exec(cookie) ?? []
    if (Number(seconds ?? 0) <= longestCookie || this.#warned.has(name) || this.#warned.size > 100) return
    this.#warned.add(name)
    this.#development?.logger.warning(longCookie, { name, seconds, limit: longestCookie })
  }

  readonly #complete = (response: Response, request: Request): void => {
    completeContentType(request, response, this.#defaults)
    completeCacheControl(response)
  }
}

/** What the warnings need. */
interface Development {
  readonly logger: Pick<Logger, 'warning' | 'withRequestId'>
  readonly routes: Pick<RouteCollection, 'find'>
  readonly thrown: Pick<ThrownFrames, 'findDefinition'>
  readonly findMisnamed?: typeof findMisnamed | undefined
}

const misnamedField =
  'The form of the route "{route}"{where} sends "{sent}", which its schema does not have: it has "{wanted}", which is not sent.'

const hostRedirect =
  'The route "{route}" redirects to "{location}", which is a path beside its own: a host begins with https://.'

/** RFC 9110, section 8.8.3. */
const bareEtag = `The etag {etag} of the route "{route}" is not in double quotes, so clients and proxies ignore it: write headers.set("etag", '"v7"').`

const namedRedirect =
  'The route "{route}" redirects to "{location}", which is a URL beside its own: to the route of this name leads request.redirectTo("{location}").'

/** 400 days (RFC 6265bis, section 5.5), in seconds. */
const longestCookie = 400 * 24 * 60 * 60

const longCookie =
  'The cookie "{name}" is for {seconds} seconds, but browsers keep one for {limit} (400 days) at most: maxAge is in seconds, not in milliseconds.'

function completeContentType(request: Request, { body, headers, status }: Response, defaults: Headers): void {
  if (isBodiless(status)) {
    headers.delete('content-type')
    return
  }
  const type = headers.get('content-type')
  if (type === null) headers.set('content-type', contentTypeOf(String(request.attributes.get('_format') ?? 'html')))
  // Bytes may have any charset.
  else if (typeof body === 'string' && type.startsWith('text/') && !type.includes(';')) {
    headers.set('content-type', `${type}; charset=UTF-8`)
  }
  headers.addMissing(defaults)
}

function completeCacheControl({ headers, status }: Response): void {
  const control = headers.get('cache-control')
  if (control) {
    if (!audience.test(control)) headers.set('cache-control', `${control}, private`)
    return
  }
  // A permanent redirect may be cached: it gets no Cache-Control.
  if (status === 301) return
  const hasDate = headers.has('last-modified') || headers.has('expires')
  headers.set('cache-control', hasDate ? 'private, must-revalidate' : 'no-cache, private')
}

/** A directive about the caches that may store a response (RFC 9111, section 5.2.2). */
const audience = /(?:^|,)[ \t]*(?:public|private|s-maxage)[ \t]*(?:[=,]|$)/i

/** After listeners that set the header. */
const removeCspPriority = -128

/**
 * Removes the Content-Security-Policy of a failed page from the debug error page, as Symfony's ErrorListener does. The
 * error page has its own strict policy in a `<meta>` element. Registered only in debug mode.
 */
export class RemoveCspListener {
  readonly #debugGate: Pick<DebugGate, 'allows'>

  constructor(debugGate: Pick<DebugGate, 'allows'>) {
    this.#debugGate = debugGate
  }

  subscribe(dispatcher: EventDispatcher): void {
    dispatcher.subscribe(ResponseEvent, this, 'onResponse', removeCspPriority)
  }

  onResponse({ request, response }: ResponseEvent): void {
    if (request.attributes.get('_remove_csp_headers') !== true || !this.#debugGate.allows(request)) return
    response.headers.delete('content-security-policy')
  }
}

/** After the listeners of applications, so that one of them can set its own value. */
const robotsPriority = -255

/**
 * Keeps the pages of development out of search engines. Registered only in debug mode. Each client gets the
 * header, also one that may not see debug output: a crawler that comes through a tunnel is such a client.
 */
export class RobotsListener {
  subscribe(dispatcher: EventDispatcher): void {
    dispatcher.subscribe(ResponseEvent, this, 'onResponse', robotsPriority)
  }

  onResponse(event: ResponseEvent): void {
    event.complete(forbidIndexing)
  }
}

function forbidIndexing({ headers }: Response): void {
  if (!headers.has('x-robots-tag')) headers.set('x-robots-tag', 'noindex')
}

/** After listeners that read the body, and before compression. */
const accelRedirectPriority = -1050

/** Headers that nginx makes for the file itself. */
const fileHeaders = ['accept-ranges', 'content-length', 'content-range', 'etag', 'last-modified']

/** A folder whose files nginx sends, and the path of its internal location. */
export interface AccelRedirect {
  readonly folder: string
  readonly location: string
}

/**
 * Lets nginx send the files of controllers, by X-Accel-Redirect: it decides on conditions and
 * ranges. Registered only with the setting ACCEL_REDIRECT.
 */
export class AccelRedirectListener {
  readonly #redirects: readonly AccelRedirect[]

  /** Folders are relative to the directory of the application. */
  constructor(redirects: readonly AccelRedirect[], directory: string) {
    this.#redirects = redirects.map(({ folder, location }) => ({
      folder: `${toRealPath(path.resolve(directory, folder))}${path.sep}`,
      location,
    }))
  }

  subscribe(dispatcher: EventDispatcher): void {
    dispatcher.subscribe(ResponseEvent, this, 'onResponse', accelRedirectPriority)
  }

  onResponse({ isMainRequest, request, response }: ResponseEvent): void {
    // A temporary file would be deleted before nginx has opened it; and nginx would answer a POST
    // as a GET, with 304 and ranges.
    if (!isMainRequest || !(response instanceof FileResponse) || response.isTemporary) return
    if (!isRetrieval(request.method)) return
    const file = toRealPath(response.file)
    const redirect = this.#redirects.find(({ folder }) => file.startsWith(folder))
    if (redirect === undefined) return
    discard(response.body)
    response.body = null
    response.status = 200
    for (const name of fileHeaders) response.headers.delete(name)
    response.headers.set('content-type', response.contentType)
    const segments = file.slice(redirect.folder.length).split(path.sep)
    response.headers.set('x-accel-redirect', `${redirect.location}/${segments.map(encodeURIComponent).join('/')}`)
  }
}

/** The path without symbolic links. A path that does not exist stays as it is. */
function toRealPath(file: string): string {
  try {
    return realpathSync(file)
  } catch {
    return file
  }
}

/** After all listeners that read or change the body, and after the SessionListener, which sets Cache-Control. */
const compressionPriority = -1100

/** For a response that is compressed only once, gzip is faster than Brotli at the same size. */
const codings: readonly Coding[] = ['gzip', 'br']

/**
 * Compresses pages, JSON and streams of text, if the client accepts it and the size is worth it. A response with
 * `cache-control: no-transform` is not compressed. Use that for a page with a secret and input of the request: its
 * compressed length reveals something about both (BREACH).
 */
export class CompressionListener {
  subscribe(dispatcher: EventDispatcher): void {
    dispatcher.subscribe(ResponseEvent, this, 'onResponse', compressionPriority)
  }

  onResponse({ isMainRequest, request, response }: ResponseEvent): Promise<void> | undefined {
    const { body, headers } = response
    if (!isMainRequest || body === null || !canBeCompressed(body, response)) return undefined
    addVary(headers, 'Accept-Encoding')
    const coding = preferredCoding(request.headers, codings)
    if (coding === undefined) return undefined
    // Other clients may get the same content in other bytes.
    weakenEtag(headers)
    if (isNotModified(request, response)) return undefined
    const compressed = compress(body, coding)
    if (compressed instanceof Promise) return compressed.then(bytes => replaceBody(response, body, bytes, coding))
    replaceBody(response, body, compressed, coding)
    return undefined
  }
}

type PresentBody = NonNullable<Body>

/** Headers that describe exactly these bytes: a body with one of them is not compressed. */
const bodyHeaders: readonly string[] = ['content-encoding', 'content-digest', 'repr-digest']

function canBeCompressed(body: PresentBody, { headers, status }: Response): boolean {
  if (status === 206 || isBodiless(status)) return false
  // A stream with a Content-Length must have this length.
  if (body instanceof Readable ? headers.has('content-length') : body.length < compressionThreshold) return false
  if (!isCompressible(headers.get('content-type')) || bodyHeaders.some(name => headers.has(name))) return false
  return !/\bno-transform\b/i.test(headers.get('cache-control') ?? '')
}

function replaceBody(response: Response, body: PresentBody, compressed: Uint8Array | Readable, coding: Coding): void {
  if (!(body instanceof Readable || compressed instanceof Readable)) {
    const size = Buffer.byteLength(body)
    if (compressed.length >= size) return
    response.originalSize = size
  }
  response.body = compressed
  response.headers.set('content-encoding', coding)
}

/** Last: no other listener changes the response or its etag after it. */
const conditionalPriority = -1200

/** Answers 304 if the client has the same version of a page, by its etag or its last change. */
export class ConditionalListener {
  subscribe(dispatcher: EventDispatcher): void {
    dispatcher.subscribe(ResponseEvent, this, 'onResponse', conditionalPriority)
  }

  onResponse({ isMainRequest, request, response }: ResponseEvent): void {
    if (isMainRequest && isNotModified(request, response)) toNotModified(response)
  }
}
