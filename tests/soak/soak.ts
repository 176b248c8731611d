import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { clients, type Visit } from './clients.ts'
import type { Usage } from './site.ts'
import { attack } from './slowloris.ts'

/** How long a site is soaked, and by how many slow clients it is attacked in the end. */
export interface SoakOptions {
  readonly environment: 'dev' | 'prod'
  readonly seconds: number
  readonly slowSockets: number
  readonly print: (line: string) => void
}

const mebibyte = 2 ** 20

/** What may be more after the load than at its beginning. */
const heapLimit = 6 * mebibyte
const descriptorLimit = 4

/** Milliseconds that a visit may take. */
const patience = 60_000

/** Milliseconds in which the connections of a round are closed on both ends. */
const quietTime = 700

/** Samples after the load. */
const quietSamples = 5

/** A shorter soak does not compare what the site uses: at first it loads, compiles and caches. */
const leastRounds = 9

/** Runs a soak test on a new site; returns complaints. */
export async function soak({ environment, seconds, slowSockets, print }: SoakOptions): Promise<string[]> {
  const { child, port } = await startSite(environment)
  const complaints: string[] = []
  const wrong: string[] = []
  const visits = new Map<string, number>()
  let isAlive = true
  child.once('exit', (code, signal) => {
    isAlive = false
    complaints.push(`The site has ended (${signal ?? code}).`)
  })

  /** All clients at once for some milliseconds, and each to the end of its visit. */
  async function runRound(time: number): Promise<void> {
    const end = performance.now() + time
    const work = async (name: string, visit: Visit) => {
      while (isAlive && performance.now() < end) {
        const complaint = await Promise.race([
          visit(port).catch(error => `${name}: ${error.cause ?? error}`),
          wait(patience, `${name}: it has taken too long`, { ref: false }),
        ])
        if (complaint !== undefined) wrong.push(complaint)
        visits.set(name, (visits.get(name) ?? 0) + 1)
        await wait(1 + Math.random() * 10)
      }
    }
    await Promise.all(clients.flatMap(([name, visit, count]) => Array.from({ length: count }, () => work(name, visit))))
    await wait(quietTime)
  }

  const usages: Usage[] = []
  const roundTime = Math.max(1_500, (seconds * 1000) / 60)
  const rounds = Math.max(1, Math.round((seconds * 1000) / (roundTime + quietTime)))
  for (let round = 1; round <= rounds && isAlive; round++) {
    await runRound(roundTime)
    const usage = await readUsage(port).catch(() => undefined)
    if (usage === undefined) continue
    usages.push(usage)
    print(`${environment} ${round}/${rounds}  ${describe(usage)}, ${sum(visits)} visits, ${wrong.length} wrong`)
  }
  const first = usages.slice(Math.ceil(rounds / 3), Math.ceil((2 * rounds) / 3))
  const last: Usage[] = []
  while (rounds >= leastRounds && isAlive && last.length < quietSamples) {
    await wait(quietTime)
    last.push(await readUsage(port))
  }
  if (last.length > 0) {
    const growths = findGrowth(first, last)
    print(`${environment}: ${growths.map(({ text }) => text).join(', ')}`)
    complaints.push(...growths.filter(({ isTooMuch }) => isTooMuch).map(({ text }) => `It grows: ${text}.`))
  }
  if (wrong.length > 0) complaints.push(`${wrong.length} wrong answers:`, ...wrong.slice(0, 20))

  if (slowSockets > 0 && isAlive) {
    const before = await readUsage(port)
    const { left, slowAnswer, slowestAnswer } = await attack(port, slowSockets)
    const after = await readUsage(port)
    print(
      `${environment} slowloris  ${slowSockets} sockets, ${left} left, slowest answer ${slowestAnswer.toFixed(0)} ms, ` +
        `RSS ${toMebibytes(before.resident)} → ${toMebibytes(after.resident)}`,
    )
    if (left > 0) complaints.push(`${left} of ${slowSockets} slow clients were not cut off.`)
    // A single one may be late because of what else the machine does.
    if (slowAnswer > 1_000) complaints.push(`Good requests took ${slowAnswer.toFixed(0)} ms during the attack.`)
    // Some ten kilobytes for each connection, which the allocator may keep.
    const residentLimit = 64 * mebibyte + slowSockets * 30_000
    if (after.resident - before.resident > residentLimit) complaints.push('The attack has taken too much memory.')
  }
  print(`${environment}: ${[...visits].map(([name, count]) => `${count} ${name}`).join(', ')}`)
  child.removeAllListeners('exit')
  if (isAlive) complaints.push(...(await stop(child)))
  return complaints.map(complaint => `${environment}: ${complaint}`)
}

/** How much a site uses, and whether that is too much. */
export interface Growth {
  readonly text: string
  readonly isTooMuch: boolean
}

/**
 * Compares the least that a site used during the load with the least after it. A single sample may
 * be high: it counts connections that are about to close.
 */
export function findGrowth(first: readonly Usage[], last: readonly Usage[]): Growth[] {
  const compare = (name: string, limit: number, toText: (value: number) => string, read: (usage: Usage) => number) => {
    const [before, after] = [Math.min(...first.map(read)), Math.min(...last.map(read))]
    return { text: `${name} ${toText(before)} → ${toText(after)}`, isTooMuch: after - before > limit }
  }
  return [
    compare('heap', heapLimit, toMebibytes, ({ heap }) => heap),
    compare('file descriptors', descriptorLimit, String, ({ descriptors }) => descriptors),
  ]
}

async function startSite(environment: string): Promise<{ child: ChildProcess; port: number }> {
  const program = path.join(import.meta.dirname, 'site.js')
  const command = ['--expose-gc', '--enable-source-maps', program]
  const variables = {
    APP_ENV: environment,
    APP_SECRET: 'only for the time of a soak, and long enough',
    LOG_LEVEL: 'critical',
  }
  const child = spawn(process.execPath, command, {
    env: { ...process.env, ...variables },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  const ready = new Promise<number>((resolve, reject) => {
    const onOutput = (chunk: Buffer) => {
      if (output.length < 10_000) output += chunk
      const [, port] = /Sinfonietta serves \S+:(\d+)/.exec(output) ?? []
      if (port !== undefined) resolve(Number(port))
    }
    child.stdout.on('data', onOutput)
    child.stderr.on('data', onOutput)
    child.on('exit', () => reject(new Error(`The site does not start: ${output}`)))
  })
  return { child, port: await ready }
}

/** It ends in order, at once: nothing is under way. */
async function stop(child: ChildProcess): Promise<string[]> {
  const ended = once(child, 'exit')
  child.kill('SIGTERM')
  const timer = setTimeout(() => child.kill('SIGKILL'), 15_000)
  const [code, signal] = await ended
  clearTimeout(timer)
  return code === 0 ? [] : [`The site has not ended well (${signal ?? code}).`]
}

async function readUsage(port: number): Promise<Usage> {
  const response = await fetch(`http://127.0.0.1:${port}/usage`, { headers: { connection: 'close' } })
  return (await response.json()) as Usage
}

function describe({ delay, descriptors, heap, resident }: Usage): string {
  return `heap ${toMebibytes(heap)}, RSS ${toMebibytes(resident)}, ${descriptors} fds, loop late by ${delay.usual.toFixed(0)} ms (99 %), ${delay.longest.toFixed(0)} ms (at most)`
}

function toMebibytes(bytes: number): string {
  return `${(bytes / mebibyte).toFixed(1)} MiB`
}

function sum(visits: ReadonlyMap<string, number>): number {
  return [...visits.values()].reduce((total, count) => total + count, 0)
}
