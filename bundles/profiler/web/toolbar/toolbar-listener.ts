import type { DebugGate } from '../../../../kernel/debug/debug-gate.ts'
import { ResponseEvent } from '../../../../kernel/events.ts'
import type { EventDispatcher } from '../../../../lib/event-dispatcher/event-dispatcher.ts'
import type { Request } from '../../../../lib/http/request.ts'
import type { Profiler } from '../../record/profiler.ts'
import type { RecordingPolicy } from '../../record/recording-policy.ts'
import { hasToolbar, type PageToolbar, pausedToken } from './page-toolbar.ts'

/**
 * After the listeners that make the page and its policy, before those that compute an etag or compress. As in Symfony.
 */
const priority = -128

interface ToolbarListenerServices {
  readonly profiler: Profiler
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
    const { profiler, toolbar } = this.#services
    const { isMainRequest, request } = event
    const trace = isMainRequest ? profiler.find(request) : undefined
    if (trace === undefined) {
      if (!isMainRequest || !this.#isPaused(request)) return
      event.complete(page => {
        if (!hasToolbar(page, pausedToken)) toolbar.addTo(page, request, pausedToken)
      })
      return
    }
    event.complete(page => {
      if (trace.page !== undefined && hasToolbar(page, trace.token)) return
      trace.page = { body: page.body, encoding: page.headers.get('content-encoding') ?? '' }
      // The header means that there will be a profile, and that the client may see it. As in Symfony.
      if (page.headers.get('x-debug-token') === trace.token) toolbar.addTo(page, request, trace.token)
    })
  }

  /** Whether a page has no profile because recording is paused: then its toolbar says so. */
  #isPaused(request: Request): boolean {
    const { debugGate, isOwnPage, policy } = this.#services
    return policy.isPaused && !isOwnPage(request) && debugGate.allows(request)
  }
}
