import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { type Test, t } from 'tap'
import { lacksRedis, startRedis } from '#tests/support/start-redis.ts'
import { redisCases } from './redis-cases.ts'
import { createRedisStorage } from './redis-storage.ts'
import { storageCases } from './storage-cases.ts'

async function testCases(t: Test, url: string, empty: () => void): Promise<void> {
  for (const [number, [claim, testCase]] of Object.entries(storageCases).entries()) {
    await t.test(claim, async t => {
      empty()
      const { problems, storage } = createRedisStorage(t, { url, prefix: `case${number}:` })
      await testCase(t, () => storage)
      const expected = claim.startsWith('a listener') ? ['A listener to new profiles has failed.'] : []
      t.strictSame(
        problems.map(({ message }) => message),
        expected,
      )
    })
  }
  for (const [number, [claim, testCase]] of Object.entries(redisCases).entries()) {
    await t.test(claim, async t => {
      empty()
      await testCase(t, url, `hosts${number}:`)
    })
  }
}

t.test('a fake Redis: the cases of all storage, and of several machines', async t => {
  // In a thread of its own: it answers while this thread waits for another process.
  const worker = new Worker(new URL('../../../support/fake-redis-worker.js', import.meta.url), { execArgv: [] })
  t.teardown(() => worker.terminate())
  const [url] = await once(worker, 'message')
  await testCases(t, url, () => worker.postMessage('empty'))
})

t.test('Redis: the cases of all storage, and of several machines', { skip: lacksRedis }, async t => {
  const { host, port } = await startRedis(t)
  await testCases(t, `redis://${host}:${port}`, () => undefined)
})
