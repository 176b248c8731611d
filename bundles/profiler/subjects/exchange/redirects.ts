import { readTime } from '../../../../lib/own-globals.ts'
import type { Redactor } from '../../../../lib/redact/redactor.ts'
import type { CollectorOf } from '../../record/collect.ts'
import { replayAttribute } from '../../record/recording-policy.ts'
import type { Trace } from '../../record/trace.ts'
import type { RedirectData } from './data.ts'

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
   * Returns the redirects that have led to a main request, the first one first, and remembers that of its response; `undefined` when there
   * were none. The client has the response by now, but its next request ends later.
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
