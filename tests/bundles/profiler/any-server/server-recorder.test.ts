import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { silentLogger } from 'sinfonietta/testing'
import { t } from 'tap'
import { ServerRecorder } from '#bundles/profiler/server-recorder.ts'
import { MemoryProfileStorage } from '#bundles/profiler/store/memory-profile-storage.ts'
import { readConfig } from '#lib/env/config.ts'
import { Settings } from '#lib/env/settings.ts'
import { Redactor } from '#lib/redact/redactor.ts'
import { until } from '#tests/support/until.ts'

const variables = { APP_ENV: 'dev', APP_SECRET: 'a'.repeat(32) }

t.test('a recorder makes profiles from its start until it is closed', async t => {
  const directory = t.testdir({})
  const settings = new Settings({ variables })
  const storage = new MemoryProfileStorage()
  const recorder = new ServerRecorder({
    settings,
    config: readConfig(settings),
    directory,
    logger: silentLogger,
    redactor: new Redactor({}),
    storage,
    armFile: `${directory}/armed.json`,
    replaySecret: 'secret',
  })
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
  const settings = new Settings({ variables: { ...variables, PROFILER_SAMPLE: 'most' } })
  const services = {
    settings,
    config: readConfig(settings),
    directory: t.testdir({}),
    logger: silentLogger,
    redactor: new Redactor({}),
    storage: new MemoryProfileStorage(),
    armFile: 'armed.json',
    replaySecret: 'secret',
  }
  t.throws(() => new ServerRecorder(services), { code: 'CONFIG_INVALID', message: /PROFILER_SAMPLE/ })
})
