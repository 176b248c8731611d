import type { DebugGate } from '../../../../kernel/debug-gate.ts'
import { ResponseEvent } from '../../../../kernel/events.ts'
import type { EventDispatcher } from '../../../../lib/event-dispatcher/event-dispatcher.ts'
import type { Request } from '../../../../lib/http/request.ts'
import type { Response } from '../../../../lib/http/response.ts'
import type { Redactor } from '../../../../lib/redact/redactor.ts'
import type { CollectorOf } from '../../record/collect.ts'
import type { Profiler } from '../../record/profiler.ts'
import { type RecordingPolicy, replayAttribute } from '../../record/recording-policy.ts'
import type { Trace } from '../../record/trace.ts'
import type { RedirectData } from '../../subjects/exchange/data.ts'
import { hasToolbar, type PageToolbar, pausedToken } from './page-toolbar.ts'

/** After the listeners that make the page and its policy, before those that compute an etag or compress. As in Symfony. */
const priority = -128

/** The services that the listener uses. */
interface ToolbarListenerServices {
  readonly profiler: Profiler
  readonly redirects: RecentRedirects
  readonly toolbar: Pick<PageToolbar, 'addTo'>
  readonly policy: Pick<RecordingPolicy, 'isPaused'>
  readonly debugGate: Pick<DebugGate, 'allows'>
  /** Whether a request is one for the profiler's own pages. */
  readonly isOwnPage: (request: Request) => boolean
}

/** Adds the toolbar to the pages of a kernel. */
export class ToolbarListener {
  readonly #services: ToolbarListenerServices

  constructor(services: ToolbarListenerServices) {
    this.#services = services
  }

  subscribe(dispatcher: EventDispatcher): void {
    dispatcher.subscribe(ResponseEvent, this, 'onResponse', priority)
  }

  onResponse(event: ResponseEvent): void {
    const { profiler, redirects, toolbar } = this.#services
    const { isMainRequest, request, response } = event
    const trace = isMainRequest ? profiler.find(request) : undefined
    if (trace === undefined) {
      if (!isMainRequest || !this.#isPaused(request)) return
      event.complete(page => {
        if (!hasToolbar(page, pausedToken)) toolbar.addTo(page, request, pausedToken)
      })
      return
    }
    // The header means that there will be a profile, and that the client may see it. As in Symfony.
    const isNamed = ({ headers }: Response) => headers.get('x-debug-token') === trace.token
    if (isNamed(response)) redirects.note(trace, response)
    event.complete(page => {
      if (trace.page !== undefined && hasToolbar(page, trace.token)) return
      trace.page = { body: page.body, encoding: page.headers.get('content-encoding') ?? '' }
      if (isNamed(page)) toolbar.addTo(page, request, trace.token)
    })
  }

  /** Whether a page has no profile because recording is paused: then its toolbar says so. */
  #isPaused(request: Request): boolean {
    const { debugGate, isOwnPage, policy } = this.#services
    return policy.isPaused && !isOwnPage(request) && debugGate.allows(request)
  }
}

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

  /** Finds the redirects that led to a request, and remembers the redirect of its response. */
  note(trace: Trace, response: Response): void {
    const { request } = trace
    // No client follows the redirects of a replay.
    if (request.attributes.has(replayAttribute)) return
    const chain = this.#take(trace)
    const location = response.headers.get('location')
    if (!response.isRedirect || location === null || !URL.canParse(location, request.url)) return
    const { status } = response
    const redirect = { token: trace.token, status, method: request.method, url: this.#redactor.text(request.url) }
    const target = new URL(location, request.url)
    target.hash = ''
    const until = Date.now() + lifetime
    this.#expected.set(keyOf(trace, target.href), { chain: [...chain, redirect].slice(-chainLimit), until })
    const [oldest] = this.#expected.keys()
    if (this.#expected.size > expectedLimit && oldest !== undefined) this.#expected.delete(oldest)
  }

  /** The redirects that have led to a request, the first one first; `undefined` when there were none. */
  collect(trace: Trace): readonly RedirectData[] | undefined {
    return this.#chains.get(trace)
  }

  #take(trace: Trace): readonly RedirectData[] {
    // This is the usual case; the key is long.
    if (this.#expected.size === 0) return []
    const key = keyOf(trace, trace.request.url)
    const expected = this.#expected.get(key)
    if (expected === undefined) return []
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
