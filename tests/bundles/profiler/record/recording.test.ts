import { createRequest } from 'sinfonietta/testing'
import { t } from 'tap'
import { collectData } from '#bundles/profiler/record/collect.ts'
import { drawToken, PendingTokens } from '#bundles/profiler/record/profiler.ts'
import { RecordingPolicy } from '#bundles/profiler/record/recording-policy.ts'
import { attachedTrace, Trace } from '#bundles/profiler/record/trace.ts'
import { Response } from '#lib/http/response.ts'
import { Redactor } from '#lib/redact/redactor.ts'
import { createProfiledKernel } from '#tests/support/profiled-kernel.ts'
import { turns } from '#tests/support/turns.ts'
import { until } from '#tests/support/until.ts'

/** A gate that allows each client. */
const openGate = { allows: () => true }

t.test('a token is six unused hexadecimal digits', async t => {
  t.match(
    drawToken(() => false),
    /^[0-9a-f]{6}$/,
  )
  const drawn = ['aaaaaa', 'bbbbbb', 'cccccc'][Symbol.iterator]()
  t.equal(
    drawToken(
      token => token < 'c',
      () => String(drawn.next().value),
    ),
    'cccccc',
  )
})

t.test('when each token is taken, drawing ends (cc-token-exhaust)', async t => {
  let draws = 0
  const draw = () => {
    draws++
    return 'aaaaaa'
  }
  t.equal(
    drawToken(() => true, draw),
    undefined,
  )
  t.equal(draws, 16)
})

t.test('noise is counted instead of recorded', async t => {
  const policy = new RecordingPolicy({}, openGate)
  t.ok(policy.wants(createRequest('/partnership')))
  t.notOk(policy.wants(createRequest('/assets/1a2b3c4d/site/site.css')))
  t.notOk(policy.wants(createRequest('/.well-known/appspecific/com.chrome.devtools.json')))
  t.equal(policy.ignored, 2)
})

t.test('a client may ask not to be recorded, and the application may be paused', async t => {
  const policy = new RecordingPolicy({ ignoredPaths: ['/health'] }, openGate)
  t.notOk(policy.wants(createRequest('/health')))
  t.ok(policy.wants(createRequest('/assets/x')))
  t.notOk(policy.wants(createRequest('/', { headers: { 'x-profiler': 'Off' } })))
  t.ok(policy.wants(createRequest('/', { headers: { 'x-profiler': 'on' } })))
  policy.isPaused = true
  t.notOk(policy.wants(createRequest('/')))
  t.equal(policy.ignored, 3)
})

t.test('a client that may not see debug output cannot hide its requests', async t => {
  const { client, createClient, storage } = await createProfiledKernel(t)
  const off = { headers: { 'x-profiler': 'off' } }
  await client.get('/partnership', off)
  await createClient({ remoteAddress: '203.0.113.9' }).get('/from-outside', off)
  await createClient({ base: 'http://evil.test' }).get('/other-host', off)
  await turns()
  const { summaries } = await storage.search({ limit: 10 })
  const mains = summaries.filter(({ parent }) => parent === null)
  t.strictSame(mains.map(({ url }) => url).sort(), ['http://evil.test/other-host', 'http://localhost/from-outside'])
})

t.test('a collector that fails, synchronous or not, loses only its own data', async t => {
  const trace = new Trace('abcdef', createRequest(), undefined)
  const collectors = [
    { name: 'plain', collect: () => ({ a: 1 }) },
    { name: 'nothing', collect: () => undefined },
    { name: 'later', collect: async () => 'later' },
    {
      name: 'broken',
      collect: () => {
        throw new Error('broken at once')
      },
    },
    { name: 'rejected', collect: () => Promise.reject('broken later') },
  ]
  const { data, failures, pending } = collectData(trace, collectors, new Redactor())
  await pending
  t.strictSame(data, { plain: { a: 1 }, later: 'later' })
  t.strictSame(failures, { broken: 'broken at once', rejected: 'broken later' })
  t.equal(collectData(trace, collectors.slice(0, 2), new Redactor()).pending, undefined)
})

t.test('a search for an unfinished profile waits until it is stored, with a time limit', async t => {
  const tokens = new PendingTokens()
  await tokens.wait('aaaaaa', 60_000)
  tokens.add('aaaaaa')
  t.ok(tokens.has('aaaaaa'))
  await tokens.wait('aaaaaa', 1)
  const waits = Promise.all([tokens.wait('aaaaaa', 60_000), tokens.wait('aaaaaa', 60_000)])
  tokens.settle('aaaaaa')
  await waits
  t.notOk(tokens.has('aaaaaa'))
  tokens.settle('aaaaaa')
})

