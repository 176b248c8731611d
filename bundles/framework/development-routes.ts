import { currentRequest, routeParameter } from '../../kernel/arguments/request-values.ts'
import { type Controller, defineController } from '../../kernel/controller.ts'
import type { DebugGate } from '../../kernel/debug-gate.ts'
import { HttpError } from '../../lib/errors/http-error.ts'
import { Response, statusText } from '../../lib/http/response.ts'
import type { RouteDefinition } from '../../lib/routing/route.ts'
import { asInteger } from '../../lib/text/conversion.ts'
import type { View } from '../../lib/view/view.ts'
import { renderErrorHtml } from './render-error.ts'

/** Creates the controller that shows the error page of production to developers. */
export function createErrorPreview(view: View): Controller {
  return defineController(
    'error_preview',
    [routeParameter('code', asInteger), currentRequest],
    async (code, request) => {
      if (code < 400 || code > 599)
        throw new HttpError(404, `There is no error page for the status ${code}; try 404 or 500.`)
      const response = await renderErrorHtml({ status: code, statusText: statusText(code), locale: '' }, view, request)
      response.status = code
      return response
    },
  )
}

/**
 * Creates the route of the link that the server prints at start if `DEBUG_KEY` is set. It exchanges the key for a cookie,
 * and redirects to an address without the key. Requests without the key do not match it.
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
