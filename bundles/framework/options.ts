import { checkObject } from '../../lib/errors/arguments.ts'
import { type CookieOptions, cookieSizeLimit, findCookieMistakes } from '../../lib/http/cookies.ts'
import { sessionIdLength } from '../../lib/session/session.ts'
import type { SessionTimes } from '../../lib/session/session-state.ts'
import type { CreateSessionStore, SessionStore } from '../../lib/session/session-store.ts'
import { describeValue, isClass, isKeyed, readProperty } from '../../lib/text/describe-value.ts'
import { findShapeMistakes, type ShapeOf, suggestNames } from '../../lib/text/mistakes.ts'
import { FRAMEWORK_OPTIONS_INVALID, listMistakes } from './errors.ts'
import { type ExceptionRule, findRuleMistakes } from './exception-rules.ts'
import {
  findProtectionMistakes,
  type ProtectionOptions,
  protectionShape,
  type ResolvedProtection,
  resolveProtection,
} from './protection.ts'

/** The options of {@link createFrameworkBundle}. */
export interface FrameworkOptions extends ProtectionOptions {
  /** The times, the cookie and the store of sessions. */
  readonly session?: FrameworkSessionOptions | undefined
  /** The status and the level of the log for errors of libraries. The first rule for an error counts. */
  readonly exceptions?: readonly ExceptionRule[] | undefined
  /** Listeners that the application does not need, or has of its own. */
  readonly without?: readonly OptionalListener[] | undefined
}

/** Where sessions are stored, when they end, and their cookie. Times are seconds, as the Max-Age of a cookie. */
export interface FrameworkSessionOptions {
  /** By default the Redis of `SESSION_URL`, or files in `var/sessions`. */
  readonly store?: SessionStore | CreateSessionStore | undefined
  /** Seconds from the creation of a session to its end, however much it is used; 30 days by default. */
  readonly lifetime?: number | undefined
  /** Seconds from the last use of a session to its end; a day by default, or the lifetime if that is shorter. */
  readonly idleTime?: number | undefined
  /** The name and the attributes of the cookie. */
  readonly cookie?: SessionCookieOptions | undefined
}

/** The cookie of a session. It is always HttpOnly, and expires with the session. */
interface SessionCookieOptions {
  /** `session` by default. With the prefix `__Host-` or `__Secure-` browsers demand the attributes that it promises. */
  readonly name?: string | undefined
  /** `/` by default. */
  readonly path?: string | undefined
  /** By default the host of the request, without its subdomains. */
  readonly domain?: string | undefined
  /** `lax` by default. */
  readonly sameSite?: CookieOptions['sameSite'] | undefined
  /** By default `true` for a request over HTTPS. */
  readonly secure?: boolean | undefined
}

const shape: ShapeOf<FrameworkOptions> = {
  session: {
    store: true,
    lifetime: 'number',
    idleTime: 'number',
    cookie: { name: 'string', path: 'string', domain: 'string', sameSite: 'string', secure: 'boolean' },
  },
  exceptions: 'list',
  without: ['string'],
  ...protectionShape,
}

/** The listeners of the framework bundle that an application can leave out. */
export const optionalListeners = ['compression', 'conditional', 'cross-origin', 'health', 'robots'] as const

/** The name of a listener that an application can leave out. */
type OptionalListener = (typeof optionalListeners)[number]

/** The checked options, with their defaults. */
export interface ResolvedOptions {
  readonly store: SessionStore | CreateSessionStore | undefined
  /** Whether the application has chosen anything about its sessions. */
  readonly isSessionConfigured: boolean
  readonly times: SessionTimes
  readonly cookie: SessionCookieSettings
  readonly exceptions: readonly ExceptionRule[]
  readonly without: ReadonlySet<OptionalListener>
  readonly protection: ResolvedProtection
}

/** The cookie of all sessions. Without `secure`, the scheme of the request decides. */
export interface SessionCookieSettings extends Omit<CookieOptions, 'maxAge' | 'httpOnly' | 'partitioned'> {
  readonly name: string
  readonly path: string
}

const day = 24 * 60 * 60

/** Ten years, in seconds. */
const longest = 3650 * day

