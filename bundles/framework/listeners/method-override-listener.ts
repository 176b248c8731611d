import { RequestEvent } from '../../../kernel/events.ts'
import type { EventDispatcher } from '../../../lib/event-dispatcher/event-dispatcher.ts'

/** Before the router, which finds the route by the method, and before static files. */
const priority = 100

const methods: readonly string[] = ['PUT', 'PATCH', 'DELETE']

/** Gives a POST the method in its query parameter `_method`: an HTML form cannot send PUT, PATCH or DELETE. */
export class MethodOverrideListener {
  subscribe(dispatcher: EventDispatcher): void {
    dispatcher.subscribe(RequestEvent, this, 'onRequest', priority)
  }

  onRequest({ isMainRequest, request }: RequestEvent): void {
    if (!isMainRequest || request.method !== 'POST' || !request.queryString.includes('_method=')) return
    const method = request.query.get('_method')?.toUpperCase() ?? ''
    if (methods.includes(method)) request.method = method
  }
}
