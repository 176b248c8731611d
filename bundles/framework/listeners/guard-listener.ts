import type { Guard } from '../../../kernel/contracts/guard.ts'
import { noteFailedGuard } from '../../../kernel/debug/thrown-frames.ts'
import { RequestEvent } from '../../../kernel/events.ts'
import { ARGUMENT_INVALID } from '../../../lib/errors/arguments.ts'
import { HttpError } from '../../../lib/errors/http-error.ts'
import type { EventDispatcher } from '../../../lib/event-dispatcher/event-dispatcher.ts'
import { Response } from '../../../lib/http/response.ts'
import type { Logger } from '../../../lib/log/logger.ts'
import { ROUTE_DEFINITION_INVALID } from '../../../lib/routing/errors.ts'
import type { Route } from '../../../lib/routing/route.ts'
import type { RouteCollection } from '../../../lib/routing/route-collection.ts'
import { throwAt } from '../../../lib/stack/declaration-sites.ts'
import { describeValue } from '../../../lib/text/describe-value.ts'

/** After the router (32) and listeners that find the user, before the body is read (10). */
const priority = 16

/** Asks the guards of the matched route, those of its groups first. The first one that answers or throws ends it. */
export class GuardListener {
  readonly #routes: Pick<RouteCollection, 'find'>
  readonly #guards: readonly Guard[]
  readonly #logger: Pick<Logger, 'warning'> | undefined

  /** With a logger, it warns of a guard that redirects a page to itself. */
  constructor(routes: Pick<RouteCollection, 'find'>, guards: readonly Guard[], logger?: Pick<Logger, 'warning'>) {
    this.#routes = routes
    this.#guards = guards
    this.#logger = logger
  }

  subscribe(dispatcher: EventDispatcher): void {
    dispatcher.subscribe(RequestEvent, this, 'onRequest', priority)
  }

  onRequest(event: RequestEvent): Promise<void> | undefined {
    const name = event.request.attributes.get('_route')
    const route = name === undefined ? undefined : this.#routes.find(name)
    return route === undefined || route.guards.length === 0 ? undefined : this.#ask(route, event)
  }

  async #ask({ guards, name: route }: Route, event: RequestEvent): Promise<void> {
    const { attributes } = event.request
    for (const name of guards) {
      const guard = this.#guards.find(each => each.name === name)
      // The start has checked all names. A test may have added a route since.
      if (guard === undefined) throw new ROUTE_DEFINITION_INVALID([route, `no bundle has the guard "${name}"`])
      const result: unknown = await this.#check(guard, event)
      if (result === true) continue
      if (!(result instanceof Response)) {
        noteFailedGuard(event.request, guard)
        const mistake = `it returns true to let a request pass, or a Response, or throws an HttpError, but it returned ${describeValue(result)}`
        throwAt(guard, new ARGUMENT_INVALID([`the guard "${name}"`, mistake]))
      }
      attributes.set('_guard', name)
      const { basePath, rawPath } = event.request
      if (result.headers.get('location') === `${basePath}${rawPath}`)
        this.#logger?.warning(loop, { guard: name, route })
      event.respond(result)
      return
    }
  }

  async #check(guard: Guard, { request }: RequestEvent): Promise<unknown> {
    try {
      return await guard.check(request)
    } catch (error) {
      // Another error is a mistake of the guard.
      if (error instanceof HttpError && error.status < 500) request.attributes.set('_guard', guard.name)
      else noteFailedGuard(request, guard)
      throw error
    }
  }
}

const loop =
  'The guard "{guard}" redirects the route "{route}" to itself, so a browser never arrives: take the route out of the group with this guard.'
