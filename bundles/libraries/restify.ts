import { noteRegistration, report } from '../../kernel/contracts/functions.ts'
import { type AnyFunction, observeCalls, observeMethod } from '../../lib/observe-calls.ts'
import { followHandler, nameOf } from './framework-calls.ts'
import type { Library } from './library.ts'

/** Its chains call all functions; its server gets the errors that they pass on. */
export const restify: Library = {
  name: 'restify',
  reports: 'functions',
  seenBy: 'patch',
  from: '8',
  changes: {
    'restify/lib/chain.js': exports =>
      void observeMethod(Object(exports).prototype, 'add', function add(_, args) {
        const [code] = args
        if (typeof code !== 'function') return
        noteRegistration(code, add)
        args[0] = watchFunction(code as AnyFunction)
      }),
    'restify/lib/server.js': exports =>
      void observeMethod(Object(exports).prototype, '_onHandlerError', (_, [error, request]) => {
        const { route } = request as RestifyRequest
        // Without a route the server itself refuses the request.
        if (route !== undefined) report(Object(request), work => work.fail(error))
      }),
  },
}

/** A message of Node, with what Restify adds. */
interface RestifyRequest {
  readonly params?: unknown
  readonly route?: {
    readonly path: unknown
    readonly chain?: { getHandlers(): readonly unknown[] }
  }
}

function watchFunction(code: AnyFunction): AnyFunction {
  const wrapped = observeCalls(code, (_, [request]) => {
    const { params, route } = request as RestifyRequest
    const last = route?.chain?.getHandlers().at(-1)
    const handler = nameOf(last)
    const called = { phase: last === wrapped ? 'handler' : 'middleware', name: nameOf(code), code }
    return followHandler(Object(request), called, work => {
      if (route !== undefined) work.noteRoute({ key: route, pattern: String(route.path), parameters: params, handler })
    })
  })
  return wrapped
}