t.test('a share of the requests is recorded, and each one whose client asks for it', async t => {
  const request = createRequest('/')
  const asked = createRequest('/', { headers: { 'x-profiler': 'on' } })
  const none = new RecordingPolicy({}, openGate, { sample: 0 })
  t.strictSame([none.wants(request), none.wants(asked), none.ignored], [false, true, 1])
  none.isPaused = true
  t.notOk(none.wants(asked))
  t.notOk(new RecordingPolicy({}, { allows: () => false }, { sample: 0 }).wants(asked), 'only with the key')
  const half = new RecordingPolicy({}, openGate, { sample: 0.5 })
  const wanted = Array.from({ length: 1000 }, () => half.wants(request)).filter(isWanted => isWanted).length
  t.ok(wanted > 350 && wanted < 650, `${wanted} of 1000`)
})

t.test('profiles without an error, or that are not slow, are dropped before they are collected', async t => {
  let collected = 0
  const kernel = await createProfiledKernel(t, {
    variables: { PROFILER_ONLY_ERRORS: '1', PROFILER_SLOWER_THAN: '60000' },
    handlers: {
      '/ok': () => new Response('fine'),
      '/slow': request => {
        Object.assign(attachedTrace(request) ?? {}, { start: performance.now() - 61_000 })
        return new Response('late')
      },
      '/broken': () => {
        throw new Error('It is broken.')
      },
    },
    register(app) {
      app.collectors.push({
        name: 'counted',
        collect() {
          collected++
        },
      })
    },
  })
  const { client, storage } = kernel
  const kept = async () => {
    const { summaries } = await storage.search({ limit: 10 })
    return summaries.filter(({ parent }) => parent === null).map(({ status, url }) => `${status} ${url}`)
  }
  await client.get('/ok')
  await turns()
  t.equal(collected, 0)
  await kernel.profileOf(await client.get('/slow'))
  await kernel.profileOf(await client.get('/broken'))
  await kernel.profileOf(await client.get('/ok', { headers: { 'x-profiler': 'on' } }))
  t.strictSame(await kept(), ['200 http://localhost/ok', '500 http://localhost/broken', '200 http://localhost/slow'])
})

t.test('with one of the two settings, the other kind is dropped', async t => {
  const policyOf = (sampling: ConstructorParameters<typeof RecordingPolicy>[2]) =>
    new RecordingPolicy({}, openGate, sampling)
  const trace = new Trace('000001', createRequest('/'), undefined)
  trace.duration = 100
  t.strictSame([policyOf({ slowerThan: 99 }).keeps(trace), policyOf({ slowerThan: 100 }).keeps(trace)], [true, false])
  t.notOk(policyOf({ onlyErrors: true }).keeps(trace))
  trace.addThrown(new Error('The stream has failed.'))
  t.ok(policyOf({ onlyErrors: true }).keeps(trace))
  t.notOk(policyOf({ slowerThan: 100 }).keeps(trace))
  trace.response = new Response(null, { status: 404 })
  t.notOk(policyOf({ onlyErrors: true }).keeps(trace), 'a mistake of the client')
})

t.test('the first requests of a process, and the first of a route since templates changed, are cold', async t => {
  const { app, client, profileOf } = await createProfiledKernel(t)
  const isCold = async (path: string) => (await profileOf(await client.get(path))).summary.isCold
  const ask = async (...paths: string[]) => {
    const found: boolean[] = []
    for (const path of paths) found.push(await isCold(path))
    return found
  }
  t.strictSame(await ask('/text', '/text', '/text', '/text', '/json', '/json'), [true, true, true, false, true, false])
  app.signals.emit('files.changed', { files: ['templates/page.hbs'] })
  t.strictSame(await ask('/json', '/json'), [true, false])
})

t.test('a request is cold if its route was when it began; one with files before an edit warms nothing', async t => {
  const { app, client, profileOf } = await createProfiledKernel(t)
  const held: (() => void)[] = []
  app.routes.add({
    name: 'held',
    path: '/held',
    controller: async () => {
      await new Promise<void>(resolve => held.push(resolve))
      return Response.text('held')
    },
  })
  const ask = async (path: string) => (await profileOf(await client.get(path))).summary.isCold
  /** Asks several times at once; `meanwhile` is called when all are in the controller. */
  const hold = async (count: number, meanwhile: () => void = () => {}) => {
    const asked = Array.from({ length: count }, () => ask('/held'))
    await until(() => held.length === count)
    meanwhile()
    for (const resolve of held.splice(0)) resolve()
    return Promise.all(asked)
  }
  for (const path of ['/text', '/text', '/text']) await ask(path)
  t.strictSame(await hold(2), [true, true], 'both began before one was handled')
  const edit = () => app.signals.emit('files.changed', { files: ['templates/page.hbs'] })
  t.strictSame(await hold(1, edit), [false])
  t.strictSame([await hold(1), await hold(1)], [[true], [false]])
})
