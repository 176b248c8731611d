import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { t } from 'tap'
import { createRecorder } from '#tests/support/record-server.ts'
import { until } from '#tests/support/until.ts'

t.test('a recorder makes profiles from its start until it is closed', async t => {
  const { recorder, storage } = createRecorder(t)
  const server = createServer((_message, reply) => reply.end('Hello')).listen(0, '127.0.0.1')
  t.teardown(() => server.close())
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const request = async (path: string) => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`)
    await response.text()
    return response.headers.get('x-debug-token')
  }
  const saved: string[] = []
  recorder.signals.on('profile.saved', ({ url }) => saved.push(new URL(url).pathname))

  t.equal(await request('/before'), null)
  recorder.start({ viewer: 'http://127.0.0.1:8100', onFirst: () => true })
  const token = await request('/recorded')
  await until(() => saved.length > 0)
  t.match((await storage.find(String(token)))?.profile.summary, { route: 'GET /recorded', status: 200 })
  await recorder.close()
  t.equal(await request('/after'), null)
  t.strictSame(saved, ['/recorded'])
})

t.test('a recorder refuses wrong settings of the profiler', async t => {
  const settings = { PROFILER_SAMPLE: 'most' }
  t.throws(() => createRecorder(t, settings), { code: 'CONFIG_INVALID', message: /PROFILER_SAMPLE/ })
})
