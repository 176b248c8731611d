import crypto from 'node:crypto'
import { channel } from 'node:diagnostics_channel'
import { type AsyncCall, asyncCalls } from '../../kernel/contracts/process-calls.ts'
import { guard } from '../../lib/guard.ts'
import { type AnyFunction, observeCalls, observeMethod } from '../../lib/observe-calls.ts'
import { share } from '../../lib/share.ts'
import type { Library } from './library.ts'
import { shareBuiltins } from './sync-calls.ts'

/**
 * The functions of `node:crypto` with callbacks, whose work other threads do, and child processes and worker threads,
 * until they end or send their first message. Others are not followed: Node keeps the callbacks of `node:zlib` and
 * `node:dns` in properties, which name them in stacks; instead of a promise, the application would get another one; and
 * of a timer it is not known whether anything waits for it.
 */
export const asyncFunctions: Library = {
  name: 'node:crypto, node:child_process, node:worker_threads',
  reports: 'process',
  seenBy: 'channel or patch',
  notSeen: 'calls of less than 5 ms, and those without a callback; later messages of a process or a thread',
  patch: share(patchAll),
}

function patchAll(): () => void {
  return shareBuiltins([
    ...patchCrypto(),
    follow('child_process', 'process', 'child process'),
    follow('worker_threads', 'worker', 'worker thread'),
  ])
}

/** Observes the functions that have a synchronous form, too: such as `scrypt`, beside `scryptSync`. */
function patchCrypto(): (() => void)[] {
  const names = Object.keys(crypto).filter(key => `${key}Sync` in crypto)
  return followCallbacks('crypto', crypto, Object.fromEntries(names.map(name => [name, name])))
}

/** Reports the calls of functions that take a callback, by the names that they have for people. */
export function followCallbacks(
  prefix: string,
  module: object,
  names: Readonly<Record<string, string>>,
): (() => void)[] {
  return Object.entries(names).map(([key, name]) =>
    observeMethod(module, key, (_, args) => void followCallback(`${prefix}.${name}`, args)),
  )
}

/** Without a callback, the call is synchronous, or it throws. */
function followCallback(name: string, args: unknown[]): void {
  const callback = args.at(-1)
  if (typeof callback !== 'function') return
  const end = begin(name)
  if (end !== undefined) {
    args[args.length - 1] = observeCalls(callback as AnyFunction, (_, [error]) => void end(error ? { error } : {}))
  }
}

/** Follows what Node publishes when it is created, until it ends or sends its first message. */
function follow(name: string, field: string, label: string): () => void {
  const published = channel(name)
  const note = guard('asynchronous calls', (message: unknown) => {
    const end = begin(label)
    if (end === undefined) return
    const emitter = Object(message)[field]
    const stop = observeMethod(emitter, 'emit', (_, [event, value, signal]) => {
      if (event !== 'exit' && event !== 'error' && event !== 'message') return
      stop()
      const ending = event === 'exit' ? { exit: signal ?? value } : event === 'error' ? { error: value } : {}
      end({ ...ending, command: emitter.spawnargs })
    })
  })
  published.subscribe(note)
  return () => void published.unsubscribe(note)
}

/** Reports a call; `undefined` if nothing records it. */
function begin(name: string): AsyncCall['end'] {
  const call: AsyncCall = { name }
  asyncCalls.pass(call)
  return call.end
}
