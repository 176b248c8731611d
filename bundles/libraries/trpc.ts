import { observeCalls } from '../../lib/observe-calls.ts'
import { failWith, withoutWrapper } from './framework-calls.ts'
import type { Library } from './library.ts'

/** The procedures of a request are its operation. Each error that it answers gets a shape. */
export const trpc: Library = {
  name: '@trpc/server',
  reports: 'functions',
  seenBy: 'patch',
  from: '11',
  node: '22.15',
  notSeen: 'functions; errors of CommonJS',
  declares: {
    getErrorShape: code =>
      observeCalls(code, (_, [options]) => {
        const { error, type } = Object(options)
        // Without a procedure, the framework itself refuses the request.
        return type === 'unknown' ? undefined : failWith(withoutWrapper(error))
      }),
  },
}
