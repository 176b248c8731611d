import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import type { Test } from 'tap'
import { createRecords, facts, tokensOf } from '#tests/support/create-profile.ts'
import { runProcess, startProcess } from '#tests/support/start-process.ts'
import { createDirectory, createFileStorage } from './file-storage.ts'

const script = (name: string): string => path.join(import.meta.dirname, name)

/** A process that writes profiles. */
export interface Writer {
  readonly child: ChildProcess
  /** Resolves with its exit code, or with the signal that has ended it. */
  readonly ended: Promise<unknown>
  /** The tokens of the profiles that it has reported as stored. */
  printed(): string[]
}

/** Starts a process that writes; it is killed when the test ends. */
export function startWriter(t: Test, directory: string, ...rest: (string | number)[]): Writer {
  const parameters = [directory, ...rest].map(String)
  const command = [process.execPath, script('writer-process.js'), ...parameters]
  const child = startProcess(t, command, { stdio: ['ignore', 'pipe', 'inherit'] })
  let printed = ''
  child.stdout?.on('data', chunk => {
    printed += chunk
  })
  // A last line that was cut does not count.
  return { child, ended: ended(child), printed: () => printed.split('\n').slice(0, -1) }
}

async function ended(child: ChildProcess): Promise<unknown> {
  await once(child, 'close')
  return child.exitCode ?? child.signalCode
}

/** Kills processes at full load, by default five in each round. Every profile that they have reported is stored. */
export async function killWriters(t: Test, rounds: number, count = 5): Promise<void> {
  let acknowledged = 0
  for (let round = 0; round < rounds; round++) {
    const directory = path.join(createDirectory(t), 'profiler')
    const writers = Array.from({ length: count }, (_, number) =>
      startWriter(t, directory, number * 10_000, 1_000_000, 20),
    )
    for (const { child } of writers) {
      child.stdout?.once('data', () => setTimeout(() => child.kill('SIGKILL'), Math.random() * 20))
    }
    t.strictSame(await Promise.all(writers.map(({ ended }) => ended)), Array(count).fill('SIGKILL'))

    const { storage } = createFileStorage(t, { directory, limits: { count: 1_000_000 } })
    // A search on a busy machine lists the profiles that are known after two seconds.
    await storage.load()
    const { summaries, total } = await storage.search({ limit: 1_000_000 })
    const listed = new Set(tokensOf({ summaries }))
    const printed = writers.flatMap(({ printed }) => printed())
    const missing = printed.filter(token => !listed.has(token))
    for (const token of printed.filter((_, index) => index % 50 === 0)) {
      if ((await storage.find(token)) === undefined) missing.push(token)
    }
    t.strictSame(missing, [])
    for (const record of createRecords(10, 0xf00000)) storage.append(record, facts)
    await storage.flush()
    t.equal((await storage.search({ limit: 1 })).total, total + 10)
    acknowledged += printed.length
  }
  t.ok(acknowledged >= 20 * count * rounds)
}

/** What a process on a disk with a fault has printed. */
interface FaultResult {
  readonly dropped: number
  readonly profiles: number
  readonly segments: number
  readonly indexes: number
  readonly isConsistent: boolean
  readonly isRecovered: boolean
  readonly problems: readonly string[]
}

/** Runs the other script, after shell commands that prepare its disk. */
export async function runFault(
  t: Test,
  scenario: string,
  commands: string,
  program: readonly string[] = [],
): Promise<FaultResult> {
  const directory = createDirectory(t)
  const run = `${commands}; exec "$NODE" ${script('fault-process.js')} "$ROOT" ${scenario}`
  const { code, stderr, stdout } = await runProcess(t, [...program, 'sh', '-ec', run], {
    env: { ...process.env, NODE: process.execPath, ROOT: directory },
  })
  t.equal(code, 0, stderr)
  return JSON.parse(stdout)
}
