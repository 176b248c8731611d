import type { DebugGate } from '../../kernel/debug-gate.ts'
import { KERNEL_NO_ROUTE } from '../../kernel/errors.ts'
import { ExceptionEvent } from '../../kernel/events/exception-event.ts'
import type { EventDispatcher } from '../../lib/event-dispatcher/event-dispatcher.ts'
import { Response } from '../../lib/http/response.ts'
import type { Route } from '../../lib/routing/route.ts'
import type { RouteCollection } from '../../lib/routing/route-collection.ts'
import type { View } from '../../lib/view/view.ts'

/** Before the error listener answers, with the priority of Symfony's welcome page. */
const priority = -64

/** What the welcome page is made of. */
export interface WelcomeServices {
  readonly routes: RouteCollection
  readonly view: View
  readonly debugGate: DebugGate
  readonly version: string
}

/** Welcomes a developer whose application has no route for `/`: the 404 is a page that lists the routes there are. */
export class WelcomeListener {
  readonly #services: WelcomeServices

  constructor(services: WelcomeServices) {
    this.#services = services
  }

  subscribe(dispatcher: EventDispatcher): void {
    dispatcher.subscribe(ExceptionEvent, this, 'onException', priority)
  }

  async onException(event: ExceptionEvent): Promise<void> {
    const { debugGate, routes, version, view } = this.#services
    const { error, request } = event
    if (request.path !== '/' || !(error instanceof KERNEL_NO_ROUTE) || !debugGate.allows(request)) return
    const page = await view.render('framework/welcome', { version, routes: [...routes].map(toRow) }, request)
    event.respond(Response.html(page, { status: 404 }))
  }
}

function toRow({ methods, name, path }: Route) {
  const canBeVisited = path.names.length === 0 && (methods.length === 0 || methods.includes('GET'))
  return {
    name,
    path: path.source,
    methods: methods.join(', ') || 'ANY',
    link: canBeVisited ? path.source : '',
  }
}
