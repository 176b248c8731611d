import { report } from '../../kernel/contracts/functions.ts'
import { type AnyFunction, observeCalls } from '../../lib/observe-calls.ts'
import type { Library } from './library.ts'

/** Its last function, which answers errors, is a package of its own. */
export const connect: Library = {
  name: 'connect',
  reports: 'functions',
  seenBy: 'patch',
  notSeen: 'routes, functions, and errors that a function of the application answers',
  changes: { 'finalhandler/index.js': watchFinal },
}

function watchFinal(exports: unknown, _: string, module?: NodeJS.Module): void {
  if (module === undefined || typeof exports !== 'function') return
  module.exports = observeCalls(exports as AnyFunction, (_, [message]) => ({
    after: answer =>
      observeCalls(answer as AnyFunction, (_, [error]) => {
        if (error instanceof Error) report(Object(message), work => work.fail(error))
      }),
  }))
}
