import { t } from 'tap'
import { lacksRedis, startRedis } from '#tests/support/start-redis.ts'
import { testCases } from './redis-cases.ts'

t.test('Redis: the cases of all storage, and of several machines', { skip: lacksRedis }, async t => {
  const { host, port } = await startRedis(t)
  await testCases(t, `redis://${host}:${port}`)
})
