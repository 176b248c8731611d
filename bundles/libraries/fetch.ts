import { guard } from '../../lib/guard.ts'
import { observeMethod } from '../../lib/observe-calls.ts'
import { isAtLeast } from '../../lib/optional-packages.ts'
import { share } from '../../lib/share.ts'
import type { Running } from '../../lib/stack/callers.ts'
import type { Library } from './library.ts'

/**
 * The global fetch. Its undici reports the calls; a patch of the function adds whether a call has
 * a signal, which undici does not report.
 */
export const nodeFetch: Library = {
  name: 'fetch',
  reports: 'calls',
  seenBy: 'channel',
  instrumentation: 'undici',
  patch: share(patchFetch),
}

/** A call of the global fetch that is about to create its request. */
interface StartingFetch {
  /** Whether a signal or a dispatcher of the application may end it. */
  readonly isLimited: boolean
  readonly signal: AbortSignal | undefined
  /** The function that the application has called. */
  readonly below: Running
}

let starting: StartingFetch | undefined

/** The call of the global fetch that runs now, in its synchronous part; `undefined` unless it is patched. */
export function findStartingFetch(): StartingFetch | undefined {
  return starting
}

/** Where undici has the dispatcher of the calls without one of their own; that of Node.js reads one of both. */
const globalDispatcher = Symbol.for(`undici.globalDispatcher.${isAtLeast(process.versions.undici ?? '0', '8') ? 2 : 1}`)

/**
 * Whether it is a dispatcher of undici without any option of the application: without one, Node.js
 * makes it with the first call.
 */
function isDefault(dispatcher: object | undefined): boolean {
  if (dispatcher === undefined) return true
  const prototype = Object(Object.getPrototypeOf(dispatcher))
  const key = Object.getOwnPropertySymbols(dispatcher).find(({ description }) => description === 'options')
  // A dispatcher with interceptors has another method.
  const isAgent = prototype.constructor?.name === 'Agent' && Reflect.get(dispatcher, 'dispatch') === prototype.dispatch
  const options: unknown[] = Object.values(Object(key && Reflect.get(dispatcher, key)))
  return isAgent && options.every(value => value === undefined || value === Infinity)
}

function patchFetch(): () => void {
  const { fetch: original } = globalThis
  // With `--no-experimental-fetch` there is none, and nothing is observed.
  return observeMethod(globalThis, 'fetch', (_, args) => {
    const outer = starting
    starting = describeFetch(args as Parameters<typeof fetch>, original)
    return {
      after() {
        starting = outer
      },
    }
  })
}

const describeFetch = guard('fetch', (values: Parameters<typeof fetch>, below: Running): StartingFetch => {
  const signal = findSignal(...values)
  return { isLimited: isLimited(signal, ...values), signal, below }
})

/** A `Request` has a signal in any case, so it may be that of the application. */
function findSignal(...[input, init]: Parameters<typeof fetch>): AbortSignal | undefined {
  return init?.signal ?? (input instanceof globalThis.Request ? input.signal : undefined)
}

/** A dispatcher may have a timeout. */
function isLimited(signal: AbortSignal | undefined, ...[, init]: Parameters<typeof fetch>): boolean {
  return signal !== undefined || !isDefault(init?.dispatcher ?? Reflect.get(globalThis, globalDispatcher))
}
