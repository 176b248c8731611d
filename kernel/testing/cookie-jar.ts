import { createRequire } from 'node:module'
import type { CookieJar as ToughCookieJar } from 'tough-cookie'
import { parseCookies, setCookie } from '../../lib/http/cookies.ts'
import { Headers } from '../../lib/http/headers.ts'

/** Loads the package with the first cookie: most tests need none. */
function createJar(): ToughCookieJar {
  const toughCookie: typeof import('tough-cookie') = createRequire(import.meta.url)('tough-cookie')
  return new toughCookie.CookieJar()
}

/** Like browsers, keeps a cookie without a name, and drops refused cookies without an error. */
const leniency = { loose: true, ignoreError: true }

/** Neither a name nor a value: section 5.6 ignores it; tough-cookie would keep it as a cookie without a name. */
const nothing = /^[ \t]*=?[ \t]*(?:;|$)/

/** The cookies of a client. They are kept and sent as browsers do (RFC 6265bis): by host, path, scheme and age. */
export class CookieJar {
  readonly #base: string
  #jar: ToughCookieJar | undefined

  /** `base` is the URL to which cookies belong that are set without a URL. */
  constructor(base = 'http://localhost/') {
    this.#base = base
  }

  /** The decoded value of a cookie of the base's host, for any path; `undefined` if there is none. */
  get(name: string): string | undefined {
    const header = this.#jar?.getCookieStringSync(this.#base, { allPaths: true })
    return parseCookies(header ?? null).get(name)
  }

  /** Sets a cookie for all paths of the base's host. @throws TypeError for an invalid name */
  set(name: string, value: string): void {
    const headers = new Headers()
    setCookie(headers, name, value, { secure: this.#base.startsWith('https:') })
    this.take(headers)
  }

  /** The Cookie header of a request; empty without cookies. */
  toHeader(url: string = this.#base): string {
    return this.#jar !== undefined && URL.canParse(url) ? this.#jar.getCookieStringSync(new URL(url)) : ''
  }

  /** Stores the cookies of the response to a request. */
  take(headers: Headers, url: string = this.#base): void {
    const fields = headers.getAll('set-cookie')
    // The Host of a request may be invalid in a URL; browsers do not send such requests.
    if (fields.length === 0 || !URL.canParse(url)) return
    this.#jar ??= createJar()
    for (const field of fields) {
      if (!nothing.test(field)) this.#jar.setCookieSync(field, new URL(url), leniency)
    }
  }
}
