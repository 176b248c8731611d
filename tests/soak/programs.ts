import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import type { Test } from 'tap'
import { defaultLimits } from '#bundles/profiler/store/profile-storage.ts'
import { findPort } from '#tests/support/find-port.ts'
import { startPostgres } from '#tests/support/start-postgres.ts'
import { startProcess } from '#tests/support/start-process.ts'
import { startRedis } from '#tests/support/start-redis.ts'
import { until } from '#tests/support/until.ts'
import { programSources } from './program-sources.ts'

/** How long five programs are started and killed in random order while clients use them. */
export interface ProgramOptions {
  readonly seed: number
  readonly seconds: number
  readonly print: (line: string) => void
}

const root = path.join(import.meta.dirname, '../../..')
const preload = path.join(root, 'dist/bin/exports/profile.js')

/** What a client has got: a response of a program, whose profile must be in the list. */
interface Answer {
  readonly name: string
  readonly token: string
  readonly time: number
  /** The profiles of its calls. */
  readonly called: readonly Called[]
}

/** The name of a program, and the token of its response. */
type Called = readonly [name: string, token: string]

/** Milliseconds before a process was killed in which its last profiles may not be written. */
const writeTime = 1000

/**
 * Bytes by which the heap of the viewer may grow in the second half, and those of a stored profile
 * in it: 1,050 were measured in ten minutes.
 */
const growthLimit = 6_000_000
const summarySize = 1_500

/** The part of its limit that a store has at least, when it removes profiles: it removes a segment at once. */
const fullStore = 0.9

