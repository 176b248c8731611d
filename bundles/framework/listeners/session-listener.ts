import { RequestEvent, ResponseEvent } from '../../../kernel/events.ts'
import type { EventDispatcher } from '../../../lib/event-dispatcher/event-dispatcher.ts'
import { isShared } from '../../../lib/http/cache-policy.ts'
import { findRequestMistake, setCookie } from '../../../lib/http/cookies.ts'
import type { Headers } from '../../../lib/http/headers.ts'
import { parseHttpDate } from '../../../lib/http/http-date.ts'
import { provideEmptySessions, type Request } from '../../../lib/http/request.ts'
import type { Response } from '../../../lib/http/response.ts'
import type { Logger } from '../../../lib/log/logger.ts'
import { SESSION_STATELESS } from '../../../lib/session/errors.ts'
import type { HandedOutValues, LostChange } from '../../../lib/session/handed-out.ts'
import { Session } from '../../../lib/session/session.ts'
import { readingMethods } from '../../../lib/session/session-methods.ts'
import type { SessionCookie, SessionTimes, SessionUse } from '../../../lib/session/session-state.ts'
import { MemorySessionStore, type SessionStore } from '../../../lib/session/session-store.ts'
import type { Signals } from '../../../lib/signals.ts'
import { findOwnFrame, locateFrame } from '../../../lib/stack/stack-frames.ts'
import type { SessionCookieSettings } from '../options.ts'

/** Before routing, so that every later listener may use the session. */
const requestPriority = 128

/** After all listeners that may change the session. */
const responsePriority = -1000

/** Milliseconds after a late change in which the application may save it itself. */
const saveTime = 1000

/** The services of the session listener. */
export interface SessionListenerServices {
  /** The directory of the application. */
  readonly directory: string
  readonly store: SessionStore
  readonly times: SessionTimes
  readonly cookie: SessionCookieSettings
  readonly logger: Logger
  /** Whether the use of a session on a stateless route is an error, and a change after the response is logged. */
  readonly isDebug: boolean
  readonly signals: Signals
  /** In debug mode, creates what reports changes of returned values. */
  readonly createHandedOut?: ((onLost: (change: LostChange) => void) => HandedOutValues) | undefined
}

/** Provides the session of a request, which is read with its first use, and saves it with the response. */
export class SessionListener {
  readonly #services: SessionListenerServices
  /** The main requests that have a response, in debug mode: their sessions are saved. */
  readonly #answered = new WeakSet<Request>()
  /** What reports late changes that may still be saved. */
  readonly #reports = new Set<() => void>()
  #isUsed = false
  /** Where requests with a public cache policy have used the session first, in debug mode. */
  readonly #places = new WeakMap<Request, string>()
  /** What the clients of saved sessions have to learn. */
  readonly #changes = new WeakMap<Session, SessionChange>()

  constructor(services: SessionListenerServices) {
    this.#services = services
    provideEmptySessions(() => new EmptySession())
  }

  /** Whether a request has asked for its session since the start. */
  get isUsed(): boolean {
    return this.#isUsed
  }

  /** Where a request with a public cache policy has used the session first, as ` in bundles/shop/cart.ts:7`. */
  readonly placeOf = (request: Request): string => this.#places.get(request) ?? ''

  subscribe(dispatcher: EventDispatcher): void {
    dispatcher.subscribe(RequestEvent, this, 'onRequest', requestPriority)
    dispatcher.subscribe(ResponseEvent, this, 'onResponse', responsePriority)
  }

