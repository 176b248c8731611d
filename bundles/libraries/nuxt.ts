import { currentMessage, report } from '../../kernel/contracts/functions.ts'
import { observeCalls } from '../../lib/observe-calls.ts'
import type { Library } from './library.ts'

/** Each request has a router of Vue. Routes of the server, and errors, are those of Nitro. */
export const nuxt: Library = {
  name: 'nuxt',
  reports: 'functions',
  seenBy: 'patch',
  from: '3',
  node: '22.15',
  notSeen: 'functions; `nuxt dev`, which answers in a worker thread',
  beside: 'function createRouterMatcher(',
  declares: {
    createRouter: code =>
      observeCalls(code, () => ({
        after(router) {
          report(currentMessage, () => (router as VueRouter).afterEach(noteRoute))
          return router
        },
      })),
  },
}

interface VueRouter {
  afterEach(guard: (to: VueRoute) => void): void
}

interface VueRoute {
  readonly params: unknown
  readonly matched: readonly { readonly path: string }[]
}

function noteRoute({ matched, params: parameters }: VueRoute): void {
  const record = matched.at(-1)
  if (record === undefined) return
  // A file `[id].vue` has the path `/:id()`.
  const pattern = record.path.replaceAll('()', '')
  report(currentMessage, work => work.noteRoute({ key: record, pattern, parameters, handler: '' }))
}
