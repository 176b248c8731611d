import { once } from 'node:events'
import { mock } from 'node:test'
import { setTimeout as nextTimers } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { type Test, t } from 'tap'
import { loadRedis, RedisConnection } from '#lib/redis/redis-connection.ts'
import { readSessionScript } from '#lib/session/redis-session-store.ts'
import { startFakeRedis } from '#tests/support/fake-redis.ts'
import { muteWarnings } from '#tests/support/mute-warnings.ts'
import { until } from '#tests/support/until.ts'

const timeout = 1000

/** Stops the timers of the connection and of its client, not those of Node itself. */
function stopTime(t: Test): void {
  muteWarnings(t, 'ExperimentalWarning')
  mock.timers.enable({ apis: ['setTimeout'] })
  t.teardown(() => mock.timers.reset())
}

/** Opens a connection, which ends with the test. */
function open(t: Test, url: string, load: () => Promise<object> = loadRedis) {
  const outages: string[] = []
  const onOutage = ({ message }: Error) => void outages.push(message)
  const connection = new RedisConnection({ url, timeout, load, onOutage, onRecovery: () => undefined })
  t.teardown(() => connection.close())
  return { outages, run: () => connection.run(readSessionScript, ['tests:'], ['name']) }
}

/** The numbers that the server in a thread shares. */
const connections = 0
const answers = 1

const program = String.raw`
  const { createServer } = require('node:net')
  const { parentPort, workerData: counts } = require('node:worker_threads')
  const count = index => {
    Atomics.add(counts, index, 1)
    Atomics.notify(counts, index)
  }
  const server = createServer(socket => {
    count(${connections})
    socket.on('data', bytes => {
      socket.write(/info/i.test(bytes) ? '$9\r\nloading:0\r\n' : ':7\r\n')
      count(${answers})
    })
    socket.on('error', () => undefined)
  })
  server.listen(0, '127.0.0.1', () => parentPort.postMessage(server.address().port))
`

/**
 * Starts a server that answers while the thread of the test is busy. `block` makes it busy until
 * the server has counted once more.
 */
async function startThread(t: Test) {
  const counts = new Int32Array(new SharedArrayBuffer(8))
  const worker = new Worker(program, { eval: true, workerData: counts, execArgv: [] })
  t.teardown(() => worker.terminate())
  const [port] = await once(worker, 'message')
  const block = (index: number) => {
    const before = Atomics.load(counts, index)
    return () => t.not(Atomics.wait(counts, index, before, 60_000), 'timed-out', 'the server has counted')
  }
  return { block, counts, url: `redis://127.0.0.1:${port}` }
}

t.test('a process that was busy for longer than all time limits has its answer, and keeps its connection', async t => {
  const { block, counts, url } = await startThread(t)
  const { outages, run } = open(t, url)
  t.equal(await run(), 7)
  stopTime(t)
  // The timers of Node are called here, and then what has arrived is read.
  await nextTimers(1)
  const isAnswered = block(answers)
  const answer = run()
  // Then the command is sent, and its answer not read.
  await new Promise(process.nextTick)
  isAnswered()
  mock.timers.tick(10 * timeout)
  t.equal(await answer, 7)
  mock.timers.tick(10 * timeout)
  t.equal(await run(), 7)
  t.strictSame([counts[connections], outages], [1, []])
})

t.test('a connection that has opened while the process was busy is used', async t => {
  const { block, counts, url } = await startThread(t)
  const isConnected = block(connections)
  stopTime(t)
  const load = async () => {
    const redis = await loadRedis()
    setImmediate(() => {
      isConnected()
      mock.timers.tick(10 * timeout)
    })
    return redis
  }
  const { outages, run } = open(t, url, load)
  t.equal(await run(), 7)
  t.strictSame([counts[connections], outages], [1, []])
})

t.test('a server that accepts a connection and is silent gets another one later', async t => {
  const fake = await startFakeRedis(t)
  fake.isSilent = true
  stopTime(t)
  const { outages, run } = open(t, fake.url)
  const outcomes: unknown[] = []
  void run().catch(({ message }) => outcomes.push(message))
  await until(() => {
    mock.timers.tick(timeout / 10)
    return outcomes.length === 1
  })
  t.strictSame(outcomes, ['There is no connection to Redis.'], 'the first command does not wait for ever')
  t.strictSame(outages, ['The connection to Redis has not opened in time.'])
  fake.isSilent = false
  await until(() => {
    mock.timers.tick(timeout / 10)
    return run().then(
      () => true,
      () => false,
    )
  })
})
