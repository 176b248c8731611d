import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { type Test, t } from 'tap'
import { createRecord, facts } from '#tests/support/create-profile.ts'
import { testCases } from './redis-cases.ts'
import { createRedisStorage } from './redis-storage.ts'

/** Starts a fake Redis in a thread of its own: it answers while this thread waits for another process. */
async function startThread(t: Test) {
  const worker = new Worker(new URL('../../../support/fake-redis-worker.js', import.meta.url), { execArgv: [] })
  t.teardown(() => worker.terminate())
  const [url] = await once(worker, 'message')
  return { url: String(url), worker }
}

t.test('the last profiles are written by a process that starts slowly, as on a busy machine', async t => {
  const { url } = await startThread(t)
  const { NODE_OPTIONS = '' } = process.env
  t.teardown(() => Object.assign(process.env, { NODE_OPTIONS }))
  const delay = 'data:text/javascript,await%20new%20Promise(resolve=>setTimeout(resolve,3500))'
  process.env.NODE_OPTIONS = `${NODE_OPTIONS} --import=${delay}`
  const { problems, storage } = createRedisStorage(t, { url })
  storage.append(createRecord({ token: '000001' }), facts)
  storage.flushNow()
  t.ok(await storage.find('000001'))
  t.strictSame(problems, [])
})

t.test('a fake Redis: the cases of all storage, and of several machines', async t => {
  const { url, worker } = await startThread(t)
  await testCases(t, url, () => worker.postMessage('empty'))
})
