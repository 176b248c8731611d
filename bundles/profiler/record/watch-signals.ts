import type { Running } from '../../../lib/stack/callers.ts'

/** A call of the global fetch that is about to create its request. */
export interface StartingFetch {
  /** Whether a signal or a dispatcher of the application may end it. */
  readonly isLimited: boolean
  /** The function that the application has called. */
  readonly below: Running
}

let starting: StartingFetch | undefined

/** The call of the global fetch that runs now, in its synchronous part; `undefined` unless it is watched. */
export function findStartingFetch(): StartingFetch | undefined {
  return starting
}

/** The global fetch belongs to the process, which may have several kernels. */
let watches = 0
let restore: (() => void) | undefined

/**
 * Watches which calls of the global fetch have a signal, until the returned function is called: undici does not report it. The
 * function behaves as before.
 */
export function watchSignals(): () => void {
  watches++
  restore ??= patch()
  return () => {
    watches--
    if (watches > 0) return
    restore?.()
    restore = undefined
  }
}

function patch(): () => void {
  const original = globalThis.fetch
  function observed(this: unknown, ...values: Parameters<typeof fetch>): ReturnType<typeof fetch> {
    const outer = starting
    starting = { isLimited: isLimited(...values), below: observed }
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

/** A `Request` has a signal in any case, so it may be that of the application. A dispatcher may have a timeout. */
function isLimited(...[input, init]: Parameters<typeof fetch>): boolean {
  if (input instanceof globalThis.Request) return true
  const { dispatcher, signal } = { ...init }
  return (signal ?? dispatcher) !== undefined
}
