import { parseSetCookie, stringifyCookie } from 'cookie'
import type { Headers } from './headers.ts'

/** The cookies of one client that talks to one site, as a browser would keep them. */
export class CookieJar {
  readonly #cookies = new Map<string, string>()

  /** The value of a cookie; `undefined` when the client has none of that name. */
  get(name: string): string | undefined {
    return this.#cookies.get(name)
  }

  set(name: string, value: string): void {
    this.#cookies.set(name, value)
  }

  /** What to send as Cookie header; empty when there is nothing to send. */
  toHeader(): string {
    return stringifyCookie(Object.fromEntries(this.#cookies))
  }

  /** Takes the Set-Cookie fields of a response; one that has expired already removes its cookie. */
  take(headers: Headers): void {
    for (const field of headers.getAll('set-cookie')) {
      const { name, value = '', maxAge, expires } = parseSetCookie(field)
      const isGone = maxAge === undefined ? expires !== undefined && expires.getTime() <= Date.now() : maxAge <= 0
      if (isGone) this.#cookies.delete(name)
      else this.#cookies.set(name, value)
    }
  }
}
