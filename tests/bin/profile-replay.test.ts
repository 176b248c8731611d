import { once } from 'node:events'
import { get } from 'node:http'
import http2 from 'node:http2'
import { t } from 'tap'
import { findProfile, readProfile, startProfiled } from '#tests/support/start-profiled.ts'

/** It answers with the fields that it was sent, in each form in which Node has them. Each request for a page counts. */
const application = `
import { createServer } from 'node:http'
import http2 from 'node:http2'
let count = 0
const pages = {
  '/count': reply => reply.end(String(++count)),
}
const answer = (message, reply) => {
  let body = ''
  reply.setHeader('content-type', 'text/plain')
  message.on('data', part => (body += part)).on('end', () => {
    const page = pages[message.url.split('?')[0]]
    if (page !== undefined) return page(reply)
    const { headers, headersDistinct, method, rawHeaders, url } = message
    reply.end(JSON.stringify({ method, url, body, headers, headersDistinct, rawHeaders }))
  })
}
const server = createServer(answer)
const newer = http2.createServer(answer)
const other = createServer(answer)
server.listen(0, '127.0.0.1', () => newer.listen(0, '127.0.0.1', () => other.listen(0, '127.0.0.2', () => {
  process.stdout.write(JSON.stringify([server, newer, other].map(each => each.address().port)) + '\\n')
})))
process.stdin.on('end', () => process.exit()).resume()
`

/** Takes the place of secrets in a profile. */
const mask = '******'

/** Sends a form of a page as a browser does. */
function post(viewer: string, link: string, fields: Readonly<Record<string, string>> = {}) {
  const headers = { origin: viewer, 'sec-fetch-site': 'same-origin' }
  const body = new URLSearchParams(fields)
  return fetch(`${viewer}/_profiler/${link}`, { method: 'POST', body, headers, redirect: 'manual' })
}

/** Replays a request, and returns the profile of the replay. */
async function replay(viewer: string, token: string, fields?: Readonly<Record<string, string>>) {
  const response = await post(viewer, `${token}/replay`, fields)
  const location = response.headers.get('location') ?? ''
  const [, other = ''] = /compare\?a=\w+&b=(\w+)/.exec(location) ?? []
  if (other === '') throw new Error(`${response.status} ${location} ${await response.text()}`)
  return readProfile(viewer, other)
}

/** The text of the response of a profile, as the application has sent it. */
function contentOf({ data }: Awaited<ReturnType<typeof readProfile>>) {
  return String((data.response?.content as { readonly text?: unknown } | undefined)?.text)
}

