import { Readable } from 'node:stream'
import { traceContextOf } from '../../../../kernel/contracts/trace-context.ts'
import { nameOfController } from '../../../../kernel/controller.ts'
import type { DebugGate } from '../../../../kernel/debug/debug-gate.ts'
import { decodeUtf8 } from '../../../../lib/body/body-source.ts'
import { type FormData, parseForm } from '../../../../lib/body/form-data.ts'
import { EventStream, isEventStream } from '../../../../lib/http/event-stream.ts'
import { isJsonType } from '../../../../lib/http/media-type.ts'
import type { Request } from '../../../../lib/http/request.ts'
import { isBodiless, type Response } from '../../../../lib/http/response.ts'
import { readTime } from '../../../../lib/own-globals.ts'
import { type MaskingCopier, maskAndCut } from '../../../../lib/redact/masking-copier.ts'
import type { Redactor } from '../../../../lib/redact/redactor.ts'
import { isSecretBeside, mask, type NameTest } from '../../../../lib/redact/secret-names.ts'
import { readingMethods, type SessionMethod } from '../../../../lib/session/session-methods.ts'
import type { Signals } from '../../../../lib/signals.ts'
import { type Caller, Callers } from '../../../../lib/stack/callers.ts'
import { formatFrame, locateFrame, parseStack } from '../../../../lib/stack/stack-frames.ts'
import { escapeRegExp } from '../../../../lib/text/escapes.ts'
import type { BodyData, ContentData, FileData } from '../../profile/content.ts'
import { roundTime } from '../../profile/format.ts'
import type { Pairs } from '../../profile/schema.ts'
import type { CollectorOf } from '../../record/collect.ts'
import { type ContentCopier, copyForm, copyHeaders, createCopier } from '../../record/copy.ts'
import type { RecordedSubject } from '../../record/recorded-subject.ts'
import { replayAttribute } from '../../record/recording-policy.ts'
import { type FindTrace, type Trace, TracePart } from '../../record/trace.ts'
import type { ProfiledSession, RedirectData, RequestData, ResponseData, SessionUseData } from './data.ts'
import { findOperation, nameOperation } from './operation.ts'
import { readTrailers } from './trailers.ts'

/** The request and its response, and the session that they use. */
export const exchangeSubject: RecordedSubject = {
  createCollectors: ({ debugGate, directory, redactor }, { contents }) => [
    createRequestCollector(redactor, debugGate),
    createResponseCollector(redactor, contents),
    createSessionCollector(redactor, directory),
    new RecentRedirects(redactor),
  ],
  observeRequests: ({ directory, signals }, { findTrace }) => [
    observeSessions(signals, findTrace, new Callers(directory)),
  ],
}

/** Collects the request, and the attributes that listeners set. */
export function createRequestCollector(redactor: Redactor, debugGate: Pick<DebugGate, 'allows'>) {
  return {
    name: 'request',
    collect({ request }: Trace) {
      const data: { -readonly [field in keyof RequestData]: RequestData[field] } = {
        httpVersion: request.httpVersion,
        headers: copyHeaders(request.headers, createCopier(redactor)),
        attributes: copyAttributes(request, createCopier(redactor)),
        isDebugAllowed: debugGate.allows(request),
        id: request.id,
      }
      const trace = traceContextOf(request)
      if (trace !== undefined) data.traceId = trace.traceId
      if (trace?.parentId !== undefined && request.parent === undefined) data.parentSpanId = trace.parentId
      if (trace?.spanId !== undefined) data.spanId = trace.spanId
      if (request.queryString !== '') data.query = copyQuery(request.query, createCopier(redactor))
      const body = describeBody(request, redactor)
      if (body !== undefined) data.body = body
      return data
    },
    settle({ collected, request: { method }, response }, { request, response: answer }) {
      const { url = '' } = collected?.summary ?? {}
      // The names of the collectors are those of the types.
      const parts = { request: request as RequestData | undefined, response: answer as ResponseData | undefined }
      const found = findOperation({ method, url, status: response?.status ?? 0, ...parts })
      return found === undefined ? {} : { operation: nameOperation(found), operationErrors: found.errors.length }
    },
  } satisfies CollectorOf<'request'>
}

