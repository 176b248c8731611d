import { format } from 'node:util'
import type { ConsoleMethod } from './data.ts'

/** Called before the console prints. */
export type ConsoleObserver = (method: ConsoleMethod, values: readonly unknown[]) => void

type Print = (...values: unknown[]) => unknown

/** The console, by its methods. */
type Methods = Record<Method, Print>

type Method = Exclude<ConsoleMethod, 'dump'>

const methods: readonly Method[] = ['log', 'info', 'warn', 'error', 'debug', 'table', 'trace', 'dir']

/** The console belongs to the process, and so do its observers: a process may have several kernels. */
const observers = new Set<ConsoleObserver>()

/** Puts back the methods of the console. */
let restore: (() => void) | undefined

/** Whether a method of the console runs. `console.trace` calls `console.error`, and values may print while they are shown. */
let isPrinting = false

/**
 * Passes calls of the console to an observer, until the returned function is called. Everything is printed as before. The
 * last such call restores the methods of the console.
 */
export function watchConsole(observer: ConsoleObserver): () => void {
  observers.add(observer)
  // Each method takes any values; the types of some are narrower.
  restore ??= patch(globalThis.console as Methods)
  return () => {
    observers.delete(observer)
    if (observers.size > 0) return
    restore?.()
    restore = undefined
  }
}

function patch(target: Methods): () => void {
  const { error } = target
  /** The original would print the frames of this file. */
  const printTrace: Print = (...values) => {
    const trace = { name: 'Trace', message: format(...values), stack: '' }
    Error.captureStackTrace(trace, target.trace)
    return error(trace.stack)
  }
  const undo = methods.map(method => {
    const original = target[method]
    const print = method === 'trace' ? printTrace : original
    const patched = (...values: unknown[]) => pass(method, values, print)
    target[method] = patched
    return () => {
      // Another library may have wrapped the method since: then the wrapper stays, and passes calls on.
      if (target[method] === patched) target[method] = original
    }
  })
  return () => {
    for (const each of undo) each()
  }
}

function pass(method: Method, values: unknown[], print: Print): unknown {
  if (isPrinting) return print(...values)
  isPrinting = true
  try {
    for (const observe of observers) tryTo(() => observe(method, values))
    return print(...values)
  } finally {
    isPrinting = false
  }
}

/** An error while a value is copied is dropped. The console's own method may throw it, too. */
function tryTo(observe: () => void): void {
  try {
    observe()
  } catch {
    // The value is not recorded.
  }
}
