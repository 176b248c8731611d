import { type AnyFunction, observeCalls } from '../../lib/observe-calls.ts'
import { failWith, withoutWrapper } from './framework-calls.ts'
import { type FileChanges, type Library, replaceExport } from './library.ts'

const getErrorShape = (code: AnyFunction) =>
  observeCalls(code, (_, [options]) => {
    const { error, type } = Object(options)
    // Without a procedure, the framework itself refuses the request.
    return type === 'unknown' ? undefined : failWith(withoutWrapper(error))
  })

const change: FileChanges[string] = (_, __, module) => replaceExport(module, 'getErrorShape', getErrorShape)

/** The procedures of a request are its operation. Each error that it answers gets a shape. */
export const trpc: Library = {
  name: '@trpc/server',
  reports: 'functions',
  seenBy: 'patch',
  from: '11',
  notSeen: 'functions; on Node 20, errors of ES modules',
  declares: { getErrorShape },
  changes: {
    '@trpc/server/dist/getErrorShape.cjs': change,
    '@trpc/server/dist/unstable-core-do-not-import/error/getErrorShape.js': change,
  },
}
