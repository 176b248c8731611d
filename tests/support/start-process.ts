import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Writable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import type { Test } from 'tap'

/** Options of a process. By default its output is piped, and it has no input. */
export interface ProcessOptions extends SpawnOptions {
  /**
   * For a server with clients: the signal that ends it, in the order of the teardowns of the test.
   * Its clients are closed before it, and its folder is removed by an earlier teardown. By default
   * the process is killed before all teardowns.
   */
  readonly stop?: NodeJS.Signals
}

/** How a command has ended: its exit code, or the signal that has ended it. */
export interface Ran {
  readonly code: number | NodeJS.Signals | null
  readonly stdout: string
  readonly stderr: string
}

/**
 * Options of Node for programs of tests: V8 optimizes only what runs very often. Most functions of a test run too few
 * times to repay that (decision 298, docs/decisions/project.md). Later versions than Node 20 do not have it.
 */
export const fewOptimizations = process.version.startsWith('v20.') ? ['--interrupt-budget=1000000'] : []

/** Milliseconds for a signal to end a process, and for a command to end. */
const stopTime = 10_000
const longestRun = 300_000

/**
 * Starts a program in a process group of its own: all tests start their processes here. The group is ended with the
 * test, before the folder of `t.testdir()` is removed. It is also ended when the program that runs the tests is killed.
 */
export function startProcess(t: Test, command: readonly string[], options: ProcessOptions = {}): ChildProcess {
  const { stop, ...rest } = options
  const [program = '', ...parameters] = command
  // The programs of a test are not in the list of this user's programs.
  const env = { PROFILER_ALONE: '1', ...(rest.env ?? process.env) }
  const child = spawn(program, parameters, { stdio: ['ignore', 'pipe', 'pipe'], ...rest, env, detached: true })
  // It is undefined if the program could not be started, which the event "error" reports.
  const group = child.pid
  if (group === undefined) return child
  guard('+', group)
  const closed = [child.stdout, child.stderr].flatMap(stream => (stream === null ? [] : [once(stream, 'close')]))
  const exited = once(child, 'exit')
  const ended = Promise.all([exited, ...closed])
  let isGone = false
  child.once('exit', () => {
    // The system may give the number of an empty group to another process.
    isGone = isEmpty(group)
    if (isGone) guard('-', group)
  })
  const end = async () => {
    if (isGone) return
    if (stop !== undefined && child.kill(stop)) await Promise.race([exited, delay(stopTime, undefined, { ref: false })])
    signalGroup(group, 'SIGKILL')
    // A test may have paused them.
    child.stdout?.resume()
    child.stderr?.resume()
    await ended
    guard('-', group)
  }
  if (stop === undefined) endFirst(t, end)
  else t.teardown(end)
  return child
}

/** Runs a command, and waits for its end. @throws with its output if it has not ended after five minutes */
export async function runProcess(t: Test, command: readonly string[], options: ProcessOptions = {}): Promise<Ran> {
  const child = startProcess(t, command, options)
  const printed = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const) {
    child[name]?.setEncoding('utf8').on('data', text => (printed[name] += text))
  }
  const timer = new AbortController()
  const limit = delay(longestRun, undefined, { signal: timer.signal }).then(
    () => {
      const output = printed.stdout + printed.stderr
      throw new Error(`"${command.join(' ')}" has not ended after ${longestRun / 1000} s; its output: ${output}`)
    },
    () => undefined,
  )
  await Promise.race([once(child, 'close'), limit])
  timer.abort()
  return { code: child.exitCode ?? child.signalCode, ...printed }
}

/** A command without the variables that tap sets: it has these, those of a user, and the certificates. */
export function withVariables(variables: Readonly<Record<string, string>>, ...words: readonly string[]): string[] {
  const { HOME = '', NODE_EXTRA_CA_CERTS = '', PATH = '' } = process.env
  const all = Object.entries({ HOME, NODE_EXTRA_CA_CERTS, PATH, ...variables })
  return ['env', '-i', ...all.map(([name, value]) => `${name}=${value}`), ...words]
}

/** Sends a signal to all processes of a group, as a terminal does for Ctrl-C. */
export function signalGroup(group: number, signal: NodeJS.Signals): void {
  if (!isEmpty(group)) process.kill(-group, signal)
}

/**
 * Calls a function at the end of a test, before its teardowns and before the folder of
 * `t.testdir()` is removed. After the removal, where a teardown is called if the folder is older,
 * a process that still writes would make the removal fail, and with it all teardowns.
 */
export function endFirst(t: Test, end: () => Promise<unknown>): void {
  const { onEOF } = t
  t.onEOF = async () => {
    try {
      await end()
    } finally {
      await onEOF.call(t)
    }
  }
}

function isEmpty(group: number): boolean {
  try {
    return !process.kill(-group, 0)
  } catch {
    return true
  }
}

/** Kills the groups on its list when its input ends, which is when this program has ended, in whatever way. */
const guardScript = `
groups=' '
while read -r sign group; do
  case $sign in
    +) groups="$groups$group " ;;
    -) case $groups in *" $group "*) groups="\${groups%% $group *} \${groups#* $group }" ;; esac ;;
  esac
done
for group in $groups; do kill -KILL "-$group"; done`

let list: Writable | undefined
const groups = new Set<number>()

/** Adds a group to the list of the guard, or removes it. */
function guard(sign: '+' | '-', group: number): void {
  list ??= startGuard()
  list.write(`${sign} ${group}\n`)
  if (sign === '+') groups.add(group)
  else groups.delete(group)
}

function startGuard(): Writable {
  // At an exit, before the folders of failed tests are removed. The guard is for a program that is killed.
  process.prependListener('exit', () => {
    for (const group of groups) signalGroup(group, 'SIGKILL')
  })
  const child = spawn('sh', ['-c', guardScript], { stdio: ['pipe', 'ignore', 'ignore'], detached: true })
  child.unref()
  // The pipe to a child is a socket, although its type does not say so.
  const { stdin } = child as typeof child & { stdin: { unref(): void } }
  stdin.unref()
  return stdin
}
