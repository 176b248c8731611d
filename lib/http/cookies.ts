import { parseCookie, parseSetCookie, type SetCookie, stringifySetCookie } from 'cookie'
import { ARGUMENT_INVALID, checkOptions, checkString, refuseKeys } from '../errors/arguments.ts'
import { describeValue, readProperty } from '../text/describe-value.ts'
import type { ShapeOf } from '../text/mistakes.ts'
import { HTTP_COOKIE_TOO_LARGE } from './errors.ts'
import { Headers } from './headers.ts'

/** The attributes of a cookie. */
export interface CookieOptions {
  /** Seconds until the cookie expires. Without it, the cookie ends with the browser's session. */
  readonly maxAge?: number
  readonly path?: string
  readonly domain?: string
  readonly secure?: boolean
  readonly httpOnly?: boolean
  readonly sameSite?: 'strict' | 'lax' | 'none'
}

const optionShape: ShapeOf<CookieOptions> = {
  maxAge: 'number',
  path: 'string',
  domain: 'string',
  secure: 'boolean',
  httpOnly: 'boolean',
  sameSite: 'string',
}

/** Browsers ignore a cookie whose name and value, as they are sent, have more bytes (RFC 6265bis, section 5.6). */
const sizeLimit = 4096

/** Parses a Cookie header (RFC 6265, section 4.2). The first value of a repeated name counts. */
export function parseCookies(header: string | null): ReadonlyMap<string, string> {
  if (!header) return none
  return new Cookies(Object.entries(parseCookie(header)).map(([name, value]) => [name, value ?? '']))
}

class Cookies extends Map<string, string> {
  static {
    refuseKeys(Cookies, 'request.cookies', {
      onRead: (name, cookies) => (cookies.has(name) ? `request.cookies.get("${name}")` : undefined),
    })
  }
}

/**
 * All values of a cookie, as they were sent: clients send several cookies of one name if their paths or domains differ, in no fixed order
 * (RFC 6265, section 5.4).
 */
export function listCookieValues(header: string | null, name: string): string[] {
  const pairs = (header ?? '').split(';').map(pair => pair.trim())
  return pairs.filter(pair => pair.startsWith(`${name}=`)).map(pair => pair.slice(name.length + 1))
}

/**
 * Adds a Set-Cookie field (RFC 6265, section 4.1): HttpOnly, SameSite=Lax and the path `/` by default. It replaces an earlier
 * field with the same name, path and domain, because a client keeps only the last one.
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
  const cookie = { name, value, path: '/', httpOnly: true, sameSite: 'lax', ...options } as const
  const field = format(cookie)
  const size = field.indexOf(';') - 1
  if (size > sizeLimit) throw new HTTP_COOKIE_TOO_LARGE([name, size, sizeLimit])
  const sent = headers.getAll('set-cookie')
  const kept = sent.filter(other => !(other.startsWith(`${name}=`) && isSamePlace(parseSetCookie(other), cookie)))
  if (kept.length < sent.length) {
    headers.delete('set-cookie')
    for (const other of kept) headers.append('set-cookie', other)
  }
  headers.append('set-cookie', field)
}

/** @throws ARGUMENT_INVALID for a value that is not valid in a cookie, or a cookie that browsers refuse */
function format(cookie: SetCookie): string {
  if (String(cookie.sameSite).toLowerCase() === 'none' && cookie.secure !== true) {
    throw new ARGUMENT_INVALID([
      'setCookie()',
      `"${cookie.name}" has sameSite "none": browsers then demand secure: true`,
    ])
  }
  try {
    return stringifySetCookie(cookie)
  } catch (error) {
    // The message names the attribute: "option maxAge is invalid: 1.5".
    const [, attribute = ''] = /(\w+) is invalid/.exec(String(readProperty(error, 'message'))) ?? []
    const right = rightValues.get(attribute)
    if (right === undefined) throw error
    const mistake = `"${attribute}" is ${JSON.stringify(readProperty(cookie, attribute))}: use ${right}`
    throw new ARGUMENT_INVALID(['setCookie()', mistake], { cause: error })
  }
}

const rightValues: ReadonlyMap<string, string> = new Map([
  ['name', 'letters, digits and "-", "_" or "."'],
  ['maxAge', 'whole seconds'],
  ['path', 'a path such as "/" or "/shop"'],
  ['domain', 'a host such as "example.org"'],
  ['sameSite', '"strict", "lax" or "none"'],
])

type Place = Pick<CookieOptions, 'path' | 'domain'>

function isSamePlace(one: Place, other: Place): boolean {
  return one.path === other.path && domainOf(one) === domainOf(other)
}

/** Clients ignore a leading dot (RFC 6265, section 5.2.3). */
function domainOf({ domain = '' }: Place): string {
  return domain.replace(/^\./, '').toLowerCase()
}

const none: ReadonlyMap<string, string> = new Map()
