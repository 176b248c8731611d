import type { RequestContext } from '../../../kernel/request-context.ts'
import type { Logger } from '../../../lib/log/logger.ts'
import type { Pass } from './pass.ts'

/** What the watch works with. */
export interface HangWatchServices {
  /** Finds the main requests that are not kept yet. */
  readonly open: () => Iterable<Pass>
  readonly context: RequestContext
  readonly logger: Logger
  /** Milliseconds after which something is said to hang; 5 seconds by default. */
  readonly limit?: number
}

/** Logs once for each request which listener or controller has not ended for too long: nothing else would name it. */
export class HangWatch {
  readonly #services: HangWatchServices
  readonly #limit: number
  readonly #reported = new WeakSet<Pass>()
  #timer: NodeJS.Timeout | undefined

  constructor(services: HangWatchServices) {
    this.#services = services
    this.#limit = services.limit ?? 5_000
  }

  /** Begins to look, unless it does; ends by itself when no request is in flight. */
  readonly start = (): void => {
    // The process may end meanwhile.
    this.#timer ??= setInterval(() => this.#look(), this.#limit / 5).unref()
  }

  /** Ends at once. */
  readonly stop = (): void => {
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  #look(): void {
    const passes = [...this.#services.open()]
    if (passes.length === 0) this.stop()
    for (const pass of passes) {
      if (pass.duration !== undefined || pass.elapsed() < this.#limit || this.#reported.has(pass)) continue
      this.#reported.add(pass)
      this.#report(pass)
    }
  }

  #report(main: Pass): void {
    const { context, logger } = this.#services
    const { controller, events, request } = findHanging(main)
    const culprit = describe(events.openCall, controller)
    const seconds = Math.round(main.elapsed() / 1000)
    const { method, url } = request
    // The line belongs to the request, and so to its profile.
    context.run(request, () => {
      logger.warning('{culprit} has not ended after {seconds} s: {method} {url}.', { culprit, seconds, method, url })
    })
  }
}

/** The innermost request that is handled still. */
function findHanging(pass: Pass): Pass {
  const child = pass.children.findLast(({ duration }) => duration === undefined)
  return child === undefined ? pass : findHanging(child)
}

function describe(call: Pass['events']['openCall'], controller: string | undefined): string {
  if (call !== undefined) return `The listener ${call.listener} of ${call.event}`
  return controller === undefined ? 'An argument of the controller' : `The controller ${controller}`
}
