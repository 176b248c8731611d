import { randomBytes } from 'node:crypto'
import { ResponseEvent } from '../../../kernel/events.ts'
import type { EventDispatcher } from '../../../lib/event-dispatcher/event-dispatcher.ts'
import type { Request } from '../../../lib/http/request.ts'
import { type Response, weakenEtag } from '../../../lib/http/response.ts'
import type { Logger } from '../../../lib/log/logger.ts'
import type { Assets } from '../assets.ts'
import { home, toolbarLink } from '../links.ts'
import type { Profiler } from '../recording/profiler.ts'
import { findBodyEnd, insertTag } from './body-end.ts'
import { allowToolbar } from './content-policy.ts'
import { findPage } from './find-page.ts'
import type { RecentRedirects } from './recent-redirects.ts'

/** When the page and its policy are complete, and before whoever computes an etag of it or compresses it. Symfony's priority. */
const priority = -128

/** What the listener works with. */
export interface ToolbarListenerServices {
  readonly profiler: Profiler
  readonly redirects: RecentRedirects
  readonly assets: Assets
  readonly logger: Logger
}

/**
 * Adds the toolbar to pages: one script tag that names the record, everything else is fetched. What the page's policy
 * lacks for that is added to it.
 */
export class ToolbarListener {
  readonly #services: ToolbarListenerServices

  constructor(services: ToolbarListenerServices) {
    this.#services = services
  }

  subscribe(dispatcher: EventDispatcher): void {
    dispatcher.subscribe(ResponseEvent, this, 'onResponse', priority)
  }

  onResponse({ isMainRequest, request, response }: ResponseEvent): void {
    const { profiler, redirects } = this.#services
    const pass = isMainRequest ? profiler.find(request) : undefined
    // Its client was told of the profile: so there will be one, and the gate is open. As Symfony does.
    if (pass === undefined || response.headers.get('x-debug-token') !== pass.token) return
    redirects.note(pass, response)
    this.#addTo(response, request, pass.token)
  }

  #addTo(response: Response, request: Request, token: string): void {
    const { assets, logger } = this.#services
    const page = findPage(request, response)
    const end = page === undefined ? undefined : findBodyEnd(page)
    if (page === undefined || end === undefined) return
    const { headers } = response
    const { nonce, obstacle } = allowToolbar(headers, { ...sourcesOf(request), createNonce })
    if (obstacle !== '') {
      logger.channel('profiler').info('The page has no toolbar: {obstacle}.', { obstacle })
      return
    }
    const attributes = `${nonce === undefined ? '' : ` nonce="${nonce}"`} data-profiler-toolbar="${toolbarLink(token)}"`
    // Asynchronous, and of low priority: nothing of the page waits for it. As XHTML has it, too.
    const script = `type="module" async="" fetchpriority="low" src="${assets.link('toolbar.js')}"`
    response.body = insertTag(page, end, `<script ${script}${attributes}></script>`)
    // The page means the same with and without the toolbar.
    weakenEtag(headers)
  }
}

function createNonce(): string {
  return randomBytes(16).toString('base64url')
}

/** As narrow as a source list allows: it knows names and 127.0.0.1, but no other addresses (CSP Level 3, section 6.7.2.8). */
function sourcesOf({ hostname, origin }: Request): { readonly scripts: string[]; readonly fetches: string[] } {
  const canBeNamed = hostname === '127.0.0.1' || /[a-z][a-z0-9-]*$/.test(hostname)
  if (!canBeNamed) return { scripts: ["'self'"], fetches: ["'self'"] }
  const files = `${origin}${home}assets/`
  return { scripts: [files], fetches: [files, `${origin}${toolbarLink('')}`] }
}
