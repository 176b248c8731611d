import { channel } from 'node:diagnostics_channel'
import { once } from 'node:events'
import {
  Agent,
  type ClientRequest,
  createServer,
  get,
  request as httpRequest,
  type RequestListener,
  type RequestOptions,
  type Server,
} from 'node:http'
import { type AddressInfo, connect, type NetConnectOpts } from 'node:net'
import { gzipSync } from 'node:zlib'
import { type Test, t } from 'tap'
import { toHar } from '#bundles/profiler/export/har.ts'
import { findFindings } from '#bundles/profiler/insight/findings/inspector.ts'
import { summarizeProfile } from '#bundles/profiler/insight/overview/overview.ts'
import { toPlainText } from '#bundles/profiler/insight/overview/sentence.ts'
import type { Profile } from '#bundles/profiler/profile/profile.ts'
import { countBadCalls, readCalls } from '#bundles/profiler/subjects/http/read.ts'
import { CallTrace } from '#bundles/profiler/subjects/http/traced-calls.ts'
import { Response } from '#lib/http/response.ts'
import { createProfile } from '#tests/support/create-profile.ts'
import { findPort } from '#tests/support/find-port.ts'
import { textOf } from '#tests/support/html.ts'
import { createProfiledKernel, profilePage } from '#tests/support/profiled-kernel.ts'

/** The fields of a call that tests check. */
interface Call {
  readonly client: string
  readonly method: string
  readonly url: string
  readonly start: number
  readonly sent?: number
  readonly uploaded?: number
  readonly head?: number
  readonly end?: number
  readonly status?: number
  readonly bytes?: number
  readonly isCounted?: true
  readonly error?: string
  readonly caller?: { readonly file: string; readonly function: string; readonly line: number }
}

function callsOf({ data }: Profile): Call[] {
  return (data.http as { calls: Call[] } | undefined)?.calls ?? []
}

/** A server that answers with the requested path; `/slow…` has a delay. */
const answer: RequestListener = (request, response) => {
  const { url = '' } = request
  if (url.startsWith('/redirect')) response.writeHead(302, { location: url.replace('/redirect', '/slow') })
  if (url.startsWith('/fails')) response.statusCode = 503
  if (url.startsWith('/wrong')) response.statusCode = 418
  if (url.startsWith('/chunks')) response.write('one ')
  if (url.startsWith('/empty')) response.statusCode = 204
  if (url.startsWith('/cut')) {
    response.writeHead(200, { 'content-length': 100 })
    response.write('half', () => setTimeout(() => response.destroy(), 5))
  } else {
    const time = url.startsWith('/slower') ? 500 : url.startsWith('/slow') ? 20 : 0
    request.resume().on('end', () => setTimeout(() => response.end(url), time))
  }
}

async function listen(t: Test, listener: RequestListener = answer): Promise<{ url: string; server: Server }> {
  const server = createServer(listener)
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, server }
}

function readWithHttp(url: string, agent?: Agent): Promise<string> {
  return new Promise((resolve, reject) => {
    get(url, { ...(agent && { agent }) }, response => {
      let text = ''
      response.on('data', chunk => {
        text += String(chunk)
      })
      response.on('close', () => resolve(text))
    }).on('error', reject)
  })
}

const done = () => Response.html('done')

t.test('a call of fetch is recorded with its times, its size and its caller', async t => {
  const { url } = await listen(t)
  async function askTheNeighbour(): Promise<void> {
    await (await fetch(`${url}/slow?x=1`, { method: 'POST', body: 'question' })).text()
  }
  const kernel = await createProfiledKernel(t, { handlers: { '/page': () => askTheNeighbour().then(done) } })
  const profile = await kernel.profileOf(await kernel.client.get('/page'))
  const [call, ...more] = callsOf(profile)
  t.same(more, [])
  t.hasStrict(call, {
    client: 'fetch',
    method: 'POST',
    url: `${url}/slow?x=1`,
    status: 200,
    bytes: 9,
    error: undefined,
  })
  const { start = 0, sent = 0, uploaded = 0, head = 0, end = 0 } = call ?? {}
  t.ok(start <= sent && sent <= uploaded && uploaded < head && head <= end)
  t.match(call?.caller, { function: 'askTheNeighbour', file: /http\.test\.[jt]s$/ })
  t.equal(profile.summary.calls, 1)
})

