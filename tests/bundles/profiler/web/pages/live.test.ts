import { once } from 'node:events'
import { Readable } from 'node:stream'
import { setTimeout as wait } from 'node:timers/promises'
import { createRequest } from 'sinfonietta/testing'
import { t } from 'tap'
import { MemoryProfileStorage } from '#bundles/profiler/store/memory-profile-storage.ts'
import { createLiveStream, toPosition } from '#bundles/profiler/web/pages/live-stream.ts'
import { createRecord, type RecordInit } from '#tests/support/create-profile.ts'
import { createProfiledKernel } from '#tests/support/profiled-kernel.ts'
import { serveKernel } from '#tests/support/test-server.ts'
import { until } from '#tests/support/until.ts'

function create(query = '') {
  const storage = new MemoryProfileStorage()
  const live = createLiveStream(createRequest(`/_profiler/live${query}`), storage)
  const stream = live.body as Readable
  const keep = (token: string, status = 200) => storage.append(createRecord({ token, status }), '{}')
  return { live, stream, keep }
}

/** Reads until a text has arrived. */
async function readUntil(stream: Readable, wanted: string): Promise<string> {
  let text = ''
  while (!text.includes(wanted)) {
    const chunk = stream.read()
    if (chunk === null) await wait(1)
    else text += chunk
  }
  return text
}

t.test('a stream reports profiles that match its filters, several at once', async t => {
  const { keep, live, stream } = create('?status_code=4xx')
  keep('000001', 404)
  t.equal(await readUntil(stream, '\n\n'), ':\n\n')
  for (const [token, status] of [
    ['000002', 404],
    ['000003', 200],
    ['000004', 405],
    ['000002', 404],
  ] as const) {
    keep(token, status === 405 ? 404 : status)
  }
  t.equal(await readUntil(stream, '\n\n'), 'event: profiles\ndata: 000002 000004\n\n')
  keep('000005', 404)
  stream.destroy()
  await once(stream, 'close')
  keep('000006', 404)
  t.equal(live.sentEvents, 1)
})

t.test('a stream reports the profiles of its list: not their main requests, and no probes of browsers', async t => {
  const icon = { status: 404, route: null, url: 'http://localhost/favicon.ico', outcome: 'crashed' } as const
  for (const [query, expected] of [
    ['only=errors', '000002'],
    ['type=sub-request', '000002'],
    ['type=probe', '000005 000004'],
    ['', '000002 000001'],
  ] as const) {
    const storage = new MemoryProfileStorage()
    const stream = createLiveStream(createRequest(`/_profiler/live?${query}`), storage).body as Readable
    const keep = (token: string, init: RecordInit) => storage.append(createRecord({ token, ...init }), '{}')
    await readUntil(stream, ':\n\n')
    keep('000002', { parent: '000001', status: 500 })
    keep('000001', {})
    keep('000005', { ...icon, parent: '000004' })
    keep('000004', icon)
    t.equal(await readUntil(stream, '\n\n'), `event: profiles\ndata: ${expected}\n\n`, query)
    stream.destroy()
  }
})

t.test('a stream reports what may be slow or have findings: the list finds it out', async t => {
  for (const [only, expected] of [
    ['slow', '000001 000002'],
    ['findings', '000001 000002'],
    ['4xx', '000001'],
    ['main,4xx', '000001'],
  ] as const) {
    const { keep, stream } = create(`?only=${only}`)
    await readUntil(stream, ':\n\n')
    keep('000001', 404)
    keep('000002')
    t.equal(await readUntil(stream, '\n\n'), `event: profiles\ndata: ${expected}\n\n`, only)
    stream.destroy()
  }
})

t.test('too many profiles are not named', async t => {
  const { keep, stream } = create()
  await readUntil(stream, ':\n\n')
  for (let number = 100_000; number < 100_101; number++) keep(String(number))
  t.equal(await readUntil(stream, '\n\n'), 'event: reload\ndata: many\n\n')
  keep('000001')
  t.equal(await readUntil(stream, '\n\n'), 'event: profiles\ndata: 000001\n\n')
  stream.destroy()
})

