import type { Running } from '../../../lib/stack/callers.ts'

/** A call of the global fetch that is about to create its request. */
export interface StartingFetch {
  /** Whether a signal or a dispatcher of the application may end it. */
  readonly isLimited: boolean
  readonly signal: AbortSignal | undefined
  /** The function that the application has called. */
  readonly below: Running
}

let starting: StartingFetch | undefined

/** The call of the global fetch that runs now, in its synchronous part; `undefined` unless it is watched. */
export function findStartingFetch(): StartingFetch | undefined {
  return starting
}

/** The global fetch belongs to the process, and so do its watches: a process may have several kernels. */
const watches = new Set<symbol>()
let restore: (() => void) | undefined

/**
 * Watches which calls of the global fetch have a signal, until the returned function is called: undici does not report it. The
 * function behaves as before.
 */
export function watchSignals(): () => void {
  const watch = Symbol()
  watches.add(watch)
  restore ??= patch()
  return () => {
    watches.delete(watch)
    if (watches.size > 0) return
    restore?.()
    restore = undefined
  }
}

/** Where undici, also that of Node.js, has the dispatcher of the calls without one of their own. */
const globalDispatcher = Symbol.for('undici.globalDispatcher.1')

const readDispatcher = (): unknown => Reflect.get(globalThis, globalDispatcher)

/** `undefined` until it is loaded, and if there was another one before it. */
let dispatcherOfNode: unknown

function loadDispatcher(): void {
  // The undici of Node.js is loaded with its first class. It keeps the dispatcher of the application.
  if (readDispatcher() === undefined && globalThis.Request) dispatcherOfNode = readDispatcher()
}

function patch(): () => void {
  // Other dispatchers than this one are those of the application. The start does not wait for it.
  setImmediate(loadDispatcher).unref()
  const original = globalThis.fetch
  function observed(this: unknown, ...values: Parameters<typeof fetch>): ReturnType<typeof fetch> {
    const outer = starting
    loadDispatcher()
    const signal = findSignal(...values)
    starting = { isLimited: isLimited(signal, ...values), signal, below: observed }
    try {
      return Reflect.apply(original, this, values)
    } finally {
      starting = outer
    }
  }
  globalThis.fetch = Object.defineProperties(observed, Object.getOwnPropertyDescriptors(original))
  return () => {
    // Another library may have replaced it since.
    if (globalThis.fetch === observed) globalThis.fetch = original
  }
}

/** A `Request` has a signal in any case, so it may be that of the application. */
function findSignal(...[input, init]: Parameters<typeof fetch>): AbortSignal | undefined {
  return init?.signal ?? (input instanceof globalThis.Request ? input.signal : undefined)
}

/** A dispatcher may have a timeout. */
function isLimited(signal: AbortSignal | undefined, ...[, init]: Parameters<typeof fetch>): boolean {
  const dispatcher = init?.dispatcher ?? readDispatcher()
  return signal !== undefined || dispatcher !== dispatcherOfNode
}
