import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { t } from 'tap'
import { testCases } from './redis-cases.ts'

t.test('a fake Redis: the cases of all storage, and of several machines', async t => {
  // In a thread of its own: it answers while this thread waits for another process.
  const worker = new Worker(new URL('../../../support/fake-redis-worker.js', import.meta.url), { execArgv: [] })
  t.teardown(() => worker.terminate())
  const [url] = await once(worker, 'message')
  await testCases(t, url, () => worker.postMessage('empty'))
})