/**
 * Checks options that an application wrote, perhaps without types. @throws FRAMEWORK_OPTIONS_INVALID
 * with all mistakes of the shape, or else with all others; ARGUMENT_INVALID
 */
export function resolveOptions(options: FrameworkOptions): ResolvedOptions {
  checkObject('createFrameworkBundle()', options, shape)
  refuse(findShapeMistakes('option', options, shape))
  const { exceptions = [], session = {}, without = [] } = options
  const isSessionConfigured = options.session !== undefined
  const { cookie = {}, idleTime, lifetime = 30 * day, store } = session
  const times = { lifetime, idleTime: idleTime ?? Math.min(day, lifetime) }
  refuse([
    ...findStoreMistakes(store),
    ...findTimeMistakes(times),
    ...findSessionCookieMistakes(cookie),
    ...findRuleMistakes(exceptions),
    ...findListenerMistakes(without),
    ...findProtectionMistakes(options),
  ])
  const protection = resolveProtection(options)
  return {
    store,
    isSessionConfigured,
    times,
    cookie: toCookieSettings(cookie),
    exceptions,
    without: new Set(without),
    protection,
  }
}

function refuse(mistakes: readonly string[]): void {
  if (mistakes.length > 0) throw new FRAMEWORK_OPTIONS_INVALID([listMistakes(mistakes)])
}

function findStoreMistakes(store: ResolvedOptions['store']): string[] {
  const isOptional = store === undefined || (typeof store === 'function' && !isClass(store))
  return isOptional ? [] : findMethodMistakes(store, 'is')
}

/**
 * Refuses the result of a function that creates the store of sessions, if it is none. @throws FRAMEWORK_OPTIONS_INVALID
 */
export function checkStore(store: SessionStore): SessionStore {
  refuse(findMethodMistakes(store, 'has returned'))
  return store
}

function findMethodMistakes(store: unknown, verb: string): string[] {
  if (!isKeyed(store)) {
    return [`session.store ${verb} ${describeValue(store)}: use an object with read, insert, update and destroy`]
  }
  const methods = ['read', 'insert', 'update', 'destroy'].filter(
    name => typeof readProperty(store, name) !== 'function',
  )
  return methods.map(name => `session.store has no method ${name}: a SessionStore has read, insert, update and destroy`)
}

function findTimeMistakes({ lifetime, idleTime }: SessionTimes): string[] {
  const mistakes = Object.entries({ lifetime, idleTime })
    .filter(([, seconds]) => !Number.isInteger(seconds) || seconds < 1 || seconds > longest)
    .map(([name, seconds]) => `session.${name} is ${seconds}: use whole seconds, from 1 to ${longest} (ten years)`)
  if (mistakes.length > 0 || idleTime <= lifetime) return mistakes
  return [`session.idleTime (${idleTime} seconds) is longer than session.lifetime (${lifetime}): use a longer lifetime`]
}

/**
 * What is known with a request only, `secure` by its scheme, removes reasons for which browsers
 * ignore the cookie, and adds none.
 */
function findSessionCookieMistakes(options: SessionCookieOptions): string[] {
  const cookie = toCookieSettings(options)
  const mistakes = findCookieMistakes({ ...cookie, httpOnly: true }).map(
    ({ option, problem }) => `${option} ${problem}`,
  )
  if (cookie.name.length > nameLimit) mistakes.push(`name has ${cookie.name.length} bytes: use at most ${nameLimit}`)
  return mistakes.map(mistake => `session.cookie.${mistake}`)
}

/** The name has the room that the value leaves. */
const nameLimit = cookieSizeLimit - sessionIdLength

function findListenerMistakes(without: readonly string[]): string[] {
  const known: readonly string[] = optionalListeners
  return without
    .filter(name => !known.includes(name))
    .map(name => `without has "${name}"${suggestNames(name, known)}: use ${known.map(text => `"${text}"`).join(', ')}`)
}

function toCookieSettings(cookie: SessionCookieOptions): SessionCookieSettings {
  const { name = 'session', path = '/', domain, sameSite = 'lax', secure } = cookie
  return { name, path, sameSite, ...(domain !== undefined && { domain }), ...(secure !== undefined && { secure }) }
}
