import { report } from '../../kernel/contracts/functions.ts'
import { type AnyFunction, observeCalls } from '../../lib/observe-calls.ts'
import type { Library } from './library.ts'

/** Each service has a router, which gets a function for errors. */
export const restana: Library = {
  name: 'restana',
  reports: 'functions',
  seenBy: 'patch',
  notSeen: 'routes and functions',
  changes: { 'restana/libs/request-router.js': watchRouter },
}

function watchRouter(exports: unknown, _: string, module?: NodeJS.Module): void {
  if (module === undefined || typeof exports !== 'function') return
  module.exports = observeCalls(exports as AnyFunction, (_, args) => {
    const { errorHandler } = Object(args[0])
    if (typeof errorHandler !== 'function') return
    const observed = observeCalls(errorHandler as AnyFunction, (_, [error, message]) => {
      report(Object(message), work => work.fail(error))
    })
    // The options belong to the application.
    args[0] = { ...Object(args[0]), errorHandler: observed }
  })
}