  /** Logs the late changes that nothing will save any more. */
  close(): void {
    for (const report of this.#reports) report()
  }

  onRequest({ isMainRequest, request }: RequestEvent): void {
    if (isMainRequest) request.provideSession(this.#createSession)
  }

  onResponse(event: ResponseEvent): Promise<void> | undefined {
    const { isMainRequest, request } = event
    if (!isMainRequest) return undefined
    if (this.#services.isDebug) this.#answered.add(request)
    const session = request.requestedSession
    return session && this.#save(session, event)
  }

  async #save(session: Session, event: ResponseEvent): Promise<void> {
    if (session.useCount > 0) event.complete(keepPrivate)
    // The first failure was thrown, and this is its error page: a second attempt would log it again.
    if (session.hasFailed) return
    const change = await session.save()
    if (change !== 'none') this.#changes.set(session, change)
    // The response before an error, with this cookie, was not sent.
    const sent = this.#changes.get(session)
    if (sent !== undefined) event.complete(({ headers }, request) => this.#sendCookie(sent, headers, request))
    if (this.#services.isDebug && change !== 'none' && change !== 'clear') this.#warnOfLostCookie(event.request)
  }

  #sendCookie(change: SessionChange, headers: Headers, { scheme }: Request): void {
    const { name, ...attributes } = this.#services.cookie
    const { id, maxAge } = change === 'clear' ? { id: '', maxAge: 0 } : change
    setCookie(headers, name, id, { secure: scheme === 'https', ...attributes, maxAge })
  }

  /** The options of the cookie do not know the requests. */
  #warnOfLostCookie(request: Request): void {
    const { cookie, logger } = this.#services
    const reason = findRequestMistake(cookie, request)
    const message = 'Browsers ignore the cookie of this session, so their next request has none: {reason}.'
    if (reason !== undefined) logger.warning(message, { reason })
  }

  readonly #createSession = (request: Request): Session => {
    const { cookie, isDebug, logger, signals, store, times } = this.#services
    this.#isUsed = true
    const onUse = (use: SessionUse) => {
      signals.emit('session.used', { request, use })
      // Checked at each use: the route is not known before.
      if (request.attributes.get('_stateless') === true) {
        if (isDebug) throw new SESSION_STATELESS([])
        logger.error('Session was used while the request was declared stateless.')
      }
      if (isDebug && isShared(request.attributes.get('_cache') || {}) && !this.#places.has(request))
        this.#places.set(request, this.#describePlace(use.captureCallSite()))
      if (!this.#answered.has(request) || readingMethods.has(use.method)) return
      this.#answered.delete(request)
      this.#reportLost(session, use)
    }
    const handedOut = this.#services.createHandedOut?.(change => {
      // A request that has failed has perhaps not come to the call that stores the value.
      if (!request.hasFailed) this.#reportUnstored(change)
    })
    const session = new Session({ store, times, id: request.cookies.get(cookie.name), onUse, handedOut })
    return session
  }

  #reportUnstored({ callSite, name }: LostChange): void {
    const message =
      'The value "{name}" of {call}{place} was changed and is not stored, because it is a copy: call session.set() with it, or change a copy of your own.'
    this.#services.logger.warning(message, { name, call: callSite.message, place: this.#describePlace(callSite) })
  }

  /** ` in bundles/shop/cart.ts:7`; empty if the application is not in the stack. */
  #describePlace(callSite: Error): string {
    const { directory } = this.#services
    const frame = findOwnFrame(callSite, directory)
    return frame === undefined ? '' : ` in ${locateFrame(frame, directory).file}:${frame.line}`
  }

  /** Logs a change after the response, unless the application saves it. */
  #reportLost(session: Session, { captureCallSite, method }: SessionUse): void {
    const { logger } = this.#services
    const place = this.#describePlace(captureCallSite())
    const message =
      'session.{method}(){place} came after the response, so its change is lost: change the session before, or call session.save().'
    const report = () => {
      clearTimeout(timer)
      this.#reports.delete(report)
      if (session.isChanged) logger.warning(message, { method, place })
    }
    this.#reports.add(report)
    const timer = setTimeout(report, saveTime).unref()
  }
}

/** A session without content, which is never saved and ends with its request. */
class EmptySession extends Session {
  constructor() {
    super({ store: new MemorySessionStore(), times: { lifetime: 0, idleTime: 0 } })
  }

  override async save(): Promise<SessionCookie> {
    return 'none'
  }
}

type SessionChange = Exclude<SessionCookie, 'none'>

/** A response that depends on a session is only for one client. */
function keepPrivate({ headers }: Response): void {
  const directives = (headers.get('cache-control') ?? '').toLowerCase().split(/[ \t]*,[ \t]*/)
  const kept = ['no-store', 'no-transform'].filter(directive => directives.includes(directive))
  const lifetime = findPrivateLifetime(directives, headers.get('expires'))
  headers.set('cache-control', [`max-age=${lifetime}`, 'must-revalidate', 'private', ...kept].join(', '))
  headers.set('expires', new Date(Date.now() + lifetime * 1000).toUTCString())
}

/** Seconds; caches take more for this (RFC 9111, section 1.2.2). */
const longestLifetime = 2 ** 31

/**
 * The seconds for which the application lets only the client itself keep a response, as in
 * Symfony; 0 if it may be a shared one.
 */
function findPrivateLifetime(directives: readonly string[], expires: string | null): number {
  const isPrivate = directives.includes('private') && !directives.some(directive => notPrivate.test(directive))
  if (!isPrivate) return 0
  const age = directives.filter(directive => directive.startsWith('max-age')).join()
  const untilExpiry = Math.ceil((parseHttpDate(expires ?? '') - Date.now()) / 1000)
  const seconds = age === '' ? untilExpiry : Number(/^max-age=(\d+)$/.exec(age)?.[1])
  return seconds > 0 ? Math.min(seconds, longestLifetime) : 0
}

const notPrivate = /^(?:public|s-maxage|no-cache|no-store|private=)/
