import { observeCalls } from '../../lib/observe-calls.ts'
import { reportError, watchEvents } from './h3.ts'
import type { Library } from './library.ts'

/** Its builds have h3 in a file of their own, with the function that answers errors. */
export const nitro: Library = {
  name: 'nitropack',
  reports: 'functions',
  seenBy: 'patch',
  node: '22.15',
  notSeen: 'functions; `nitro dev`, which answers in a worker thread',
  beside: 'class H3Event',
  declares: {
    H3Event(event) {
      watchEvents(event)
      return undefined
    },
    errorHandler: code => observeCalls(code, (_, [error, event]) => reportError(error, event)),
  },
}
