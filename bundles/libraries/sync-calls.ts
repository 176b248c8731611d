import childProcess from 'node:child_process'
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { syncCalls } from '../../kernel/contracts/process-calls.ts'
import { guardedCall, observeMethod } from '../../lib/observe-calls.ts'
import { readClock } from '../../lib/own-globals.ts'
import { endAll, share } from '../../lib/share.ts'
import type { Library } from './library.ts'

/**
 * The synchronous functions for files and processes, and the one that waits for another thread. A
 * short call costs a fraction of a microsecond. Code that has imported the functions before is
 * observed, too, except for CommonJS modules that keep a function in a variable.
 */
export const syncFunctions: Library = {
  name: 'node:fs, node:child_process, Atomics.wait',
  reports: 'process',
  seenBy: 'patch',
  notSeen: 'calls of less than 50 ms, and asynchronous functions',
  patch: share(patchAll),
}

/** Limit of `synchronous-call`: ms of a call. Shorter ones are not recorded. */
const leastTime = 50

/** Whether a function runs: some call others of them. */
let isRunning = false

function patchAll(): () => void {
  return shareBuiltins([
    ...patch('fs', fs),
    ...patch('child_process', childProcess),
    observeMethod(Atomics, 'wait', () => begin('Atomics.wait')),
  ])
}

/** ES modules that have imported functions of Node have the changed ones, until the returned function is called. */
export function shareBuiltins(restores: readonly (() => void)[]): () => void {
  syncBuiltinESMExports()
  return endAll([...restores, syncBuiltinESMExports])
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
    if (duration >= leastTime) syncCalls.pass({ name, start, duration }, guardedCall)
  }
  return {
    after() {
      end()
    },
    failed: end,
  }
}