/** Starts and kills the programs; returns complaints. The viewer and its live list go on all the time. */
export async function soakPrograms(t: Test, { print, seconds, seed }: ProgramOptions): Promise<string[]> {
  const random = createRandom(seed)
  const complaints: string[] = []
  const [postgres, redis] = await Promise.all([startPostgres(t), startRedis(t)])
  const names = Object.keys(programSources)
  const ports = new Map<string, number>()
  for (const name of names) ports.set(name, await findPort())
  const addresses = Object.fromEntries([...ports].map(([name, port]) => [name.toUpperCase(), String(port)]))
  const folder = t.testdir({ node_modules: {}, temporary: {} })
  const shared = { ...process.env, ...addresses, POSTGRES: `${postgres.port}`, REDIS: `${redis.port}` }
  const env = { ...shared, PROFILER_ALONE: '', PROFILER_PORT: '0', TMPDIR: path.join(folder, 'temporary') }
  const own = { APP_ENV: 'dev', APP_SECRET: 'only for the time of a soak, and long enough', LOG_LEVEL: 'critical' }
  for (const name of names) {
    mkdirSync(path.join(folder, 'apps', name, 'node_modules'), { recursive: true })
    writeFileSync(path.join(folder, 'apps', name, 'app.js'), String(programSources[name]))
    writeFileSync(path.join(folder, 'apps', name, 'package.json'), JSON.stringify({ name, type: 'module' }))
  }
  symlinkSync(root, path.join(folder, 'apps/rate/node_modules/sinfonietta'))

  const running = new Map<string, ChildProcess>()
  /** When a program was killed, or could lose its last profiles in another way. */
  const kills: { readonly name: string; readonly time: number }[] = []
  const start = (name: string) => {
    const isOwn = name === 'rate'
    const port = String(ports.get(name))
    const command = isOwn ? ['app.js', `--port=${port}`] : ['--import', preload, 'app.js']
    const child = startProcess(t, [process.execPath, ...command], {
      cwd: path.join(folder, 'apps', name),
      env: { ...env, PORT: port, ...(isOwn && own) },
      stdio: 'ignore',
    })
    running.set(name, child)
  }
  for (const name of names) start(name)
  const view = `process.on('SIGUSR2', () => {
  gc()
  console.log('heap', process.memoryUsage().heapUsed)
})
const { viewProfiles } = await import('${path.join(root, 'dist/bin/profiling/view.js')}')
process.exitCode = await viewProfiles([], process.env)`
  const viewer = startProcess(t, [process.execPath, '--expose-gc', '--input-type=module', '-e', view], {
    cwd: folder,
    env,
  })
  let output = ''
  viewer.stdout?.on('data', chunk => (output += chunk))
  await until(() => output.includes('\n'), 50)
  const [, address = ''] = /^Profiler: (http:\S+)\/_profiler\//.exec(output) ?? []
  print(`seed ${seed}: the pages are at ${address}/_profiler/`)
  const isUp = (name: string) =>
    fetch(`http://127.0.0.1:${ports.get(name)}/up`).then(
      () => true,
      () => false,
    )
  for (const name of names) await until(() => isUp(name), 100)

  let isOver = false
  let events = ''
  const reloads: number[] = []
  const liveEnd = new AbortController()
  const stream = await fetch(`${address}/_profiler/live?limit=100`, { signal: liveEnd.signal })
  const follow = async () => {
    for await (const chunk of stream.body ?? []) {
      const text = new TextDecoder().decode(chunk)
      // With too many at once, the client reads the list again.
      if (text.includes('event: reload')) reloads.push(Date.now())
      events += text
    }
  }
  const followed = follow().catch(error => {
    if (!isOver) complaints.push(`The live list has ended: ${error}`)
  })

  const answers: Answer[] = []
  let refused = 0
  const work = async () => {
    while (!isOver) {
      const response = await fetch(`http://127.0.0.1:${ports.get('shop')}/order/${random(1, 999)}`).catch(
        () => undefined,
      )
      const called: unknown = await response?.json().catch(() => undefined)
      const token = response?.headers.get('x-debug-token')
      if (Array.isArray(called) && token) {
        const time = Date.now()
        answers.push({ name: 'shop', token, time, called })
        for (const [name, token] of called as readonly Called[]) answers.push({ name, token, time, called: [] })
      } else refused++
      await wait(100 + random(0, 200))
    }
  }
  const heaps: number[] = []
  viewer.stdout?.on('data', chunk =>
    heaps.push(...[...`${chunk}`.matchAll(/heap (\d+)/g)].map(([, bytes]) => Number(bytes))),
  )
  const watch = async () => {
    while (!isOver) {
      viewer.kill('SIGUSR2')
      await (await fetch(`${address}/_profiler/empty/search/results?limit=25`)).text()
      await wait(1000)
    }
  }
  const restart = async () => {
    while (!isOver) {
      await wait(500 + random(0, 2500))
      const name = names[random(0, names.length - 1)] ?? ''
      const child = running.get(name)
      const signal = random(0, 1) === 0 ? 'SIGKILL' : 'SIGTERM'
      const ended = child?.exitCode === null && child.signalCode === null ? once(child, 'exit') : undefined
      child?.kill(signal)
      await ended
      kills.push({ name, time: Date.now() })
      await wait(random(0, 1000))
      start(name)
      await until(() => isUp(name), 100)
    }
  }
  const clients = [work(), work(), work(), watch(), restart()]
  const begun = Date.now()
  while (Date.now() - begun < seconds * 1000) {
    await wait(Math.min(30_000, seconds * 1000))
    print(
      `${Math.round((Date.now() - begun) / 1000)} s: ${answers.length} answers, ${refused} refused, ${kills.length} restarts, heap ${heaps.at(-1)} bytes`,
    )
  }
  isOver = true
  await Promise.all(clients)
  await wait(writeTime)

  const found = await readList(address)
  const isKilledAt = ({ name, time }: Answer) =>
    kills.some(kill => kill.name === name && kill.time >= time - writeTime && kill.time <= time + writeTime)
  const kept = answers.filter(answer => !isKilledAt(answer))
  // A full store removes its oldest profiles.
  const stored = (name: string) => [...found.values()].filter(each => each.program === name)
  const removedBefore = new Map(
    names.map(name => {
      const times = stored(name).map(({ time }) => time)
      return [name, times.length < fullStore * defaultLimits.count ? 0 : Math.min(...times)]
    }),
  )
  const isRemoved = ({ name, time }: Answer) => time < Number(removedBefore.get(name))
  const lost = kept.filter(answer => !found.has(answer.token) && !isRemoved(answer))
  if (lost.length > 0)
    complaints.push(`${lost.length} of ${kept.length} answers are not in the list: ${JSON.stringify(lost.slice(0, 5))}`)
  const isReloaded = ({ time }: Answer) => reloads.some(each => each >= time - writeTime && each <= time + writeTime)
  const unseen = kept.filter(answer => !events.includes(answer.token) && !isReloaded(answer))
  if (unseen.length > 0)
    complaints.push(
      `${unseen.length} of ${kept.length} answers are not in the live list: ${JSON.stringify(unseen.slice(0, 5))}`,
    )
  let links = 0
  const callers = kept.filter(({ called }) => called.length > 0)
  const sampled = callers.filter((_, index) => index % Math.ceil(callers.length / 100) === 0)
  for (const { called: sent, token } of sampled) {
    const called = sent.map(([, token]) => token)
    const page = await (await fetch(`${address}/_profiler/${token}?panel=http`)).text()
    const linked = [...page.matchAll(/ in <a[^>]* href="\/_profiler\/([0-9a-f]+)"/g)].map(([, other = '']) => other)
    links += linked.length
    const wrong = linked.filter(other => !called.some(sent => other.endsWith(sent)))
    if (wrong.length > 0) complaints.push(`The profile ${token} links to ${wrong}, and has called ${called}.`)
    const missing = called.filter(sent => found.has(sent) && !linked.some(other => other.endsWith(sent)))
    if (missing.length > 0) complaints.push(`The profile ${token} has no link to ${missing}.`)
  }
  const [before = 0, after = 0] = [heaps[Math.floor(heaps.length / 2)], heaps.at(-1)]
  // It has the summaries of all stored profiles, up to the limits of the stores.
  const expected = (found.size / 2) * summarySize + growthLimit
  if (after - before > expected) complaints.push(`The viewer grows: ${before} → ${after} bytes.`)
  const programs = names.map(name => `${name} (${stored(name).length})`).join(', ')
  print(
    `${kept.length} answers, ${found.size} profiles of ${programs}, ${links} links of ${sampled.length} profiles, heap ${before} → ${after} bytes`,
  )
  for (const complaint of complaints) print(complaint)
  liveEnd.abort()
  await followed
  for (const child of [...running.values(), viewer]) child.kill('SIGKILL')
  return complaints
}

/** Creates a linear congruential generator: whole numbers within bounds, the same for each seed. */
function createRandom(seed: number): (least: number, most: number) => number {
  let state = seed >>> 0
  return (least, most) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return least + Math.floor((state / 2 ** 32) * (most - least + 1))
  }
}

/** What the list says of a profile; the time is in milliseconds since 1970. */
interface Listed {
  readonly program: string
  readonly time: number
}

/** Reads the list of all profiles, by their tokens. */
async function readList(address: string): Promise<Map<string, Listed>> {
  const found = new Map<string, Listed>()
  for (let page = 1; ; page++) {
    const response = await fetch(`${address}/_profiler/search.json?limit=100&page=${page}`)
    const { records } = (await response.json()) as { records: { summary: Listed & { token: string } }[] }
    for (const { summary } of records) found.set(summary.token, summary)
    if (records.length === 0 || found.size < (page - 1) * 100) return found
  }
}
