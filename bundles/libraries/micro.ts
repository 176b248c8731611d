import { noteRegistration, report } from '../../kernel/contracts/functions.ts'
import { observeMethod } from '../../lib/observe-calls.ts'
import { followHandler, nameOf } from './framework-calls.ts'
import type { Library } from './library.ts'

/** One function answers all requests: there are no routes. */
export const micro: Library = {
  name: 'micro',
  reports: 'functions',
  seenBy: 'patch',
  from: '10',
  changes: { 'micro/dist/src/lib/index.js': watchMicro },
}

function watchMicro(exports: unknown): void {
  observeMethod(Object(exports), 'serve', function serve(_, [code]) {
    if (typeof code === 'function') noteRegistration(code, serve)
  })
  observeMethod(Object(exports), 'run', (_, [message, , code]) => {
    const called = { phase: 'handler', name: nameOf(code), code: Object(code) }
    return followHandler(Object(message), called, work => {
      work.handler = called.name
    })
  })
  observeMethod(Object(exports), 'sendError', (_, [message, , error]) => {
    report(Object(message), work => work.fail(error))
  })
}
