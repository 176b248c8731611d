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
          // Nuxt goes to the page again, without the one that has led there.
          let isNoted = false
          report(currentMessage, () =>
            (router as { afterEach(guard: (to: VueRoute) => void): void }).afterEach(to => {
              if (!isNoted) noteRoute(to)
              isNoted = true
            }),
          )
        },
      })),
  },
}

interface VueRoute {
  readonly params: unknown
  readonly matched: readonly { readonly path: string }[]
  readonly redirectedFrom?: VueRoute
}

/** Nuxt answers with a redirect where another page takes the place of one. */
function noteRoute(to: VueRoute): void {
  const { matched, params: parameters } = to.redirectedFrom ?? to
  const record = matched.at(-1)
  if (record === undefined) return
  // A file `[id].vue` has the path `/:id()`.
  const pattern = record.path.replaceAll('()', '')
  report(currentMessage, work => work.noteRoute({ key: record, pattern, parameters, handler: '' }))
}