function copyQuery(query: URLSearchParams, copier: MaskingCopier): Pairs {
  return copier.pairs(query, (name, value) => (isSecretBeside(name, query) ? mask : copier.value(name, value)))
}

function copyAttributes({ attributes }: Request, copier: MaskingCopier): Pairs {
  return copier.pairs(attributes, (name, value) =>
    name === '_controller' ? copier.text(nameOfController(value, attributes.get('_route'))) : copier.value(name, value),
  )
}

/** Characters of a text that are parsed: the profile keeps the first 16 KiB at most. */
const parseLimit = 262_144

const tooLarge = 'Too large to be stored.'
const onlyBeginning = 'Only its beginning was stored: the body is large.'

/** More than the application accepts by default. */
const fieldLimit = 1000

/**
 * Describes the body as far as the application has read it. Forms and JSON are copied and masked; other bodies are
 * described by type and length, because secrets in them are not recognised. `undefined` without a body.
 */
function describeBody({ body, headers, parent }: Request, redactor: Redactor): BodyData | undefined {
  if (!body.isPresent) return undefined
  const { bytes, form, received, size } = body.peek()
  const type = createCopier(redactor).text(body.contentType)
  const announced = headers.get('content-length')
  const length = bytes?.length ?? size ?? (announced === null ? null : Number(announced))
  if (parent !== undefined) return { type, length, state: 'parent' }
  if (form !== undefined) {
    // Another server has received more than is kept of it.
    const note = bytes === undefined && size !== undefined ? { note: onlyBeginning } : {}
    return { type, length, state: 'read', ...describeForm(form, redactor), ...note }
  }
  if (bytes !== undefined) return { type, length, state: 'read', ...describeBytes(body.contentType, bytes, redactor) }
  if (size !== undefined) return { type, length, state: 'read', note: tooLarge }
  // The client has announced more than it has sent.
  return body.wasRead ? { type, length: received ?? null, state: 'broken' } : { type, length, state: 'unread' }
}

function describeForm(fields: FormData, redactor: Redactor): Pick<BodyData, 'form' | 'files'> {
  const copier = createCopier(redactor)
  const texts: [string, string][] = []
  const files: FileData[] = []
  for (const [field, value] of fields) {
    if (typeof value === 'string') texts.push([field, value])
    else {
      const { name, size, type } = value
      files.push({ field: copier.text(field), name: copier.text(name), type: copier.text(type), size })
    }
  }
  return { form: copyForm(texts, copier), files }
}

function describeBytes(type: string, bytes: Uint8Array, redactor: Redactor): Pick<BodyData, 'form' | 'json' | 'note'> {
  const isForm = type === 'application/x-www-form-urlencoded'
  const isJson = isJsonType(type)
  if (!isForm && !isJson)
    return { note: 'Only forms and JSON are recorded: in other content, secrets cannot be detected.' }
  if (bytes.length > parseLimit) return { note: tooLarge }
  try {
    const text = decodeUtf8(bytes).replace(/^\ufeff/, '')
    if (isForm) return describeForm(parseForm(text, fieldLimit), redactor)
    return { json: [createCopier(redactor).value('', JSON.parse(text))] }
  } catch {
    return { note: `Not a valid ${isForm ? 'form' : 'JSON'} body.` }
  }
}

/** Limit of `large-cookie`: bytes of name and value. Browsers send them with each request (RFC 6265, section 6.1). */
const largeCookie = 3000

const nameLength = 100

/** Collects the response: of a main request as it was sent, of a sub-request as it was returned. */
export function createResponseCollector(redactor: Redactor, contents: ContentCopier): CollectorOf<'response'> {
  return {
    name: 'response',
    collect(trace) {
      const { response, sentBytes } = trace
      if (response === undefined) return undefined
      const content = copyContent(trace, response, redactor, contents)
      const largeCookies = findLargeCookies(response, redactor)
      const trailers = readTrailers(trace.page, response.headers.get('content-type') ?? '')
      return {
        headers: copyHeaders(response.headers, createCopier(redactor)),
        size: sizeOf(trace, response, content),
        isStreamed:
          trace.page?.isStreamed === true || response.body instanceof Readable || isEventStream(response.headers),
        ...(sentBytes !== undefined && { sent: sentBytes }),
        ...(response instanceof EventStream && { events: response.sentEvents }),
        ...(largeCookies.length > 0 && { largeCookies }),
        ...(content !== undefined && { content }),
        ...(trailers.length > 0 && { trailers: createCopier(redactor).pairs(trailers) }),
      }
    },
    // It is not known how much of a text the client has got before it has left.
    summarize: ({ outcome }, data) => ({ size: data?.sent ?? (outcome === 'aborted' ? null : data?.size) ?? null }),
  }
}

