import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { Redis } from 'ioredis'
import { RedisProfileStorage } from '../../dist/bundles/profiler/store/redis/redis-profile-storage.js'
import { within } from '../report.js'
import { createProfile, facts, queries } from './profile-store.js'

/** @typedef {import('../report.js').Claim} Claim */

/**
 * Searching among 100,000 profiles in Redis, by a process that has read the list once; the time
 * until the result is there.
 *
 * @type {Claim}
 */
export const redisSearch = {
  title: 'Searching 100,000 profiles in Redis',
  unit: 'ms',
  comparisons: [
    within('newest 50 / 3 ms', 'newest 50', 3),
    within('a text that is nowhere / 50 ms', 'a text that is nowhere', 50),
    within('three conditions / 50 ms', 'three conditions', 50),
    within('the longest command / 5 ms', 'the longest command of the server', 5),
  ],
  async measure({ rounds }) {
    const { client, end, url } = await startFilled(100_000)
    const searches = { ...queries, 'newest 50': { limit: 50 } }
    const measured = new Map(
      [...Object.keys(searches), 'the first search of a process', 'the longest command of the server'].map(name => [
        name,
        /** @type {number[]} */ ([]),
      ]),
    )
    await client.slowlog('RESET')
    await client.config('SET', 'slowlog-log-slower-than', '0', 'slowlog-max-len', '20000')
    for (let round = 0; round < rounds; round++) {
      const storage = createStorage(url)
      const first = performance.now()
      await storage.load()
      measured.get('the first search of a process')?.push(performance.now() - first)
      for (const [name, query] of Object.entries(searches)) {
        await storage.search(query)
        const begin = performance.now()
        for (let turn = 0; turn < 20; turn++) await storage.search(query)
        measured.get(name)?.push((performance.now() - begin) / 20)
      }
      // Writing, pinning and removing, too.
      for (let number = 0; number < 500; number++) append(storage, 200_000 + number)
      await storage.flush()
      await storage.pin('030d40', round % 2 === 0)
      await storage.close()
      const log = /** @type {[number, number, number, string[]][]} */ (await client.slowlog('GET', 20_000))
      await client.slowlog('RESET')
      const own = log.filter(([, , , [command = '']]) => command.startsWith('EVAL'))
      measured.get('the longest command of the server')?.push(Math.max(...own.map(([, , time]) => time)) / 1000)
    }
    await end()
    return measured
  },
}

/**
 * What a profile takes up in Redis.
 *
 * @type {Claim}
 */
export const redisBytes = {
  title: 'The memory of Redis for a profile of 4 kB',
  unit: 'bytes/profile',
  comparisons: [],
  async measure({ rounds }) {
    const count = 10_000
    const { before, client, end } = await startFilled(count)
    const used = (await readMemory(client)) - before
    await end()
    const one = Buffer.byteLength(JSON.stringify(createProfile(1)))
    const values = { 'all of it': used / count, 'the profile itself': one }
    return new Map(Object.entries(values).map(([name, value]) => [name, Array(rounds).fill(value)]))
  },
}

/** @param {string} url */
function createStorage(url) {
  return new RedisProfileStorage({
    url,
    limits: { count: 150_000, bytes: 2e9 },
    onProblem: (message, error) => console.log(message, error),
    onRecovery: console.log,
  })
}

/**
 * @param {RedisProfileStorage} storage
 * @param {number} number
 */
function append(storage, number) {
  const profile = createProfile(number)
  storage.append({ summary: profile.summary, text: JSON.stringify(profile) }, facts)
}

/** @param {Redis} client */
async function readMemory(client) {
  return Number(/used_memory:(\d+)/.exec(await client.info('memory'))?.[1])
}

/** @param {number} count */
async function startFilled(count) {
  const finder = createServer().listen(0, '127.0.0.1')
  await once(finder, 'listening')
  const { port } = /** @type {import('node:net').AddressInfo} */ (finder.address())
  finder.close()
  await once(finder, 'close')
  const args = ['--bind', '127.0.0.1', '--port', String(port), '--save', '', '--appendonly', 'no']
  const server = spawn('redis-server', args, { stdio: 'ignore' })
  const client = new Redis({ port, host: '127.0.0.1', maxRetriesPerRequest: null })
  client.on('error', () => undefined)
  const before = await readMemory(client)
  const url = `redis://127.0.0.1:${port}`
  const storage = createStorage(url)
  for (let number = 0; number < count; number++) {
    append(storage, number)
    if (number % 1000 === 999) await storage.flush()
  }
  await storage.close()
  const end = async () => {
    client.disconnect()
    server.kill('SIGKILL')
    await once(server, 'exit')
  }
  return { before, client, end, url }
}
