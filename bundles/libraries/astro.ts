import { currentMessage, report } from '../../kernel/contracts/functions.ts'
import { observeCalls } from '../../lib/observe-calls.ts'
import { failWith, measureCall } from './framework-calls.ts'
import type { Library } from './library.ts'

/**
 * It calls the middleware of the application, or its own, with the context of each route; another
 * function gets errors that are answered.
 */
export const astro: Library = {
  name: 'astro',
  reports: 'functions',
  seenBy: 'patch',
  from: '5',
  node: '22.15',
  declares: {
    callMiddleware: code => observeCalls(code, (_, args) => void noteRoute(args[1] as AstroContext)),
    renderEndpoint: code =>
      observeCalls(code, (_, args) => {
        const context = args[1] as AstroContext
        noteRoute(context)
        return measureCall('handler', context.routePattern ?? 'endpoint')
      }),
    renderPage: code =>
      observeCalls(code, (_, args) => measureCall('rendering', String(Object(args[5]).route ?? 'page'))),
    renderErrorFromState: code => observeCalls(code, (_, args) => failWith(Object(args[2]).error)),
  },
}

interface AstroContext {
  readonly routePattern?: string
  readonly params?: unknown
}

function noteRoute({ params: parameters, routePattern: pattern }: AstroContext): void {
  // The pages of errors are routes, too.
  if (typeof pattern !== 'string' || /^\/(?:404|500)$/.test(pattern)) return
  report(currentMessage, work => work.noteRoute({ key: currentMessage, pattern, parameters, handler: '' }))
}