function findLargeCookies({ headers }: Response, redactor: Redactor): [name: string, bytes: number][] {
  return headers.getAll('set-cookie').flatMap(cookie => {
    const [pair = ''] = cookie.length < largeCookie ? [] : cookie.split(';', 1)
    const [name = ''] = pair.split('=', 1)
    const size = pair.replace('=', '').length
    return size < largeCookie ? [] : [[maskAndCut(name, nameLength, redactor), size]]
  })
}

function copyContent(
  { page, request }: Trace,
  { body, headers, status }: Response,
  redactor: Redactor,
  contents: ContentCopier,
): ContentData | undefined {
  const type = headers.get('content-type') ?? ''
  // The profiler's own error pages show data that is in the profile already.
  const isOwn = headers.has('x-debug-exception') && /^text\/(?:html|plain|markdown)/.test(type)
  if (isOwn || request.method === 'HEAD' || isBodiless(status)) return undefined
  const encoding = headers.get('content-encoding') ?? ''
  const sent = page ?? { body, encoding }
  if (sent.body === null || sent.body instanceof Readable) return undefined
  // Not earlier: under load, most contents are not copied.
  const hide = (text: string) => createEchoMask(request, { headers }, redactor.isSecret)(text)
  const mayHaveErrors = () => asksOperation(request)
  return contents.copy({ body: sent.body, type, encoding: sent.encoding, whole: page?.whole, hide, mayHaveErrors })
}

/** Whether the body of a request may be an operation of GraphQL or JSON-RPC: their errors have the status 200. */
function asksOperation({ body, hasBody }: Request): boolean {
  if (!hasBody || !isJsonType(body.contentType)) return false
  const { bytes = new Uint8Array() } = body.peek()
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
  return ['"query"', '"jsonrpc"', '"extensions"'].some(name => text.includes(name))
}

function sizeOf(
  { request, sentBytes }: Trace,
  { body, headers, originalSize, status }: Response,
  content: ContentData | undefined,
): number | null {
  if (originalSize !== undefined) return originalSize
  const isOfServer = request.attributes.has('_route_pattern')
  // Another server has announced and sent what it has compressed itself.
  if (isOfServer && content !== undefined && headers.has('content-encoding')) return content.length
  const announced = headers.get('content-length')
  if (announced !== null) return Number(announced)
  if (isOfServer && !isBodiless(status)) return request.method === 'HEAD' ? null : (sentBytes ?? null)
  if (body instanceof Readable) return null
  return body === null ? 0 : Buffer.byteLength(body)
}

/** A shorter secret would also mask parts of ordinary words. */
const shortest = 6

/** A cookie with an ordinary name, such as `theme`, has an ordinary value, unless it is long. */
const shortestCookie = 16

/** The most values of a request that are looked for. */
const limit = 100

/**
 * Creates a function that masks the secrets of a request in the text of its response: an
 * application may show a token that the client has sent, or that it has just set as a cookie.
 */
function createEchoMask(
  request: Request,
  { headers }: Pick<Response, 'headers'>,
  isSecret: NameTest,
): (text: string) => string {
  const secrets = [...findSecrets(request, isSecret), ...findCookies(headers.getAll('set-cookie'), isSecret)]
  if (secrets.length === 0) return text => text
  const forms = [...new Set(secrets)]
    .slice(0, limit)
    .flatMap(secret => [secret, encodeURIComponent(secret.toWellFormed())])
  const longestFirst = [...new Set(forms)].sort((a, b) => b.length - a.length)
  const pattern = new RegExp(longestFirst.map(escapeRegExp).join('|'), 'g')
  return text => text.replace(pattern, mask)
}