t.test('a replay is sent to the running application, which does not notice that it is one', async t => {
  const { ports, stop, url, viewer } = await startProfiled(t, application)

  await t.test('with the same method, URL, header fields and body', async t => {
    const body = JSON.stringify({ name: 'Ada', tags: ['a', 'b'] })
    const headers = { 'content-type': 'application/json', 'X-Custom': 'kept', 'x-forwarded-for': '192.0.2.1' }
    await fetch(`${url}/echo?a=1&b=2`, { method: 'PUT', body, headers })
    const first = await findProfile(viewer, '/echo?a=1&b=2')
    const second = await replay(viewer, first.summary.token, { confirmed: '1' })
    const attributes = new Map(second.data.request?.attributes as [string, unknown][])
    t.equal(attributes.get('_replay_of'), first.summary.token)
    t.strictSame(JSON.parse(contentOf(second)), JSON.parse(contentOf(first)))
    t.notMatch(JSON.stringify(second), 'x-profiler-replay')
  })

  await t.test('the code of the application runs again', async t => {
    t.equal(await (await fetch(`${url}/count`)).text(), '1')
    const { summary } = await findProfile(viewer, '/count')
    t.equal(contentOf(await replay(viewer, summary.token)), '2')
    t.equal(await (await fetch(`${url}/count`)).text(), '3')
  })

  await t.test('methods that may change data are confirmed before', async t => {
    await fetch(`${url}/count`, { method: 'DELETE' })
    const { summary } = await findProfile(viewer, '/count')
    const refused = await post(viewer, `${summary.token}/replay`)
    t.equal(refused.headers.get('location'), `/_profiler/${summary.token}/replay`)
    const form = await (await fetch(`${viewer}/_profiler/${summary.token}/replay`)).text()
    t.match(form, 'DELETE may change data.')
    t.match(form, `to the application at ${new URL(url).host}`)
    t.equal(contentOf(await replay(viewer, summary.token, { confirmed: '1' })), '5')
  })

  await t.test('the form says what was not stored, and takes it', async t => {
    await fetch(`${url}/secrets`, { headers: { cookie: 'session=abcdef123456', authorization: 'Bearer abcdef123456' } })
    const { summary } = await findProfile(viewer, '/secrets')
    const link = `${viewer}/_profiler/${summary.token}/replay`
    const form = await (await fetch(link, { headers: { cookie: 'other=1' } })).text()
    t.match(form, /authorization[\s\S]*cookie|cookie[\s\S]*authorization/)
    t.match(form, 'Use my cookies', 'a browser sends them to each port of a name')
    const byName = await (
      await fetch(link.replace('127.0.0.1', 'localhost'), { headers: { cookie: 'other=1' } })
    ).text()
    t.notMatch(byName, 'Use my cookies', 'those of another name are not for the application')
    const without = JSON.parse(contentOf(await replay(viewer, summary.token)))
    t.strictSame([without.headers.cookie, without.headers.authorization], [undefined, undefined])
    const given = { 'secret-header-authorization': 'Basic Zm9vOmJhcg==', 'secret-header-cookie': 'theme=dark' }
    t.match(JSON.parse(contentOf(await replay(viewer, summary.token, given))).headers, {
      cookie: mask,
      authorization: mask,
    })
  })

  await t.test('the cookies of the browser go to the address of its host name only', async t => {
    const headers = { host: new URL(url).host, cookie: 'session=abcdef123456' }
    const message = get({ host: '127.0.0.2', port: ports[2], path: '/address', headers })
    const [reply] = await once(message, 'response')
    reply.resume()
    const { summary } = await findProfile(viewer, '/address')
    const form = await (
      await fetch(`${viewer}/_profiler/${summary.token}/replay`, { headers: { cookie: 'other=1' } })
    ).text()
    t.match(form, 'to the application at 127.0.0.2')
    t.notMatch(form, 'Use my cookies')
    const sent = JSON.parse(contentOf(await replay(viewer, summary.token, { 'own-cookies': '1' })))
    t.equal(sent.headers.cookie, undefined)
  })

  await t.test('HTTP/2 is replayed over HTTP/2', async t => {
    const client = http2.connect(`http://127.0.0.1:${ports[1]}`)
    const stream = client.request({
      ':path': '/two',
      ':method': 'POST',
      'content-type': 'application/json',
      'x-two': 'a',
    })
    await once(stream.end('{"a":1}').resume(), 'close')
    client.close()
    const first = await findProfile(viewer, '/two')
    const second = await replay(viewer, first.summary.token, { confirmed: '1' })
    t.equal(second.data.request?.httpVersion, '2')
    const { body, headers, rawHeaders } = JSON.parse(contentOf(second))
    t.match({ body, headers }, { body: '{"a":1}', headers: { 'x-two': 'a', ':authority': `127.0.0.1:${ports[1]}` } })
    t.notOk([...Object.keys(headers), ...rawHeaders].includes('x-profiler-replay'))
  })

  await t.test('"Fix and verify" replays', async t => {
    await fetch(`${url}/calls`)
    const { summary } = await findProfile(viewer, '/calls')
    const unknown = await post(viewer, `${summary.token}/verify`, { flaw: 'exception' })
    t.match(await unknown.json(), { text: 'The profile has no such finding.' })
  })

  await t.test('only the profiler can mark a request', async t => {
    await fetch(`${url}/forged`, { headers: { 'x-profiler-replay': `${'0'.repeat(32)} abcdef` } })
    const { data } = await findProfile(viewer, '/forged')
    t.notOk(new Map(data.request?.attributes as [string, unknown][]).has('_replay_of'))
  })
  await stop()
})

t.test('a replay says why it has no profile', async t => {
  const closing = `${application}
    pages['/close'] = reply => reply.end('closed', () => server.close().closeAllConnections())
    pages['/silent'] = reply => {
      reply.socket.end('HTTP/1.1 204 No Content\\r\\nconnection: close\\r\\n\\r\\n')
    }
  `
  const { stop, url, viewer } = await startProfiled(t, closing)
  await fetch(`${url}/silent`)
  const silent = await post(viewer, `${(await findProfile(viewer, '/silent', 'stream-failed')).summary.token}/replay`)
  t.equal(silent.status, 504)
  t.match(await silent.text(), 'it has made no profile of the replay')
  await fetch(`${url}/close`).catch(() => undefined)
  const { summary } = await findProfile(viewer, '/close')
  const closed = await post(viewer, `${summary.token}/replay`)
  t.match(await closed.text(), /The application does not run, or no longer at 127\.0\.0\.1:\d+/)
  await stop()
})

t.test('a replay finds its profile, whichever process of the application answers', async t => {
  const source = `
    import cluster from 'node:cluster'
    import { createServer } from 'node:http'
    if (cluster.isPrimary) {
      const workers = [cluster.fork(), cluster.fork()]
      let count = 0
      cluster.on('listening', (worker, { port }) => ++count === 2 && process.stdout.write('[' + port + ']\\n'))
      process.stdin.on('end', () => process.exit()).resume()
    } else createServer((message, reply) => reply.setHeader('content-type', 'text/plain').end(String(process.pid))).listen(0, '127.0.0.1')
  `
  const { stop, url, viewer } = await startProfiled(t, source)
  await fetch(`${url}/worker`)
  const { summary } = await findProfile(viewer, '/worker')
  const pids = new Set<string>()
  for (let at = 0; at < 4; at++) pids.add(contentOf(await replay(viewer, summary.token)))
  t.equal(pids.size, 2, 'both have answered')
  await stop()
})
