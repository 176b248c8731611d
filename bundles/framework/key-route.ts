import { type Controller, currentRequest, defineController } from '../../kernel/controller.ts'
import type { DebugGate } from '../../kernel/debug-gate.ts'
import { Response } from '../../lib/http/response.ts'
import type { RouteDefinition } from '../../lib/routing/route.ts'

/**
 * Creates the route of the link that is printed at the start while `DEBUG_KEY` is set: it exchanges the key for a cookie,
 * and leads to an address without it. For every other client it does not exist.
 */
export function createKeyRoute(debugGate: DebugGate): RouteDefinition<Controller> {
  return {
    name: '_debug_key',
    path: '/_debug',
    methods: ['GET'],
    condition: request => debugGate.isOpenedBy(request.query.get('key') ?? '', request),
    controller: defineController('debug_key', [currentRequest], request => {
      const response = Response.redirect('/', 303)
      debugGate.giveCookie(response.headers, request.scheme === 'https')
      response.headers.set('cache-control', 'no-store')
      response.headers.set('referrer-policy', 'no-referrer')
      return response
    }),
  }
}