function findSecrets(request: Request, isSecret: NameTest): string[] {
  const found: string[] = []
  for (const [name, value] of request.cookies) if (isLong(name, value, isSecret)) found.push(value)
  const fields = request.headers.toRaw()
  for (let at = 0; at < fields.length; at += 2) {
    const name = fields[at] ?? ''
    if (name === 'cookie' || !isSecret(name)) continue
    // In an authorization the secret follows the scheme, such as `Bearer`.
    const secret = (fields[at + 1] ?? '').replace(/^[A-Za-z]+ +/, '')
    if (secret.length >= shortest) found.push(secret)
  }
  const form = request.hasBody ? request.body.peek().form : undefined
  for (const inputs of [request.queryString === '' ? [] : request.query, form ?? []]) {
    for (const [name, value] of inputs) {
      if (typeof value === 'string' && value.length >= shortest && isSecret(name)) found.push(value)
    }
  }
  return found
}

function findCookies(fields: readonly string[], isSecret: NameTest): string[] {
  return fields.flatMap(field => {
    const [pair = ''] = field.split(';', 1)
    const at = pair.indexOf('=')
    const value = pair.slice(at + 1)
    return isLong(pair.slice(0, at), value, isSecret) ? value : []
  })
}

function isLong(name: string, value: string, isSecret: NameTest): boolean {
  return value.length >= (isSecret(name) ? shortest : shortestCookie)
}

/**
 * Collects the session if it was used; it neither starts the session nor takes anything out of it.
 * Files are shown as seen from the directory of the application.
 */
function createSessionCollector(redactor: Redactor, directory: string): CollectorOf<'session'> {
  return {
    name: 'session',
    // A session may be changed after the response, and be saved by the application.
    collectsLate: true,
    collect(trace) {
      const { request } = trace
      const isStateless = request.attributes.get('_stateless') === true
      const useCount = request.requestedSession?.useCount ?? 0
      if (!isStateless && useCount === 0) return undefined
      const noted = usePart.find(trace) ?? []
      const lost = findLost(noted, trace)
      const uses = noted.map(use => ({ ...describeUse(use, directory), ...(lost.has(use) && { isUnsaved: true }) }))
      return { isStateless, useCount, uses, ...describeSession(trace, redactor) }
    },
  }
}

/** Whether the session is saved by now, or never will be. The main request saves that of a sub-request later. */
function isSettled({ main, parent }: Trace): boolean {
  return parent === undefined || main.endedAt !== undefined
}

/**
 * The changes that are not in the store: all since the last use that found nothing to save, or all
 * if no use has read the session.
 */
function findLost(uses: readonly NotedSessionUse[], trace: Trace): ReadonlySet<NotedSessionUse> {
  const { isChanged = false, isStarted = false } = trace.request.requestedSession ?? {}
  if (!isSettled(trace) || (isStarted && !isChanged)) return new Set()
  const from = isStarted ? uses.findLastIndex(({ hadChanges }) => !hadChanges) : 0
  return new Set(uses.slice(Math.max(0, from)).filter(({ method }) => !readingMethods.has(method)))
}

function describeSession(
  trace: Trace,
  redactor: Redactor,
): Pick<ProfiledSession, 'store' | 'isStored' | 'metadata' | 'attributes' | 'flashes'> {
  const { requestedSession } = trace.request
  const seen = requestedSession?.peek()
  if (seen === undefined) return {}
  const { attributes, flashes, metadata } = seen
  return {
    store: requestedSession?.storeName,
    ...(isSettled(trace) && { isStored: requestedSession?.isStored }),
    metadata,
    attributes: createCopier(redactor).record(attributes),
    flashes: createCopier(redactor).record(flashes),
  }
}

function describeUse({ at, caller, callSite, method }: NotedSessionUse, directory: string): SessionUseData {
  const own =
    caller && [caller, ...(caller.callers ?? [])].map(place => ({ ...place, isAsync: place.isAwaiting ?? false }))
  const others = parseStack(callSite)
    .map(frame => ({ ...frame, ...locateFrame(frame, directory) }))
    .filter(({ origin }) => origin !== 'runtime')
  return { method, at: roundTime(at), trace: (own ?? others.slice(0, frameLimit)).map(formatFrame) }
}

