import type { Response } from '../../../../lib/http/response.ts'
import type { Redactor } from '../../../../lib/redact/redactor.ts'
import type { RedirectData } from '../../profile/exchange-data.ts'
import type { CollectorOf } from '../../record/collect.ts'
import { replayAttribute } from '../../record/recording-policy.ts'
import type { Trace } from '../../record/trace.ts'

/** Browsers go on at once; who comes later comes for another reason. */
const patience = 5000

const expectedLimit = 100
const chainLimit = 10

/**
 * Remembers for a moment who was sent where, so that a page can tell how its client came to it. Symfony asks the browser
 * to remember it, with a cookie; that would change what the application and caches see.
 */
export class RecentRedirects implements CollectorOf<'redirects'> {
  readonly name = 'redirects'
  readonly #redactor: Redactor
  /** Clients that are about to come, by what is known of their next request; in the order in which they were sent. */
  readonly #expected = new Map<string, { readonly chain: readonly RedirectData[]; readonly until: number }>()
  readonly #chains = new WeakMap<Trace, readonly RedirectData[]>()

  constructor(redactor: Redactor) {
    this.#redactor = redactor
  }

  /** Takes note of how a request came about, and of where its response leads. */
  note(trace: Trace, response: Response): void {
    const { request } = trace
    // Nobody follows those of a replay.
    if (request.attributes.has(replayAttribute)) return
    const chain = this.#take(trace)
    const location = response.headers.get('location')
    if (!response.isRedirect || location === null || !URL.canParse(location, request.url)) return
    const { status } = response
    const redirect = { token: trace.token, status, method: request.method, url: this.#redactor.text(request.url) }
    const target = new URL(location, request.url)
    target.hash = ''
    const until = Date.now() + patience
    this.#expected.set(keyOf(trace, target.href), { chain: [...chain, redirect].slice(-chainLimit), until })
    const [oldest] = this.#expected.keys()
    if (this.#expected.size > expectedLimit && oldest !== undefined) this.#expected.delete(oldest)
  }

  /** The redirects that have led to a request, the first one first; `undefined` when there were none. */
  collect(trace: Trace): readonly RedirectData[] | undefined {
    return this.#chains.get(trace)
  }

  #take(trace: Trace): readonly RedirectData[] {
    // As good as always; the key is long.
    if (this.#expected.size === 0) return []
    const key = keyOf(trace, trace.request.url)
    const expected = this.#expected.get(key)
    if (expected === undefined) return []
    this.#expected.delete(key)
    // What counts is when it came: it may have taken long.
    if (trace.time > expected.until) return []
    this.#chains.set(trace, expected.chain)
    return expected.chain
  }
}

function keyOf({ request }: Trace, url: string): string {
  return `${request.clientIp}\n${request.headers.get('user-agent') ?? ''}\n${url}`
}
