import { createHmac, timingSafeEqual } from 'node:crypto'
import { setCookie } from '../lib/http/cookies.ts'
import type { Headers } from '../lib/http/headers.ts'
import type { Request } from '../lib/http/request.ts'

const cookieName = 'debug_key'
const headerName = 'x-debug-key'

/** What `DEBUG_KEY` asks of clients: the key in a header, or the cookie that the printed link sets. */
export class DebugKey {
  readonly #proof: Buffer

  constructor(key: string) {
    this.#proof = toProof(key)
  }

  /** Whether a text is the key. Takes the same time for every wrong one. */
  is(text: string): boolean {
    return timingSafeEqual(toProof(text), this.#proof)
  }

  /** Whether the request has the cookie, or the header `x-debug-key`. */
  isIn({ cookies, headers }: Request): boolean {
    const key = headers.get(headerName)
    if (key !== null) return this.is(key)
    const proof = Buffer.from(cookies.get(cookieName) ?? '', 'base64url')
    return proof.length === this.#proof.length && timingSafeEqual(proof, this.#proof)
  }

  /** Sets the cookie, until the browser ends. It does not contain the key, and changes with it. */
  giveCookie(headers: Headers, isSecure: boolean): void {
    const options = { sameSite: 'strict', ...(isSecure && { secure: true }) } as const
    setCookie(headers, cookieName, this.#proof.toString('base64url'), options)
  }
}

function toProof(key: string): Buffer {
  return createHmac('sha256', key).update('debug output').digest()
}
