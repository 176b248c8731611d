import asyncHooks from 'node:async_hooks'
import { readFileSync, rmSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { isMainThread } from 'node:worker_threads'
import type { Test } from 'tap'
import { fewOptimizations } from './start-process.ts'

/** Milliseconds that a failed test has for each teardown, and a program with a failed test after its last test. */
const limit = Number(process.env.END_LIMIT ?? 10_000)

/**
 * Ends a program of tests after a failure: what a failed test leaves open, such as a connection,
 * would keep a teardown or the process waiting until the limit of tap, ten minutes. The program
 * names what is open. `bin/test` loads this file before each program of tests.
 */
function endAfterFailure(root: Test): void {
  let running = 0
  const tests: Test[] = []
  const endProgram = async () => {
    const { length } = tests
    // Without an open resource, this timer does not keep the process alive.
    await delay(limit, undefined, { ref: false })
    if (running > 0 || tests.length > length || root.passing()) return
    process.stderr.write(`The tests have ended, but not their process: ${describeOpen()}.\n`)
    root.end()
    await delay(100)
    process.exit(1)
  }
  root.beforeEach(test => {
    running++
    tests.push(test)
    const { teardown } = test
    test.teardown = (end: () => unknown) =>
      teardown(() => {
        const ended = end()
        return ended instanceof Promise ? endWithin(test, ended) : ended
      })
  })
  root.afterEach(() => {
    if (--running === 0) void endProgram()
  })
  process.on('exit', () => {
    // Writes that have begun end in other threads, on a busy machine some time later. They can create a folder again.
    if (!root.passing()) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 500)
    // Work that a test has left still wrote while tap removed its folder.
    for (const { saveFixture, testdirName } of [root, ...tests]) {
      if (!saveFixture) rmSync(testdirName, { recursive: true, force: true, maxRetries: 5 })
    }
  })
}

/** The end of a teardown; for a failed test at most the limit, so that the next teardown is called. */
async function endWithin(test: Test, end: Promise<unknown>): Promise<void> {
  const timer = new AbortController()
  const expired = delay(limit, true, { signal: timer.signal }).catch(() => false)
  const wait = async () => {
    if (!(await expired) || test.passing()) await end
    else process.stderr.write(`A teardown of the test "${test.name}" has not ended: ${describeOpen()}.\n`)
  }
  try {
    await Promise.race([end, wait()])
  } finally {
    timer.abort()
  }
}

/** The open resources of the process, such as `TCPSocketWrap, 3 Timeout`. */
function describeOpen(): string {
  const counts = new Map<string, number>()
  for (const name of process.getActiveResourcesInfo()) counts.set(name, (counts.get(name) ?? 0) + 1)
  return Array.from(counts, ([name, count]) => (count === 1 ? name : `${count} ${name}`)).join(', ')
}

/**
 * Prints the CPU-seconds of this program and of all processes that it has started and waited for,
 * as a comment of TAP. Only Linux says them.
 */
function printCpuTime(program: string): void {
  try {
    // The name of the program, which comes before these numbers, is in parentheses. The times are
    // in hundredths of a second.
    const numbers = readFileSync('/proc/self/stat', 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ')
    const seconds = numbers.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) / 100
    process.stdout.write(`# ${seconds.toFixed(1).padStart(5)} CPU-seconds: ${program}\n`)
  } catch {
    // Another system.
  }
}

/** What sends the requests of `fetch`. Once it is closed, it sends those that it has, and ends its connections. */
interface Agent {
  dispatch(this: Agent, options: object, handler: object): boolean
  close(): Promise<void>
}

/**
 * Gives each request of `fetch` a connection of its own. A server closes an idle connection after some seconds. A busy
 * machine may pause the server, or this program, until that time: then the next request fails.
 */
function keepNoConnections(): void {
  // Node loads undici, and makes its dispatcher, with the first use.
  void new globalThis.Response()
  for (const version of [1, 2]) {
    const dispatcher: object | undefined = Reflect.get(globalThis, Symbol.for(`undici.globalDispatcher.${version}`))
    if (dispatcher === undefined) continue
    const Agent = dispatcher.constructor as { new (): Agent; readonly prototype: Agent }
    const { dispatch } = Agent.prototype
    Agent.prototype.dispatch = (options: object, handler: object) => {
      const agent = new Agent()
      const isSent = dispatch.call(agent, options, handler)
      void agent.close()
      return isSent
    }
  }
}

/**
 * Loads tap without its hook, which follows each promise of the process, to name the test of an error that nothing
 * catches (decision 333, docs/decisions/project.md). Without it, Node prints such an error, and ends the program.
 */
async function loadTap(): Promise<Test> {
  const { createHook } = asyncHooks
  asyncHooks.createHook = () => createHook({})
  syncBuiltinESMExports()
  const { t } = await import('tap')
  asyncHooks.createHook = createHook
  syncBuiltinESMExports()
  return t
}

const program = process.argv[1]
if (isMainThread && program?.endsWith('.test.js')) {
  for (const flag of fewOptimizations) setFlagsFromString(flag)
  endAfterFailure(await loadTap())
  keepNoConnections()
  process.on('exit', () => printCpuTime(path.relative(path.join(import.meta.dirname, '..'), program)))
}
