import { t } from 'tap'
import { lacksRedis, startRedis } from '#tests/support/start-redis.ts'
import { createRedisStorage } from './redis-storage.ts'
import { storageCases } from './storage-cases.ts'

t.test('with a Redis', { skip: lacksRedis }, async t => {
  const { host, port } = await startRedis(t)
  for (const [number, [claim, testCase]] of Object.entries(storageCases).entries()) {
    await t.test(claim, async t => {
      const { problems, storage } = createRedisStorage(t, { url: `redis://${host}:${port}`, prefix: `case${number}:` })
      await testCase(t, () => storage)
      t.strictSame(problems.map(String), t.name.startsWith('a listener') ? problems.map(String) : [])
    })
  }
})
