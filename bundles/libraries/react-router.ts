import { currentMessage, report } from '../../kernel/contracts/functions.ts'
import { observeCalls } from '../../lib/observe-calls.ts'
import { readProperty } from '../../lib/text/describe-value.ts'
import { failWith, measureCall } from './framework-calls.ts'
import type { Library } from './library.ts'

/**
 * As a framework, it has functions that find the routes of a path, call the loaders and actions,
 * and make the page of an error.
 */
export const reactRouter: Library = {
  name: 'react-router',
  reports: 'functions',
  seenBy: 'patch',
  from: '7',
  node: '22.15',
  notSeen: 'in version 8, `react-router dev` without `NODE_OPTIONS`',
  declares: {
    matchServerRoutes: code =>
      observeCalls(code, () => ({
        after(matches) {
          if (matches !== null) noteRoute(matches as readonly Match[])
        },
      })),
    callRouteHandler: code =>
      observeCalls(code, (_, args) => {
        const { pattern, request, unstable_pattern: before = '' } = Object(args[1])
        const phase = isMutation.test(String(readProperty(request, 'method'))) ? 'action' : 'loader'
        return measureCall(phase, `/${String(pattern ?? before).replace(/^\//, '')}`)
      }),
    getStaticContextFromError: code => observeCalls(code, (_, args) => failWith(args[2])),
  },
}

/** After an action, loaders get a request of their own. */
const isMutation = /^(?:POST|PUT|PATCH|DELETE)$/

interface Match {
  readonly params: unknown
  readonly route: { readonly path?: string }
}

/** Layouts and index routes have no path. */
function noteRoute(matches: readonly Match[]): void {
  const paths = matches.flatMap(({ route }) => route.path?.split('/') ?? []).filter(part => part !== '')
  const pattern = `/${paths.join('/')}`
  const { params: parameters } = matches.at(-1) ?? {}
  report(currentMessage, work => work.noteRoute({ key: currentMessage, pattern, parameters, handler: '' }))
}
