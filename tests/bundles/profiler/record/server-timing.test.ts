import { t } from 'tap'
import { Response } from '#lib/http/response.ts'
import { createProfiledKernel } from '#tests/support/profiled-kernel.ts'
import { serveKernel } from '#tests/support/test-server.ts'

/** The metrics of a header: their durations in milliseconds, and the description of the first. */
function parse(header: string | null): { names: string[]; token: string | undefined; of: (name: string) => number } {
  const metrics = String(header).split(', ')
  const durations = new Map(
    metrics.map(metric => [String(metric.split(';')[0]), Number(/;dur=([\d.]+)$/.exec(metric)?.[1] ?? Number.NaN)]),
  )
  const token = metrics.map(metric => /^profile;desc="(\w+)"$/.exec(metric)?.[1]).find(found => found !== undefined)
  return { names: [...durations.keys()], token, of: name => durations.get(name) ?? Number.NaN }
}

t.test('a response has its timings, and the token of its profile', async t => {
  const kernel = await createProfiledKernel(t, {
    handlers: {
      '/works': async ({ headers }) => {
        const origin = `http://${headers.get('host')}`
        await Promise.all([fetch(`${origin}/text`), fetch(`${origin}/text`)].map(async call => (await call).text()))
        await new Promise(resolve => setTimeout(resolve, 10))
        return Response.text('done', { headers: { 'server-timing': 'db;dur=5' } })
      },
    },
  })
  const { url } = await serveKernel(t, kernel)
  const { headers } = await fetch(`${url}/works`)
  const { names, of, token } = parse(headers.get('server-timing'))
  t.strictSame(names, ['db', 'profile', 'total', 'kernel', 'ctrl', 'http'], 'the application keeps its own')
  t.equal(token, headers.get('x-debug-token'))
  t.ok(of('ctrl') >= 9)
  t.ok(of('http') > 0 && of('http') <= of('ctrl'), 'calls at the same time count once')
  t.ok(Math.abs(of('total') - of('kernel') - of('ctrl')) < 0.01)
})

t.test('a response names the method of its request, if that is not GET', async t => {
  const kernel = await createProfiledKernel(t, { handlers: { '/act': () => Response.text('acted') } })
  const timingOf = async (method: string) => (await kernel.client.request(method, '/act')).headers.get('server-timing')
  t.match(await timingOf('PATCH'), /^profile;desc="[0-9a-f]{6}", total;[^,]+, method;desc="PATCH"/)
  t.notMatch(await timingOf('GET'), 'method')
})

t.test('the time of a page contains the time of its partials once', async t => {
  const { client, profileOf } = await createProfiledKernel(t)
  const response = await client.get('/star-photo-booth')
  const { data } = await profileOf(response)
  const renders: { parent: number; duration: number }[] = Object(data.templates).renders
  t.ok(renders.some(({ duration, parent }) => parent !== -1 && duration > 0))
  const pages = renders.filter(({ parent }) => parent === -1)
  const sum = pages.reduce((sum, { duration }) => sum + duration, 0)
  t.ok(Math.abs(parse(response.headers.get('server-timing')).of('tpl') - sum) < 0.002)
})

t.test('queries have their number and their time, also those of sub-requests', async t => {
  const { app, client, profileOf } = await createProfiledKernel(t, {
    handlers: {
      '/inner': () => {
        app.queries.measure('sqlite', 'SELECT 2', [], () => [])
        return Response.text('inner')
      },
      '/queries': async request => {
        const wait = () => new Promise(resolve => setTimeout(resolve, 10))
        await Promise.all([
          app.queries.measure('sqlite', 'SELECT 1', [], wait),
          app.queries.measure('redis', 'GET a', [], wait),
        ])
        return app.kernel.handle(request.duplicate({ target: '/inner' }))
      },
    },
  })
  const response = await client.get('/queries')
  const header = response.headers.get('server-timing')
  t.match(header, 'db;desc="2 queries";dur=')
  t.match(header, 'cache;desc="1 cache call";dur=')
  const { names, of } = parse(header)
  t.strictSame(names, ['profile', 'total', 'kernel', 'ctrl', 'db', 'cache'])
  // On a busy machine, the process does not run all the time.
  t.ok(of('db') > 0 && of('cache') > 0 && of('db') <= of('ctrl'))
  const { summary } = await profileOf(response)
  t.ok(of('db') >= summary.queryTime && of('db') < summary.queryTime + 1, 'the sub-request adds its short query')
})

t.test('templates of sub-requests count; without a controller there is no time for it', async t => {
  const { client } = await createProfiledKernel(t)
  const page = parse((await client.get('/star-photo-booth')).headers.get('server-timing'))
  t.strictSame(page.names, ['profile', 'total', 'kernel', 'ctrl', 'tpl'])
  const missing = await client.get('/nowhere')
  t.strictSame(parse(missing.headers.get('server-timing')).names, ['profile', 'total', 'tpl'])
  t.equal(missing.headers.getAll('server-timing').length, 1, 'the error page itself says nothing')
  t.match(parse((await client.get('/boom')).headers.get('server-timing')).names, ['profile', 'total', 'kernel', 'ctrl'])
  t.match(parse((await client.get('/redir')).headers.get('server-timing')).token, /^[0-9a-f]{6}$/)
})

t.test('a call in progress counts until now', async t => {
  const held: (() => void)[] = []
  let arrive = () => {}
  const arrived = new Promise<void>(resolve => (arrive = resolve))
  const calls: Promise<string>[] = []
  const kernel = await createProfiledKernel(t, {
    handlers: {
      '/waits': async () => {
        arrive()
        await new Promise<void>(resolve => held.push(resolve))
        return Response.text('late')
      },
      '/leaves': async ({ headers }) => {
        const call = fetch(`http://${headers.get('host')}/waits`)
        await arrived
        await new Promise(resolve => setTimeout(resolve, 20))
        calls.push(call.then(answer => answer.text()))
        return Response.text('done')
      },
    },
  })
  const { url } = await serveKernel(t, kernel)
  const { of } = parse((await fetch(`${url}/leaves`)).headers.get('server-timing'))
  t.ok(of('http') > 10)
  for (const release of held) release()
  t.strictSame(await Promise.all(calls), ['late'])
})

t.test('a client that may not see debug output gets no timings', async t => {
  const { client } = await createProfiledKernel(t)
  const init = { headers: { 'x-forwarded-for': '127.0.0.1' } }
  t.equal((await client.get('/star-photo-booth', init)).headers.get('server-timing'), null)
  t.equal(
    (await client.get('/star-photo-booth', { headers: { 'x-profiler': 'off' } })).headers.get('server-timing'),
    null,
  )
})
