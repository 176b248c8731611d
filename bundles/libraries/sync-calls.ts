import childProcess from 'node:child_process'
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { guard } from '../../lib/guard.ts'
import { guardedCall, observeMethod } from '../../lib/observe-calls.ts'
import { readClock } from '../../lib/own-globals.ts'
import type { Running } from '../../lib/stack/callers.ts'

/** Limit of `synchronous-call`: ms of a call. Shorter ones are not recorded. */
const leastTime = 50

/** A call of a synchronous function of `node:fs` or `node:child_process`. */
export interface SyncCall {
  /** Such as `fs.readFileSync`. */
  readonly name: string
  /** By `performance.now()`. */
  readonly start: number
  readonly duration: number
}

/** Called after a long call, while its caller is on the stack below the function `below`. */
type SyncCallObserver = (call: SyncCall, below: Running) => void

/** The functions belong to the process, and so do their observers: a process may have several kernels. */
const observers = new Set<SyncCallObserver>()

/** Puts back the functions. */
let restore: (() => void) | undefined

/** Whether a function runs: some call others of them. */
let isRunning = false

/**
 * Passes long calls of the synchronous functions for files and processes to an observer, until the returned function is called.
 * A short call costs a fraction of a microsecond. Code that has imported the functions before is observed, too, except for
 * CommonJS modules that keep a function in a variable.
 */
export function watchSyncCalls(observer: SyncCallObserver): () => void {
  observers.add(observer)
  restore ??= patchAll()
  return () => {
    observers.delete(observer)
    if (observers.size > 0) return
    restore?.()
    restore = undefined
  }
}

function patchAll(): () => void {
  const restores = [...patch('fs', fs), ...patch('child_process', childProcess)]
  syncBuiltinESMExports()
  return () => {
    for (const restore of restores) restore()
    syncBuiltinESMExports()
  }
}

/** Observes the synchronous functions of a module. */
function patch(prefix: string, module: object): (() => void)[] {
  const names = Object.keys(module).filter(key => key.endsWith('Sync'))
  return names.map(key => observeMethod(module, key, () => begin(`${prefix}.${key}`)))
}

function begin(name: string) {
  if (isRunning) return undefined
  isRunning = true
  const start = readClock()
  const end = () => {
    isRunning = false
    const duration = readClock() - start
    if (duration >= leastTime) report({ name, start, duration }, guardedCall)
  }
  return {
    after(result: unknown) {
      end()
      return result
    },
    failed: end,
  }
}

/** Calls the observers: an error would replace the result of the application's call. */
const report = guard('synchronous calls', (call: SyncCall, below: Running): void => {
  for (const observer of observers) observer(call, below)
})
