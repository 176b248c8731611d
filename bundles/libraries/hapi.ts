import { report } from '../../kernel/contracts/functions.ts'
import { observeMethod } from '../../lib/observe-calls.ts'
import { followHandler, mountedAt, nameOf, noteFunctions } from './framework-calls.ts'
import type { Library } from './library.ts'

/**
 * Its toolkit calls all functions of the application. What they throw is an error of the request if it
 * becomes the response: Hapi drops that of an authentication that is optional.
 */
export const hapi: Library = {
  name: '@hapi/hapi',
  reports: 'functions',
  seenBy: 'patch',
  from: '20',
  changes: {
    '@hapi/hapi/lib/handler.js': exports => {
      watchRegistrations(exports, 'configure')
      watchRegistrations(exports, 'prerequisitesConfig')
    },
    '@hapi/hapi/lib/ext.js': exports => watchRegistrations(Object(exports).prototype, 'add'),
    '@hapi/hapi/lib/toolkit.js': exports =>
      void observeMethod(Object(Object(exports).Manager).prototype, 'execute', beginCall),
    '@hapi/hapi/lib/request.js': exports =>
      void observeMethod(Object(exports).prototype, '_setResponse', (self, [response]) => {
        const { _route, raw } = self as HapiRequest
        // Behind the header, it is the end of a connection.
        if (Object(response).isBoom === true && !_route._special && !raw.res.headersSent)
          report(raw.req, work => work.fail(response))
      }),
  },
}

/**
 * Notes the place that registers functions: the first argument of a method is one, has some as its
 * `method`, or is a list of them.
 */
function watchRegistrations(target: unknown, name: string): void {
  observeMethod(Object(target), name, function note(_, [given]) {
    const all = [given].flat(2).map(each => (typeof each === 'function' ? each : Object(each).method))
    noteFunctions(all, note)
  })
}

interface HapiRequest {
  readonly raw: { readonly req: object; readonly res: { readonly headersSent: boolean } }
  readonly params: unknown
  readonly route: { readonly path: string; readonly settings: { readonly handler?: unknown } }
  /** Hapi has a route of its own for paths without one. */
  readonly _route: { readonly _special?: boolean }
}

function beginCall(_: unknown, [code, given, options]: readonly unknown[]) {
  const request = given as HapiRequest
  const { params, raw, route } = request
  if (typeof code !== 'function' || request._route._special) return undefined
  const { auth, name = '' } = Object(options)
  const isHandler = code === route.settings.handler
  const phase = isHandler ? 'handler' : auth ? 'authentication' : name || 'function'
  const called = { phase, name: nameOf(code), code }
  return followHandler(raw.req, called, work => {
    const pattern = mountedAt(raw.req) + route.path
    work.noteRoute({ key: route, pattern, parameters: params, handler: nameOf(route.settings.handler) })
  })
}
