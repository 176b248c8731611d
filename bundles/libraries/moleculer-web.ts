import { report } from '../../kernel/contracts/functions.ts'
import { observeMethod } from '../../lib/observe-calls.ts'
import type { Library } from './library.ts'

/** A service of Moleculer, whose methods are copied: they find the action of a request, and answer its errors. */
export const moleculerWeb: Library = {
  name: 'moleculer-web',
  reports: 'functions',
  seenBy: 'patch',
  notSeen: 'functions; the calls between services',
  changes: { 'moleculer-web/src/index.js': exports => watchMethods(Object(Object(exports).methods)) },
}

/** An alias is a route; a request without one names its action. */
interface Alias {
  readonly fullPath?: string
  readonly action?: string | null
}

function watchMethods(methods: object): void {
  observeMethod(methods, 'aliasHandler', (_, [message, , alias]) => {
    const { action, fullPath: pattern } = alias as Alias
    report(Object(message), work => {
      if (pattern === undefined) return
      const { $params: parameters } = Object(message)
      work.noteRoute({
        key: Object(alias),
        pattern,
        parameters,
        handler: action ?? '',
      })
    })
  })
  observeMethod(methods, 'sendError', (_, [message, , error]) => {
    // Without a route, the service itself refuses the request.
    report(Object(message), work => work.route && work.fail(error))
  })
}
