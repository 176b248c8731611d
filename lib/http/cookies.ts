import { parseCookie, parseSetCookie, type SetCookie, stringifySetCookie } from 'cookie'
import { ARGUMENT_INVALID, checkOptions, checkString } from '../errors/arguments.ts'
import { describeValue } from '../text/describe-value.ts'
import type { ShapeOf } from '../text/mistakes.ts'
import { HTTP_COOKIE_TOO_LARGE } from './errors.ts'
import { Headers } from './headers.ts'

/** The attributes of a cookie. */
export interface CookieOptions {
  /** Seconds until the cookie expires. Without it, the cookie ends with the browser's session. */
  readonly maxAge?: number
  /** The paths that get the cookie begin with it. The default of `setCookie` is `/`. */
  readonly path?: string
  /** The host that gets the cookie, with all of its subdomains. By default only the own host gets it. */
  readonly domain?: string
  /** Whether the cookie is sent over TLS only. */
  readonly secure?: boolean
  /** Whether scripts of the page cannot read the cookie. */
  readonly httpOnly?: boolean
  /**
   * Which requests of other sites have the cookie: none (`strict`), links to a page (`lax`), or
   * all (`none`, which demands `secure`).
   */
  readonly sameSite?: 'strict' | 'lax' | 'none'
  /**
   * Whether a page that is embedded in several sites has a cookie of its own in each of them
   * (CHIPS). It demands `secure`.
   */
  readonly partitioned?: boolean
}

const optionShape: ShapeOf<CookieOptions> = {
  maxAge: 'number',
  path: 'string',
  domain: 'string',
  secure: 'boolean',
  httpOnly: 'boolean',
  sameSite: 'string',
  partitioned: 'boolean',
}

/** Browsers ignore a cookie whose name and value, as they are sent, have more bytes (RFC 6265bis, section 5.6). */
export const cookieSizeLimit = 4096

/** Browsers ignore an attribute that has more bytes (RFC 6265bis, section 5.6). */
const attributeSizeLimit = 1024

/** Parses a Cookie header (RFC 6265, section 4.2). The first value of a repeated name counts. */
export function parseCookies(header: string | null): ReadonlyMap<string, string> {
  if (!header) return none
  return new Cookies(Object.entries(parseCookie(header)).map(([name, value]) => [name, value ?? '']))
}

/**
 * The cookies of a request by their names, which only the client changes. Development explains other ways to read them
 * by this class.
 */
export class Cookies extends Map<string, string> {
  constructor(entries: Iterable<readonly [name: string, value: string]> = []) {
    super()
    for (const [name, value] of entries) super.set(name, value)
  }

  /** @throws ARGUMENT_INVALID */
  override set(name: string): never {
    const right = `to send a cookie with the response, write setCookie(response.headers, ${JSON.stringify(name)}, value)`
    throw new ARGUMENT_INVALID(['request.cookies.set()', `these are the cookies that the client has sent; ${right}`])
  }

  /** @throws ARGUMENT_INVALID */
  override delete(name: string): never {
    const right = `setCookie(response.headers, ${JSON.stringify(name)}, '', { maxAge: 0 })`
    throw new ARGUMENT_INVALID(['request.cookies.delete()', `it deletes nothing at the client; write ${right}`])
  }

  /** @throws ARGUMENT_INVALID */
  override clear(...[name]: readonly unknown[]): never {
    return this.delete(String(name ?? 'name'))
  }
}

/**
 * All values of a cookie, as they were sent: clients send several cookies of one name if their
 * paths or domains differ, in no fixed order (RFC 6265, section 5.4).
 */
export function listCookieValues(header: string | null, name: string): string[] {
  const pairs = (header ?? '').split(';').map(pair => pair.trim())
  return pairs.filter(pair => pair.startsWith(`${name}=`)).map(pair => pair.slice(name.length + 1))
}

