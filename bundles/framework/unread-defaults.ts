import type { Application } from '../../kernel/bundle.ts'
import { knownDefaults } from '../../kernel/bundle-steps.ts'
import { RequestEvent, ResponseEvent } from '../../kernel/events.ts'
import type { Request } from '../../lib/http/request.ts'
import type { Logger } from '../../lib/log/logger.ts'
import type { RouteCollection } from '../../lib/routing/route-collection.ts'
import { suggestNames } from '../../lib/text/mistakes.ts'

/** Before the router (32), and before every listener that reads a default of a route. */
const requestPriority = 33

/** After all other listeners. */
const responsePriority = -2000

/**
 * Logs a default of the application, such as `_role`, if a request of its route succeeds and nothing has read it: the bundle with its
 * listener may not be in the list, and then the route is not protected. Each name is logged once.
 */
export function reportUnreadDefaults({ dispatcher, logger, routes, signals }: Application): void {
  // Not earlier: then all bundles have added their routes. An application without such defaults has no such listener.
  signals.on('kernel.booted', () => {
    const unread = new Set([...routes].flatMap(({ defaults }) => ownNames(defaults)))
    if (unread.size === 0) return
    const listener = new UnreadDefaultsListener(unread, routes, logger)
    dispatcher.subscribe(RequestEvent, listener, 'onRequest', requestPriority)
    dispatcher.subscribe(ResponseEvent, listener, 'onResponse', responsePriority)
  })
}

/** The names of defaults for listeners, without those that the framework reads. */
function ownNames(defaults: object): string[] {
  return Object.keys(defaults).filter(name => name.startsWith('_') && !knownDefaults.has(name))
}

class UnreadDefaultsListener {
  /** The names that nothing has read yet, and that were not logged. */
  readonly #unread: Set<string>
  /** The names of attributes that something has read. One that a request does not have may be meant. */
  readonly #read = new Set<string>()
  readonly #routes: RouteCollection
  readonly #logger: Logger

  constructor(unread: Set<string>, routes: RouteCollection, logger: Logger) {
    this.#unread = unread
    this.#routes = routes
    this.#logger = logger
  }

  onRequest({ isMainRequest, request }: RequestEvent): void {
    if (isMainRequest && this.#unread.size > 0) this.#noteReads(request)
  }

  #noteReads({ attributes }: Request): void {
    for (const method of ['get', 'has'] as const) {
      const read = (name: string) => {
        this.#unread.delete(name)
        if (name.startsWith('_') && !knownDefaults.has(name)) this.#read.add(name)
        return Map.prototype[method].call(attributes, name)
      }
      Object.defineProperty(attributes, method, { value: read })
    }
  }

  onResponse({ isMainRequest, request, response }: ResponseEvent): void {
    if (!isMainRequest || response.status >= 300) return
    const route = this.#routes.find(String(request.attributes.get('_route')))
    for (const name of ownNames(route?.defaults ?? {})) {
      // A function may take it from its second argument.
      if (!this.#unread.delete(name) || String(route?.controller).includes(name)) continue
      const absent = [...this.#read].filter(read => !request.attributes.has(read))
      const nearest = suggestNames(name, absent)
      const message =
        'Nothing has read the default "{name}" of the route "{route}"{nearest}: is the bundle with its listener in the list of bundles?'
      this.#logger.warning(message, { name, route: route?.name, nearest })
    }
  }
}
