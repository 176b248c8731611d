import { report } from '../../kernel/contracts/functions.ts'
import { observeMethod } from '../../lib/observe-calls.ts'
import { mountedAt } from './framework-calls.ts'
import type { Library } from './library.ts'

/** Its table finds the route of a request of Express; a package of its own answers errors. */
export const loopback: Library = {
  name: '@loopback/rest',
  reports: 'functions',
  seenBy: 'patch',
  from: '4',
  notSeen: 'functions other than those of Express',
  changes: {
    '@loopback/rest/dist/router/routing-table.js': exports =>
      void observeMethod(Object(Object(exports).RoutingTable).prototype, 'find', (_, [request]) => ({
        after: route => void noteRoute(Object(request), route as LoopbackRoute),
      })),
    'strong-error-handler/lib/handler.js': exports =>
      void observeMethod(Object(exports), 'writeErrorToResponse', (_, [error, request]) => {
        // Without a route, the framework itself refuses the request.
        if (routed.has(Object(request))) report(Object(request), work => work.fail(error))
      }),
  },
}

/** The requests with a route. */
const routed = new WeakSet<object>()

interface LoopbackRoute {
  readonly path: string
  readonly pathParams: unknown
  readonly controllerCtor?: { readonly name: string }
  readonly methodName?: string
}

function noteRoute(request: object, route: LoopbackRoute): void {
  routed.add(request)
  const { controllerCtor, methodName = '', path, pathParams: parameters } = route
  const handler = controllerCtor === undefined ? methodName : `${controllerCtor.name}.${methodName}`
  report(request, work => work.noteRoute({ key: route, pattern: mountedAt(request) + path, parameters, handler }))
}
