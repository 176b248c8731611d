import { createRequire } from 'node:module'
import type { CookieJar as ToughCookieJar } from 'tough-cookie'
import { parseCookies, setCookie } from '../../lib/http/cookies.ts'
import { Headers } from '../../lib/http/headers.ts'

/** Loaded with the first cookie: most tests set none. */
function createJar(): ToughCookieJar {
  const toughCookie: typeof import('tough-cookie') = createRequire(import.meta.url)('tough-cookie')
  return new toughCookie.CookieJar()
}

/** A cookie without a name is kept, as browsers do; a cookie that is refused is dropped without an error. */
const leniency = { loose: true, ignoreError: true }

/** Neither a name nor a value: ignored by section 5.6, where tough-cookie would keep it as a cookie without a name. */
const nothing = /^[ \t]*=?[ \t]*(?:;|$)/

/** The cookies of one client, kept and sent as a browser does (RFC 6265bis): by host, path, scheme and age. */
export class CookieJar {
  readonly #base: string
  #jar: ToughCookieJar | undefined

  /** The base is the URL of the client's own site. */
  constructor(base = 'http://localhost/') {
    this.#base = base
  }

  /** The decoded value of a cookie of the client's own site, for any of its paths; `undefined` when there is none. */
  get(name: string): string | undefined {
    const header = this.#jar?.getCookieStringSync(this.#base, { allPaths: true })
    return parseCookies(header ?? null).get(name)
  }

  /** Sets a cookie for all paths of the client's own site. @throws TypeError when the name cannot stand in a cookie */
  set(name: string, value: string): void {
    const headers = new Headers()
    setCookie(headers, name, value, { secure: this.#base.startsWith('https:') })
    this.take(headers)
  }

  /** The Cookie header of a request; empty when there is nothing to send. */
  toHeader(url: string = this.#base): string {
    return this.#jar !== undefined && URL.canParse(url) ? this.#jar.getCookieStringSync(new URL(url)) : ''
  }

  /** Takes the Set-Cookie fields of the response to a request. */
  take(headers: Headers, url: string = this.#base): void {
    const fields = headers.getAll('set-cookie')
    // A request may have a Host that no URL can have, and then no browser has sent it.
    if (fields.length === 0 || !URL.canParse(url)) return
    this.#jar ??= createJar()
    for (const field of fields) {
      if (!nothing.test(field)) this.#jar.setCookieSync(field, new URL(url), leniency)
    }
  }
}