/**
 * Adds a Set-Cookie field (RFC 6265, section 4.1): HttpOnly, SameSite=Lax and the path `/` by default. It
 * replaces an earlier field with the same name, path and domain, because a client keeps only the last one.
 *
 * @throws HTTP_COOKIE_TOO_LARGE, because browsers ignore such a cookie; ARGUMENT_INVALID
 */
export function setCookie(headers: Headers, name: string, value: string, options: CookieOptions = {}): void {
  checkOptions('setCookie()', options, optionShape)
  if (!(headers instanceof Headers)) {
    throw new ARGUMENT_INVALID(['setCookie()', `it needs the headers of a response, not ${describeValue(headers)}`])
  }
  checkString('setCookie()', 'the name', name)
  checkString('setCookie()', `the value of "${name}"`, value)
  // An option that is `undefined` has its default, too.
  const {
    maxAge,
    path = '/',
    domain = '',
    secure = false,
    httpOnly = true,
    sameSite = 'lax',
    partitioned = false,
  } = options
  const cookie = { name, value: encode(name, value), maxAge, path, domain, secure, httpOnly, sameSite, partitioned }
  const mistakes = findCookieMistakes(cookie).map(({ option, problem }) => `"${option}" ${problem}`)
  if (mistakes.length > 0) throw new ARGUMENT_INVALID(['setCookie()', mistakes.join(', and ')])
  const size = name.length + cookie.value.length
  if (size > cookieSizeLimit) throw new HTTP_COOKIE_TOO_LARGE([name, size, cookieSizeLimit])
  const sent = headers.getAll('set-cookie')
  const kept = sent.filter(other => !(other.startsWith(`${name}=`) && isSamePlace(parseSetCookie(other), cookie)))
  if (kept.length < sent.length) {
    headers.delete('set-cookie')
    for (const other of kept) headers.append('set-cookie', other)
  }
  // Its types do not know that a `maxAge` may be `undefined`.
  headers.append('set-cookie', stringifySetCookie(cookie as SetCookie, { encode: String }))
}

/** @throws ARGUMENT_INVALID */
function encode(name: string, value: string): string {
  try {
    return encodeURIComponent(value)
  } catch (error) {
    const mistake = `the value of "${name}" has half of a surrogate pair, which UTF-8 cannot represent`
    throw new ARGUMENT_INVALID(['setCookie()', mistake], { cause: error })
  }
}

/** An option for which browsers ignore a cookie or one of its attributes. */
interface CookieMistake {
  readonly option: 'name' | keyof CookieOptions
  /** The rest of a sentence about the option, with what would be right. */
  readonly problem: string
}

type NamedCookie = Omit<CookieOptions, 'maxAge'> & { readonly name: string; readonly maxAge?: number | undefined }

/**
 * The reasons for which browsers ignore a cookie, or one of its attributes (RFC 6265bis, sections
 * 5.6 and 5.7; for `__Http-` Layered Cookies, section 5.5.3). The size of name and value is not
 * among them. A path must also be one that a URL can have.
 */
