import assert from 'node:assert/strict'
import { test } from 'node:test'
import pg from 'pg'
import { runInOne } from '../../../bundles/timers/run-in-one.ts'

const pool = new pg.Pool({ connectionString: String(process.env.TEST_DATABASE_URL) })
test.after(() => pool.end())

test('a timer runs in one worker; when that ends, in another one', async () => {
  const runs: string[] = []
  const start = (worker: string) =>
    runInOne(pool, { name: 'outbox', milliseconds: 5, work: async () => void runs.push(worker) }, assert.ifError)
  const until = async (isDone: () => boolean) => {
    while (!isDone()) await new Promise(resolve => setTimeout(resolve, 5))
  }
  const end = start('first')
  await until(() => runs.length > 1)
  const endSecond = start('second')
  await until(() => runs.length > 10)
  assert.deepEqual(new Set(runs), new Set(['first']))
  end()
  await until(() => runs.includes('second'))
  endSecond()
})