t.test('a call of node:http is recorded when it is sent', async t => {
  const { url } = await listen(t)
  const kernel = await createProfiledKernel(t, {
    handlers: {
      '/page': () => readWithHttp(`${url}/slow`).then(done),
      '/later': async () => {
        await new Promise<void>(resolve => {
          const headers = { traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01' }
          const request = httpRequest(`${url}/later`, { method: 'PUT', headers }, response =>
            response.resume().on('close', resolve),
          )
          request.write('begin')
          setTimeout(() => request.end('end'), 20)
        })
        return done()
      },
    },
  })
  const [call] = callsOf(await kernel.profileOf(await kernel.client.get('/page')))
  t.hasStrict(call, { client: 'node:http', method: 'GET', url: `${url}/slow`, status: 200, bytes: 5 })
  t.ok((call?.head ?? 0) > (call?.sent ?? 0) && (call?.end ?? 0) >= (call?.head ?? 0))
  const [later] = callsOf(await kernel.profileOf(await kernel.client.get('/later')))
  t.match(later, { method: 'PUT', caller: { file: /http\.test\.[jt]s$/ }, spanId: '00f067aa0ba902b7' })
})

t.test('a call of node:http is sent when it has a connection, and ends with the last byte of its response', async t => {
  const { url } = await listen(t)
  const { port } = new URL(url)
  const times = { begun: 0, found: 0, read: 0 }
  let listeners = 0
  const { profile } = await profilePage(
    t,
    () =>
      new Promise<Response>(resolve => {
        const note = () => {
          times.begun = performance.now()
        }
        channel('http.client.request.start').subscribe(note)
        t.teardown(() => channel('http.client.request.start').unsubscribe(note))
        // The name is known a moment after the call has begun.
        const lookup = (_: string, { all }: { all?: boolean }, found: (...values: unknown[]) => void) =>
          setTimeout(() => {
            times.found = performance.now()
            found(null, all ? [{ address: '127.0.0.1', family: 4 }] : '127.0.0.1', 4)
          }, 30)
        get({ host: 'slow.test', port, path: '/x', agent: false, lookup: lookup as never }, message => {
          listeners = message.socket.listenerCount('connect')
          // It is read a moment after it has come.
          setTimeout(() => {
            times.read = performance.now()
            message.resume().on('end', () => resolve(done()))
          }, 30)
        })
      }),
  )
  const [{ end = 0, head = 0, sent = 0, start = 0, uploaded = 0 } = {}] = callsOf(profile)
  t.ok(sent - start >= times.found - times.begun - 1, 'looking up the name is not sending')
  t.ok(uploaded >= sent && head >= uploaded && end >= head)
  t.ok(end - sent <= times.read - times.found, 'a response that is read later has come')
  t.equal(listeners, 0, 'no listener is left')
  t.notOk(profile.data.late)
})

t.test('a call of node:http is placed where it is created, with any agent, also one that has to wait', async t => {
  const { url } = await listen(t)
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  t.teardown(() => agent.destroy())
  const create: Readonly<Record<string, () => ClientRequest>> = {
    plain: () => get(url),
    alone: () => httpRequest(url, { agent: false }),
    connected: () => httpRequest(url, { createConnection: options => connect(options as NetConnectOpts) }),
    first: () => httpRequest(url, { agent }),
    waiting: () => httpRequest(url, { agent }),
    withFields: () => httpRequest(url, { headers: ['host', 'a', 'x', 'y'] }),
  }
  const { profile } = await profilePage(t, async () => {
    const sent = Object.values(create).map(each => each().end())
    for (const [response] of await Promise.all(sent.map(each => once(each, 'response')))) response.resume()
    return done()
  })
  const calls = callsOf(profile)
  t.strictSame(
    calls.map(({ caller }) => caller?.function.replace(/^.*[. ]/, '')),
    Object.keys(create),
  )
})

t.test('the size of a response is its Content-Length, or the number of received bytes', async t => {
  const { url } = await listen(t)
  const { profile } = await profilePage(t, async () => {
    for (const path of ['/length', '/chunks', '/empty']) {
      await (await fetch(url + path)).text()
      await readWithHttp(url + path)
    }
    await fetch(`${url}/head`, { method: 'HEAD' })
    return done()
  })
  const calls = callsOf(profile)
  const known = calls.map(({ bytes, isCounted }) => (isCounted ? (bytes ?? 0) > 50 : bytes))
  t.same(known, [7, 7, true, true, true, true, true])
})

t.test('calls of overlapping requests are recorded with their own request, on pooled connections too', async t => {
  const { url } = await listen(t)
  const agent = new Agent({ keepAlive: true, maxSockets: 2 })
  t.teardown(() => agent.destroy())
  const kernel = await createProfiledKernel(t, {
    handlers: {
      '/page/:id': async ({ attributes }) => {
        const id = attributes.get('_route_params')?.id
        await Promise.all([
          fetch(`${url}/slow/${id}/a`).then(response => response.text()),
          fetch(`${url}/redirect/${id}/b`).then(response => response.text()),
          readWithHttp(`${url}/slow/${id}/c`, agent),
          readWithHttp(`${url}/slow/${id}/d`, agent),
        ])
        return done()
      },
    },
  })
  // Some calls open connections; all calls reuse them.
  for (let round = 0; round < 2; round++) {
    const ids = Array.from({ length: 12 }, (_, index) => `${round}${index}`)
    const responses = await Promise.all(ids.map(id => kernel.client.get(`/page/${id}`)))
    for (const [index, response] of responses.entries()) {
      const calls = callsOf(await kernel.profileOf(response))
      const id = ids[index]
      const paths = ['/redirect', '/slow', '/slow', '/slow', '/slow'].map(
        (path, place) => `${url}${path}/${id}/${'babcd'[place]}`,
      )
      t.same(calls.map(call => call.url).sort(), paths.sort())
      t.ok(calls.every(({ end, head = 0, uploaded = 0 }) => end !== undefined && end >= head && head >= uploaded))
      t.same(calls.map(({ status }) => status).sort(), [200, 200, 200, 200, 302])
    }
  }
})

t.test('a redirect and the call to its address are one call, by fetch and by hand', async t => {
  const { url } = await listen(t)
  const handler = async () => {
    await (await fetch(`${url}/redirect/a`)).text()
    await readWithHttp(`${url}/redirect/b`)
    await readWithHttp(`${url}/slow/b`)
    return done()
  }
  const { profile } = await profilePage(t, handler)
  const calls = callsOf(profile)
  t.equal(calls.length, 4)
  const timed = calls.map((call, index) => ({
    ...call,
    start: index * 100,
    head: index * 100 + 90,
    end: index * 100 + 99,
  }))
  const sequences = findFindings(createProfile({ http: { calls: timed } }, { duration: 1000 }))
  t.hasStrict(sequences, [{ rule: 'sequential-calls', evidence: { count: 2, time: 398 } }])
})

t.test('calls outside of requests belong to no request, even if they fail during one', async t => {
  const { url } = await listen(t, () => undefined)
  const kernel = await createProfiledKernel(t, {
    handlers: {
      '/page': async () => {
        const closed = new Promise(resolve => outside.on('close', resolve))
        outside.destroy(new Error('not of this one'))
        await closed
        return done()
      },
    },
  })
  const outside = httpRequest(url).on('error', () => undefined)
  const sent = new Promise(resolve => outside.on('finish', resolve))
  outside.end()
  await sent
  const profile = await kernel.profileOf(await kernel.client.get('/page'))
  t.equal(profile.data.http, undefined)
  t.equal(profile.summary.calls, 0)
})

t.test('failures are recorded: refused, aborted, cut off, never sent', async t => {
  const { url } = await listen(t)
  const refused = `http://127.0.0.1:${await findPort()}`
  const ignore = () => undefined
  const kernel = await createProfiledKernel(t, {
    handlers: {
      '/page': async () => {
        await fetch(`${refused}/fetch`).catch(ignore)
        await readWithHttp(`${refused}/http`).catch(ignore)
        await fetch(`${url}/slow`, { signal: AbortSignal.timeout(5) }).catch(ignore)
        await fetch(`${url}/cut`)
          .then(response => response.text())
          .catch(ignore)
        await readWithHttp(`${url}/cut`).catch(ignore)
        await new Promise(resolve => {
          const request = httpRequest(`${refused}/half`, { method: 'POST' }).on('error', resolve)
          request.write('never sent')
        })
        return done()
      },
    },
  })
  const profile = await kernel.profileOf(await kernel.client.get('/page'))
  t.equal(callsOf(profile).length, 6)
  t.match(
    callsOf(profile).map(({ client, method, status, error, end }) => [
      client,
      method,
      status,
      error,
      end !== undefined,
    ]),
    [
      ['fetch', 'GET', undefined, `connect ECONNREFUSED ${refused.slice(7)}`, true],
      ['node:http', 'GET', undefined, `connect ECONNREFUSED ${refused.slice(7)}`, true],
      ['fetch', 'GET', undefined, /aborted/, true],
      ['fetch', 'GET', 200, 'other side closed', true],
      ['node:http', 'GET', 200, 'The response was cut off.', true],
      ['node:http', 'POST', undefined, `connect ECONNREFUSED ${refused.slice(7)}`, true],
    ],
  )
  t.same(kernel.panel('http').badge?.(profile), { text: '6', level: 'error' })
})

/** A clock that does not move. */
const stoppedClock = { elapsed: () => 0, touch: () => undefined }

t.test('a failure without a message is recorded with its code, or with its name', async t => {
  const trace = new CallTrace()
  const fail = (error: unknown) => {
    const call = trace.begin({ client: 'fetch', method: 'GET', url: '/' }, () => undefined, stoppedClock)
    call?.fail(error)
    call?.fail(new Error('later'))
    return call?.error
  }
  t.equal(fail(Object.assign(new AggregateError([]), { code: 'ECONNREFUSED' })), 'ECONNREFUSED')
  t.equal(fail(new TypeError('')), 'TypeError')
})

t.test('a call in progress when the profile is made is unfinished', async t => {
  const { url } = await listen(t)
  let last: Promise<unknown> = Promise.resolve()
  const kernel = await profilePage(t, () => {
    last = fetch(`${url}/slower`).then(response => response.text())
    return done()
  })
  const profile = kernel.profile
  await last
  t.hasStrict(callsOf(profile), [{ end: undefined, status: undefined }])
  t.match(await kernel.show('http', profile), '<span class="badge badge-plain">unfinished</span>')
})

t.test('secrets in URLs and errors are not in the profile', async t => {
  const { url } = await listen(t)
  const secret = 'hunter2-and-more'
  const kernel = await createProfiledKernel(t, {
    variables: { THEIR_KEY: 'very-secret-value' },
    handlers: {
      '/page': async () => {
        await fetch(`${url}/x?token=${secret}1&user%5Bpassword%5D=${secret}2`).then(response => response.text())
        await readWithHttp(`${url.replace('//', `//user:${secret}3@`)}/x?api_key=${secret}4`)
        await readWithHttp(`${url}/from-the-environment/very-secret-value`)
        await new Promise(resolve => {
          const request = httpRequest(url).on('error', resolve)
          request.end()
          request.destroy(new Error(`cannot use https://me:${secret}5@host/`))
        })
        return done()
      },
      '/proxied': async () => {
        await new Promise(resolve =>
          get({ port: new URL(url).port, path: `http://me:${secret}6@elsewhere.example/x` }, response =>
            response.resume().on('close', resolve),
          ),
        )
        return done()
      },
    },
  })
  const profiles = []
  for (const path of ['/page', '/proxied']) profiles.push(await kernel.profileOf(await kernel.client.get(path)))
  t.notMatch(JSON.stringify(profiles), secret)
  t.notMatch(JSON.stringify(profiles), 'very-secret-value')
  t.hasStrict(callsOf(profiles[0] ?? createProfile({})), [
    { url: `${url}/x?token=******&user%5Bpassword%5D=******` },
    { url: `${url}/x?api_key=******` },
    { url: `${url}/from-the-environment/******` },
    { error: 'cannot use https://******@host/' },
  ])
  t.hasStrict(callsOf(profiles[1] ?? createProfile({})), [{ url: 'http://******@elsewhere.example/x' }])
})

t.test('the profiler does not change HTTP client calls', async t => {
  const seen: string[][] = []
  const { url } = await listen(t, (request, response) => {
    seen.push(request.rawHeaders)
    response.end()
  })
  const send = async () => {
    await (await fetch(url)).text()
    await readWithHttp(url)
  }
  const kernel = await createProfiledKernel(t, { handlers: { '/page': () => send().then(done) } })
  await send()
  await kernel.client.get('/page')
  t.same(seen.slice(2), seen.slice(0, 2))
})

t.test('the server of a call is that of its connection, whichever Host it names, as a reverse proxy does', async t => {
  const { url } = await listen(t)
  const { port } = new URL(url)
  const lookup = ((_: string, __: object, found: (error: Error) => void) => found(new Error('not found'))) as never
  class OwnAgent extends Agent {
    addRequest(...args: unknown[]) {
      Reflect.get(Agent.prototype, 'addRequest').apply(this, args)
    }
  }
  const headers = { host: 'localhost:1' }
  const calls: readonly (readonly [options: RequestOptions, shown: string])[] = [
    [{ port, headers }, `${url}/`],
    [{ port, headers: ['Host', 'localhost:1'] }, `${url}/`],
    [{ port, headers, agent: false }, `${url}/`],
    [{ port, headers, agent: new Agent({ keepAlive: true, maxSockets: 1 }), path: '/x?y' }, `${url}/x?y`],
    [{ hostname: 'server.test', port, headers, lookup }, `http://server.test:${port}/`],
    [{ port: 80, headers }, 'http://127.0.0.1/'],
    [{ host: '::1', port: 1, headers }, 'http://[::1]:1/'],
    [{ port, headers, path: 'http://elsewhere.example/' }, 'http://elsewhere.example/'],
    [{ socketPath: '/missing/socket', headers }, 'http://localhost:1/'],
    // Before Node 22.12, the method of this agent is seen as that of Node.
    [{ port, headers: { host: `127.0.0.1:${port}` }, agent: new OwnAgent() }, `${url}/`],
  ]
  const kernel = await createProfiledKernel(t, {
    handlers: {
      '/page': async () => {
        const sent = calls.map(([options]) => {
          const request = get({ host: '127.0.0.1', ...options }, response => response.resume())
          return new Promise(resolve => request.on('error', resolve).on('close', resolve))
        })
        await Promise.all(sent)
        return done()
      },
    },
  })
  t.strictSame(
    callsOf(await kernel.profileOf(await kernel.client.get('/page'))).map(({ url }) => url),
    calls.map(([, shown]) => shown),
  )
})

t.test('a call may have no Host header, and no known connection', async t => {
  const { url } = await listen(t)
  const { port } = new URL(url)
  const kernel = await createProfiledKernel(t, {
    handlers: {
      '/page': async () => {
        await new Promise(resolve =>
          get({ host: '127.0.0.1', port, setHost: false }, response => response.resume().on('close', resolve)),
        )
        return done()
      },
    },
  })
  t.hasStrict(callsOf(await kernel.profileOf(await kernel.client.get('/page'))), [{ url: `${url}/`, status: 400 }])

  const call = new CallTrace().begin({ client: 'fetch', method: 'GET', url: '/' }, () => undefined, stoppedClock)
  call?.send(undefined)
  call?.finish()
  t.hasStrict(call, { sent: 0, end: 0, bytes: undefined })
})

for (const [path, status, text, said] of [
  ['fails', 503, '1 failed', '; an HTTP call answered 503'],
  ['cut', 200, '1 failed', '; an HTTP call failed: The response was cut off'],
  ['wrong', 418, '1 answered 418', '; an HTTP call answered 418'],
] as const)
  t.test(`after two hundred calls, one that ended badly (/${path}) has details, and others are counted`, async t => {
    const { url } = await listen(t)
    const kernel = await profilePage(t, async () => {
      for (let call = 0; call < 600; call++) await readWithHttp(`${url}/${call === 300 ? path : 'item'}`)
      return done()
    })
    const profile = kernel.profile
    const { calls, more, omitted } = readCalls(profile)
    t.strictSame([calls.length, omitted, more.ended, more.failed], [201, 399, 399, 0])
    t.hasStrict(calls.at(-1), { url: `${url}/${path}`, status, index: 200 })
    t.equal(countBadCalls(profile).text, text)
    t.match(textOf(await kernel.show('http', profile)), /Calls600 .*399 more calls were counted and timed/s)
    const [finding] = findFindings(profile).filter(({ rule }) => rule === 'repeated-calls')
    t.match(finding?.problem, ' was sent at least 200 times (201 of 600 calls are listed), at least ')
    const { sentence } = summarizeProfile({ profile, earlier: [], findings: [] })
    t.match(toPlainText(sentence), said)
  })

t.test('diagnostics messages of an unknown shape end neither the request nor the process', async t => {
  const kernel = await profilePage(t, () => {
    for (const name of ['undici:request:create', 'undici:request:headers', 'http.client.request.start']) {
      channel(name).publish({})
      channel(name).publish({ request: 1 })
    }
    return done()
  })
  const response = kernel.response
  t.equal(response.status, 200)
  t.type(await kernel.show('http', await kernel.profileOf(response)), 'string')
})

t.test('two profilers in one process record only their own calls, and stop when they are closed', async t => {
  const { url } = await listen(t)
  const send = async () => {
    await (await fetch(`${url}/x`)).text()
    return done()
  }
  const one = await createProfiledKernel(t, { handlers: { '/page': send } })
  const two = await createProfiledKernel(t, { handlers: { '/page': send } })
  const [first, second] = await Promise.all([one.client.get('/page'), two.client.get('/page')])
  t.equal(callsOf(await one.profileOf(first)).length, 1)
  t.equal(callsOf(await two.profileOf(second)).length, 1)
  await one.close()
  t.equal(callsOf(await two.profileOf(await two.client.get('/page'))).length, 1)
  await two.close()
  t.notOk(channel('undici:request:create').hasSubscribers)
  t.notOk(channel('http.client.request.start').hasSubscribers)
})

t.test('the panel shows each call, its phases and its caller', async t => {
  const kernel = await createProfiledKernel(t)
  const file = `${process.cwd()}/bundles/site/site-bundle.ts`
  const call = {
    client: 'fetch',
    method: 'GET',
    url: 'http://neighbour/<b>',
    start: 1,
    sent: 2,
    uploaded: 2,
    head: 12,
    end: 15,
  }
  const calls = [
    { ...call, status: 200, bytes: 2048, caller: { function: 'ask', file, line: 7 } },
    { ...call, status: 404, bytes: 10, isCounted: true, caller: { file: '/elsewhere/x.js' }, start: 14, end: 20 },
    { ...call, status: 503, uploaded: undefined },
    { ...call, status: 200, end: undefined },
    { ...call, status: 200, error: 'cut off' },
    { ...call, status: undefined, head: undefined, error: 'refused' },
  ]
  const profile = createProfile({ http: { calls, omitted: 2 } })
  t.same(kernel.panel('http').badge?.(profile), { text: '3', level: 'error' })
  const page = await kernel.show('http', profile)
  for (const text of [
    '<dt>Calls</dt><dd>8</dd>',
    '<dt>Total</dt><dd>62 ms</dd>',
    '<dt>Elapsed (overlap removed)</dt><dd>19 ms</dd>',
    '<dt>Failed</dt><dd>3</dd>',
    '<dt>Unfinished</dt><dd>1</dd>',
    '2 more calls were counted and timed',
    'http://neighbour/&lt;b&gt;',
    '<ul class="phases"><li>queued 1.0 ms</li><li>waiting 10 ms</li><li>receiving 3.0 ms</li></ul>',
    '>2.0 KiB</span>',
    '>≈ 10 B</span>',
    '>bundles/site/site-bundle.ts:7</span>',
    'in <span class="call">ask</span>',
    '>/elsewhere/x.js</span>',
    '<span class="empty">Caller unknown</span>',
    ' id="call-0"',
    '<a href="#call-0">same as 1</a>',
    '<rect class="bar-queued" x="0" width="52.6" height="8"/>',
    '<rect class="bar-waiting" x="52.6" width="526.3" height="8"/>',
    'curl &#x27;http://neighbour/&lt;b&gt;&#x27;',
    '<span class="badge badge-ok">200</span>',
    '<span class="badge badge-warning">404</span>',
    '<span class="badge badge-error">503</span>',
    '<span class="badge badge-plain">200, unfinished</span>',
    '<span class="badge badge-error">200, failed</span>',
    '<span class="badge badge-error">failed</span>',
    '<span class="problem">refused</span>',
  ]) {
    t.ok(page.includes(text), text)
  }
})

t.test('without calls the panel has a message; successful calls are only counted in the menu', async t => {
  const kernel = await createProfiledKernel(t)
  const none = createProfile({})
  const panel = kernel.panel('http')
  t.notOk(panel.hasContent(none))
  t.same(panel.badge?.(none), { text: '', level: 'plain' })
  t.match(await kernel.show('http', none), 'No HTTP client calls.')
  const one = createProfile({ http: { calls: [{ status: 200, start: 1, end: 2 }] } })
  t.ok(panel.hasContent(one))
  t.same(panel.badge?.(one), { text: '1', level: 'plain' })
})

/** A server that answers with what it was sent, compressed, and with headers of its own. */
const echo: RequestListener = (request, response) => {
  const chunks: Buffer[] = []
  request
    .on('data', (chunk: Buffer) => chunks.push(chunk))
    .on('end', () => {
      const type = request.url === '/image' ? 'image/png' : 'application/json'
      response.writeHead(201, { 'content-type': type, 'content-encoding': 'gzip', 'set-cookie': 'id=abc; Path=/' })
      response.end(gzipSync(JSON.stringify({ sent: Buffer.concat(chunks).toString(), token: 'secret' })))
    })
}

t.test('headers and contents of calls are recorded, masked; the application gets the same', async t => {
  const { url } = await listen(t, echo)
  const read: string[] = []
  const kernel = await profilePage(
    t,
    async () => {
      const headers = { 'content-type': 'application/json', authorization: 'Bearer abcdefgh', 'x-plain': 'yes' }
      const response = await fetch(`${url}/json`, { method: 'POST', headers, body: '{"a":1,"password":"x"}' })
      read.push(await response.text())
      await (await fetch(`${url}/image`)).arrayBuffer()
      await (await fetch(`${url}/form`, { method: 'POST', body: new URLSearchParams({ a: '1', pin: '2' }) })).text()
      return done()
    },
    { directory: t.testdir() },
  )
  const profile = kernel.profile
  t.strictSame(read, ['{"sent":"{\\"a\\":1,\\"password\\":\\"x\\"}","token":"secret"}'])
  const { calls = [] } = profile.collectors.http ?? {}
  const [json, image, form] = calls
  t.match(json?.request?.headers, [
    ['host', /^127/],
    ['connection', 'keep-alive'],
    ['content-type', 'application/json'],
    ['authorization', '******'],
    ['x-plain', 'yes'],
  ])
  t.strictSame(json?.request?.content, { type: 'application/json', length: 22, json: [{ a: 1, password: '******' }] })
  t.ok(json?.response?.headers.some(([name, value]) => name === 'set-cookie' && value === 'id=******; Path=/'))
  t.match(json?.response?.content, {
    type: 'application/json',
    json: [{ sent: /^{"a":1,"password":"\*{6}"}$/, token: '******' }],
  })
  t.match(image?.response?.content, { type: 'image/png', note: 'Only text is stored.', text: undefined })
  t.equal(image?.request?.content, undefined)
  t.match(form?.request?.content, {
    form: [
      ['a', '1'],
      ['pin', '******'],
    ],
  })

  const html = await kernel.show('http', profile)
  t.match(textOf(html), /Request application\/json, 22 bytes.*x-plain: yes.*Response application\/json/)
  t.match(textOf(html), /--header &#x27;x-plain: yes&#x27;.*--data-raw &#x27;\{&quot;a&quot;:1/)
  const { entries } = toHar(profile).log
  t.match(entries[1], {
    request: {
      headers: [{}, {}, {}, {}, { name: 'x-plain', value: 'yes' }],
      postData: { mimeType: 'application/json' },
    },
    response: { content: { mimeType: 'application/json', text: /"token":"\*{6}"/ } },
  })
})

t.test('the bodies of all calls of a request have a limit', async t => {
  const long = 'x'.repeat(100_000)
  const { url } = await listen(t, (request, response) => {
    response.setHeader('content-type', 'text/plain')
    request.resume().on('end', () => response.end(long))
  })
  const kernel = await createProfiledKernel(t, {
    handlers: {
      '/page': async () => {
        for (let count = 0; count < 5; count++) await (await fetch(url)).text()
        return done()
      },
    },
  })
  const { http } = (await kernel.profileOf(await kernel.client.get('/page'))).collectors
  const contents = http?.calls.map(({ response }) => response?.content) ?? []
  t.match(contents[0], { length: 100_000, isCut: true, text: /^x+$/ })
  const profiled = await kernel.client.get('/page')
  const profile = await kernel.profileOf(profiled)
  t.equal(toHar(profile).log.entries[1]?.response.content.comment, 'The body is cut.')
  const markdown = (await kernel.client.get(`/_profiler/${profile.summary.token}.md`)).text
  t.match(markdown, '  - received `text/plain`: `xxxx')
  t.match(await kernel.show('http', profile), 'The first 4,000 characters are shown.')
  t.match(contents[4], { length: 100_000, note: 'Not stored: too many bodies of calls.' })
})

t.test('node:http reports headers; chunks that channels publish are recorded', async t => {
  const { url } = await listen(t)
  const request = { method: 'PUT', origin: url, path: '/published' }
  const response = { statusCode: 200, headers: [Buffer.from('Content-Type'), Buffer.from('text/plain')] }
  const kernel = await createProfiledKernel(t, {
    handlers: {
      '/node': () => readWithHttp(`${url}/x`).then(done),
      '/published': () => {
        const publish = (name: string, more: object = {}) => channel(`undici:${name}`).publish({ request, ...more })
        publish('request:create')
        publish('client:sendHeaders', { headers: 'PUT / HTTP/1.1\r\ncontent-type: text/plain\r\n\r\n' })
        publish('request:bodyChunkSent', { chunk: Buffer.from('sent') })
        publish('request:headers', { response })
        publish('request:bodyChunkReceived', { chunk: 'received' })
        publish('request:bodyChunkReceived', { chunk: 5 })
        publish('request:trailers')
        publish('request:create', { request: {} })
        return done()
      },
    },
  })
  const [node] = (await kernel.profileOf(await kernel.client.get('/node'))).collectors.http?.calls ?? []
  t.match(node?.request?.headers, [['host', /^127/]])
  t.ok(node?.response?.headers.some(([name]) => name === 'Date'))
  const [published] = (await kernel.profileOf(await kernel.client.get('/published'))).collectors.http?.calls ?? []
  t.match(published, {
    request: { headers: [['content-type', 'text/plain']], content: { text: 'sent', length: 4 } },
    response: { headers: [['Content-Type', 'text/plain']], content: { text: 'received', length: 8 } },
  })
})