export function findCookieMistakes(cookie: NamedCookie): CookieMistake[] {
  const { domain, httpOnly, maxAge, name, partitioned, path = '/', sameSite = 'lax', secure = false } = cookie
  const mistakes: CookieMistake[] = []
  const check = (isGood: boolean, option: CookieMistake['option'], right: string): void => {
    if (isGood) return
    const value = cookie[option]
    const shown = typeof value === 'string' ? JSON.stringify(value) : String(value)
    mistakes.push({ option, problem: `is ${shown}: ${right}` })
  }
  const checkSize = (option: 'path' | 'domain', value: string): boolean => {
    const isGood = value.length <= attributeSizeLimit
    if (!isGood)
      mistakes.push({ option, problem: `has ${value.length} bytes: browsers ignore more than ${attributeSizeLimit}` })
    return isGood
  }
  check(namePattern.test(name), 'name', 'use letters, digits and "-", "_" or "."')
  check(maxAge === undefined || Number.isSafeInteger(maxAge), 'maxAge', 'use whole seconds')
  if (checkSize('path', path)) check(pathPattern.test(path), 'path', 'use a path such as "/" or "/shop"')
  if (domain && checkSize('domain', domain)) check(isHost(domain), 'domain', 'use a host such as "example.org"')
  check(['strict', 'lax', 'none'].includes(sameSite), 'sameSite', 'use "strict", "lax" or "none"')
  check(sameSite !== 'none' || secure, 'sameSite', 'browsers then demand secure: true')
  check(!partitioned || secure, 'partitioned', 'browsers then demand secure: true')

  // Browsers ignore the case of a prefix.
  const prefix = name.startsWith('__') ? (prefixPattern.exec(name)?.[0].toLowerCase() ?? '') : ''
  if (prefix === '') return mistakes
  check(secure, 'name', 'browsers then demand secure: true')
  check(!prefix.endsWith('http-') || httpOnly === true, 'name', 'browsers then demand httpOnly: true')
  if (!prefix.startsWith('__host-')) return mistakes
  check(path === '/', 'name', `browsers then demand the path "/", not "${path}"`)
  check(!domain, 'name', `browsers then allow no domain, such as "${domain}"`)
  return mistakes
}

/**
 * The reason for which browsers ignore a cookie in the response to a request, by the host and the
 * scheme that the server knows of it (RFC 6265bis, section 5.7). A name without a dot is a public
 * suffix, and an address has no subdomains. Browsers take plain HTTP to the own machine for secure.
 */
export function findRequestMistake(
  { domain, secure }: Pick<CookieOptions, 'domain' | 'secure'>,
  { hostname, scheme }: { readonly hostname: string; readonly scheme: string },
): string | undefined {
  const suffix = domainOf({ domain: domain ?? '' })
  const hasSubdomains = suffix.includes('.') && !/\.\d+$/.test(suffix)
  const isWithin = hostname === suffix || (hasSubdomains && hostname.endsWith(`.${suffix}`))
  if (suffix !== '' && !isWithin) return `its domain is "${domain}", but the host of the request is "${hostname}"`
  if (!secure || scheme === 'https' || ownMachine.test(hostname)) return undefined
  return 'it has secure: true, but the request came without HTTPS; if a proxy has removed it, set TRUSTED_PROXIES'
}

const ownMachine = /^(?:(?:.+\.)?localhost|127(?:\.\d+){3}|\[::1\])$/

const prefixPattern = /^__(?:host-http|host|secure|http)-/i

/** What browsers, and the package that writes the field, accept as a name. */
const namePattern = /^[!-:<>-~]+$/

/** A path without the characters that the path of a URL cannot have: a cookie with another path is never sent. */
const pathPattern = /^\/[!$-:=@-[\]^_a-z|~]*$/

const hostPattern = /^\.?[a-z\d](?:[a-z\d-]{0,61}[a-z\d])?(?:\.[a-z\d](?:[a-z\d-]{0,61}[a-z\d])?)*$/i

/** Whether browsers can parse a domain; a dot at its start is ignored. A name such as `1.2.3.256` is no host. */
function isHost(domain: string): boolean {
  return hostPattern.test(domain) && URL.canParse(`http://${domain.replace(/^\./, '')}`)
}

type Place = Pick<CookieOptions, 'path' | 'domain' | 'partitioned'>

function isSamePlace({ partitioned = false, ...one }: Place, other: Place): boolean {
  return one.path === other.path && domainOf(one) === domainOf(other) && partitioned === other.partitioned
}

/** Clients ignore a leading dot (RFC 6265, section 5.2.3). */
function domainOf({ domain = '' }: Place): string {
  return domain.replace(/^\./, '').toLowerCase()
}

const none = new Cookies()