t.test('a stream begins after the profile that its page knows, of all that match', async t => {
  for (const [query, expected] of [
    ['?after=2', '000003 000005'],
    ['?after=1', '000002 000003 000005'],
    ['?after=', '000001 000002 000003 000005'],
    ['?after=ffffff', '000001 000002 000003 000005'],
    ['?after=3&status_code=4xx', '000004'],
  ] as const) {
    const storage = new MemoryProfileStorage()
    for (const token of ['000001', '000002', '000003', '000004', '000005']) {
      const isIcon = token === '000004' && !query.includes('4xx')
      const init = {
        token,
        status: token === '000004' ? 404 : 200,
        ...(isIcon && { url: 'http://a/favicon.ico', route: null }),
      }
      storage.append(createRecord(init), '{}')
    }
    const stream = createLiveStream(createRequest(`/_profiler/live${query}`), storage).body as Readable
    t.equal(
      await readUntil(stream, 'data: '.concat(expected, '\n\n')),
      `:\n\nevent: profiles\ndata: ${expected}\n\n`,
      query,
    )
    stream.destroy()
  }
  const storage = new MemoryProfileStorage()
  for (let number = 100_000; number < 100_102; number++) storage.append(createRecord({ token: String(number) }), '{}')
  const stream = createLiveStream(createRequest(`/_profiler/live?after=${toPosition('100000')}`), storage)
    .body as Readable
  t.match(await readUntil(stream, 'many'), 'event: reload')
  stream.destroy()
})

t.test('a slow client gets the profiles since its last event when it reads', async t => {
  const { keep, live, stream } = create()
  await readUntil(stream, ':\n\n')
  keep('000001')
  await until(() => live.isBehind)
  keep('000002')
  await wait(250)
  keep('000003')
  t.equal(live.sentEvents, 1, 'only one event waits')
  t.equal(
    await readUntil(stream, '000003\n\n'),
    'event: profiles\ndata: 000001\n\nevent: profiles\ndata: 000002 000003\n\n',
  )
  stream.destroy()
})

t.test('the route has the filters of the list, is not recorded, and is not a concurrent request', async t => {
  const { app, client, panel, profileOf, storage } = await createProfiledKernel(t)
  const { url } = await serveKernel(t, { app })
  const response = await fetch(`${url}/_profiler/live?status_code=404&limit=10`)
  t.equal(response.status, 200)
  t.equal(response.headers.get('content-type'), 'text/event-stream; charset=UTF-8')
  t.equal(response.headers.get('cache-control'), 'no-store, no-transform, private')
  t.notOk(response.headers.has('x-debug-token'))
  const reader = Readable.fromWeb(response.body as never)
  await client.get('/star-photo-booth')
  const missing = await client.get('/missing-x')
  const reported = await readUntil(reader, 'event: profiles')
  t.match(reported, String(missing.headers.get('x-debug-token')), 'the request that was not found')
  t.match(reported, String(missing.headers.get('x-previous-debug-token')), 'and its sub-request')
  t.equal((await storage.usage()).profiles, 3)
  const profile = await profileOf(missing)
  t.hasStrict(profile.data.memory, { requests: { others: 0, most: 0 } })
  t.ok(panel('memory'))
  reader.destroy()
  const states = await fetch(`${url}/_profiler/state`)
  t.equal(states.headers.get('content-type'), 'text/event-stream; charset=UTF-8')
  t.notOk(states.headers.has('x-debug-token'))
  await states.body?.cancel()
  const { body } = await app.kernel.handle(createRequest('/_profiler/live', { method: 'HEAD' }))
  if (body instanceof Readable) body.destroy()
})

t.test('a client without access gets no stream', async t => {
  const { client } = await createProfiledKernel(t)
  for (const headers of [{ 'x-forwarded-for': '127.0.0.1' }, { 'sec-fetch-site': 'cross-site' }]) {
    t.equal((await client.get('/_profiler/live', { headers })).status, 404)
  }
})

t.test('a server stops at once though a stream is open', async t => {
  const { app } = await createProfiledKernel(t)
  const { server, url } = await serveKernel(t, { app })
  const response = await fetch(`${url}/_profiler/live`)
  const [text] = await Promise.all([response.text(), server.close()])
  t.match(text, /^:\n\nretry: [12]\d{3}\n\n$/)
})