/** One use of the session by a recorded request. */
interface NotedSessionUse {
  readonly method: SessionMethod
  /** Milliseconds since the request began. */
  readonly at: number
  readonly caller: Caller | undefined
  /** The place in a library, if the application is not on the stack. */
  readonly callSite: Error | undefined
  /** Whether there were unsaved changes before it. */
  readonly hadChanges: boolean
}

/** The uses of the session by the request of a trace itself. */
const usePart = new TracePart<NotedSessionUse[]>(() => [])

/** Frames of a library that has used the session. */
const frameLimit = 5

/** The number of uses that are recorded for one request. The session counts all uses. */
const useLimit = 50

/** Records where requests use their session, until the returned function is called. */
function observeSessions(signals: Signals, findTrace: FindTrace, callers: Callers): () => void {
  return signals.on('session.used', ({ request, use: { captureCallSite, method } }) => {
    // A sub-request uses the session of its main request; the use is recorded on the sub-request.
    const trace = findTrace() ?? findTrace(request)
    if (trace === undefined) return
    const uses = usePart.of(trace)
    if (uses.length === useLimit) return
    const caller = callers.find()
    const callSite = caller === undefined ? captureCallSite() : undefined
    const hadChanges = request.requestedSession?.isChanged ?? false
    uses.push({ method, at: trace.elapsed(), caller, callSite, hadChanges })
    trace.touch()
  })
}

/** Milliseconds: browsers follow a redirect at once. A later request has another reason. */
const lifetime = 5000

const expectedLimit = 100
const chainLimit = 10

/**
 * Remembers redirects for a moment, so that the profile of the next page can name them. Symfony uses a cookie for that,
 * which would change the requests that the application and caches see.
 */
export class RecentRedirects implements CollectorOf<'redirects'> {
  readonly name = 'redirects'
  readonly #redactor: Redactor
  /** The expected next requests of redirected clients, the oldest first. */
  readonly #expected = new Map<string, { readonly chain: readonly RedirectData[]; readonly until: number }>()
  readonly #chains = new WeakMap<Trace, readonly RedirectData[]>()

  constructor(redactor: Redactor) {
    this.#redactor = redactor
  }

  /**
   * Returns the redirects that have led to a main request, the first one first, and remembers that of its response;
   * `undefined` when there were none. The client has the response by now, but its next request ends later.
   */
  collect(trace: Trace): readonly RedirectData[] | undefined {
    const { request, response } = trace
    // No client follows the redirects of a replay.
    if (request.parent !== undefined || response == null || request.attributes.has(replayAttribute)) return undefined
    const chain = this.#take(trace)
    if (response.isRedirect) this.#expect(trace, response.headers.get('location'), response.status, chain)
    return chain.length === 0 ? undefined : chain
  }

  #expect(trace: Trace, location: string | null, status: number, chain: readonly RedirectData[]): void {
    const { request } = trace
    if (location === null || !URL.canParse(location, request.url)) return
    const redirect = { token: trace.token, status, method: request.method, url: this.#redactor.text(request.url) }
    const target = new URL(location, request.url)
    target.hash = ''
    const until = readTime() + lifetime
    this.#expected.set(keyOf(trace, target.href), { chain: [...chain, redirect].slice(-chainLimit), until })
    const [oldest] = this.#expected.keys()
    if (this.#expected.size > expectedLimit && oldest !== undefined) this.#expected.delete(oldest)
  }

  #take(trace: Trace): readonly RedirectData[] {
    const known = this.#chains.get(trace)
    if (known !== undefined) return known
    // This is the usual case; the key is long.
    if (this.#expected.size === 0) return []
    const key = keyOf(trace, trace.request.url)
    const expected = this.#expected.get(key)
    // A redirect to itself is expected by the same request.
    if (expected === undefined || expected.chain.some(({ token }) => token === trace.token)) return []
    this.#expected.delete(key)
    // The time of its arrival counts: the request may have taken long.
    if (trace.time > expected.until) return []
    this.#chains.set(trace, expected.chain)
    return expected.chain
  }
}

function keyOf({ request }: Trace, url: string): string {
  return `${request.clientIp}\n${request.headers.get('user-agent') ?? ''}\n${url}`
}
