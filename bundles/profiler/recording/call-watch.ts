import { type CallStart, CallTrace, type OutgoingCall } from './call-trace.ts'
import type { Pass } from './pass.ts'

/** The calls of fetch have 27 frames of node's own above that of whoever called it. */
const stackLimit = 50

/**
 * Knows outgoing requests by the object that stands for each in the client's messages. Whose they are is asked once,
 * when they begin: what is told of them later comes from a connection, and connections belong to whoever opened them.
 */
export class CallWatch {
  readonly #findPass: () => Pass | undefined
  readonly #calls = new WeakMap<object, OutgoingCall | undefined>()

  constructor(findPass: () => Pass | undefined) {
    this.#findPass = findPass
  }

  /** Notes a request on the pass that runs now, if there is one; a request that is known already stays whose it is. */
  begin(request: object, describe: () => CallStart): OutgoingCall | undefined {
    if (this.#calls.has(request)) return this.#calls.get(request)
    const pass = this.#findPass()
    const call = pass && beginOn(pass, describe())
    this.#calls.set(request, call)
    return call
  }

  find(request: object): OutgoingCall | undefined {
    return this.#calls.get(request)
  }
}

function beginOn(pass: Pass, start: CallStart): OutgoingCall | undefined {
  pass.calls ??= new CallTrace()
  return pass.calls.begin(start, captureOrigin, pass)
}

function captureOrigin(): Error {
  const { stackTraceLimit } = Error
  Error.stackTraceLimit = stackLimit
  const origin = new Error()
  Error.stackTraceLimit = stackTraceLimit
  return origin
}
