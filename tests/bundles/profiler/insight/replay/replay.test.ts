import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { PassThrough, Readable } from 'node:stream'
import type { ClientRequestInit, TestResponse } from 'sinfonietta/testing'
import { type Test, t } from 'tap'
import { planReplay, Replayer, type ReplayerServices } from '#bundles/profiler/insight/replay/replay.ts'
import { Response } from '#lib/http/response.ts'
import { createProfile, createRecord } from '#tests/support/create-profile.ts'
import { plainEquals, textOf } from '#tests/support/html.ts'
import { createProfiledKernel, type ProfiledKernel } from '#tests/support/profiled-kernel.ts'
import { createProject } from '#tests/support/project.ts'
import { serveKernel } from '#tests/support/test-server.ts'
import { turns } from '#tests/support/turns.ts'
import { until } from '#tests/support/until.ts'

const ours = { headers: { origin: 'http://localhost' } }
const canary = 'canary-9x3z'

/** Replays a profile, and returns the page after it. */
async function replay({ client }: Pick<ProfiledKernel, 'client'>, token: string, init: ClientRequestInit = {}) {
  const answer = await client.post(`/_profiler/${token}/replay`, { ...ours, ...init })
  return answer.status === 303 ? client.follow(answer) : answer
}

const verdictOf = ({ text }: TestResponse) =>
  textOf(/<section class="verdict[\s\S]*?<\/section>/.exec(text)?.[0] ?? `no verdict: ${text}`).trim()

const tokenOf = ({ headers }: Pick<TestResponse, 'headers'>) => String(headers.get('x-debug-token'))

/** The token of the replay in a comparison page. */
const replayOf = ({ request }: TestResponse) => String(request.query.get('b'))

t.test('a replayed GET of each page differs in times and tokens only', async t => {
  const kernel = await createProfiledKernel(t)
  const { url } = await serveKernel(t, kernel)
  const browser = {
    accept: 'text/html,application/xhtml+xml,*/*;q=0.8',
    'accept-language': 'en',
    'user-agent': 'Mozilla/5.0',
    referer: `${url}/`,
  }
  const pages = ['/star-photo-booth', '/partnership', '/partnership?a=1&a=2']
  const others = [
    '/',
    '/nowhere?x=1',
    '/boom',
    '/gone',
    '/redir',
    '/json',
    '/stream',
    '/stream-fails',
    '/empty',
    '/item',
  ]
  const more = ['/embed', '/forward', '/inner-failure', '/teapot', '/cond', '/slash', '/wild/a/b', '/secure', '/events']
  for (const target of [...pages, ...others, ...more, '/_profiler']) {
    for (const method of ['GET', 'HEAD']) {
      const answer = await fetch(url + target, { method, headers: browser, redirect: 'manual' })
      await answer.text().catch(() => undefined)
      const { summary } = await kernel.profileOf(answer)
      const page = await replay(kernel, summary.token)
      t.equal(page.status, 200)
      t.match(verdictOf(page), /^Only timings changed(?!.*Request differs)/, `${method} ${target}`)
    }
  }
})

t.test('a replay is a recorded request, marked, and linked with its original', async t => {
  const kernel = await createProfiledKernel(t, {
    handlers: { '/seen': ({ attributes }) => Response.text(String(attributes.get('_replay_of'))) },
  })
  const { client, storage } = kernel
  const token = tokenOf(await client.get('/star-photo-booth'))
  const html = plainEquals((await client.get(`/_profiler/${token}`)).text)
  t.match(
    html,
    new RegExp(`<form action="/_profiler/${token}/replay" method="post">\\s*<button class="button small" data-key="r"`),
  )
  const answer = await client.post(`/_profiler/${token}/replay`, ours)
  t.equal(answer.status, 303)
  const [, again] =
    /^\/_profiler\/compare\?a=[0-9a-f]{6}&b=([0-9a-f]{6})$/.exec(String(answer.headers.get('location'))) ?? []
  const page = await client.follow(answer)
  t.match(textOf(page.text), 'Replay compared with its original')
  t.match(textOf(page.text), /A original 200 OK .* B replay 200 OK/)
  t.match(plainEquals(page.text), `<form action="/_profiler/${token}/replay" method="post">`, 'once more')
  const repeated = plainEquals((await client.get(`/_profiler/${again}`)).text)
  t.match(repeated, `href="/_profiler/${token}">${token}</a> <a href="/_profiler/compare?a=${token}&amp;b=${again}">`)
  const { summaries } = await storage.search({ limit: 9 })
  t.strictSame(
    summaries.map(({ method, token, url }) => [token, method, url]),
    [
      [again, 'GET', 'http://localhost/star-photo-booth'],
      [token, 'GET', 'http://localhost/star-photo-booth'],
    ],
    'what the profiler does itself is not recorded',
  )
  const seen = await client.get('/seen')
  t.equal(seen.text, 'undefined')
  t.match(verdictOf(await replay(kernel, tokenOf(seen))), 'response body (1 difference)', 'an application may know')
})

t.test('a replay after a change of the code shows the differences', async t => {
  let version = 1
  const directory = createProject(t.testdir(), {
    'templates/site/partnership.hbs': readFileSync('templates/site/partnership.hbs', 'utf8'),
  })
  const kernel = await createProfiledKernel(t, {
    directory,
    register({ logger, routes, view }) {
      routes.add({
        name: 'changing',
        path: '/changing',
        controller: async request => {
          if (version === 2) logger.warning('Something is missing.')
          if (version === 3) throw new TypeError('It broke.')
          return Response.html(await view.render('site/partnership', {}, request), {
            headers: { 'x-version': String(version) },
          })
        },
      })
    },
  })
  const token = tokenOf(await kernel.client.get('/changing'))
  t.match(verdictOf(await replay(kernel, token)), /^Only timings changed/)

  version = 2
  t.match(
    verdictOf(await replay(kernel, token)),
    '3 changes warnings (0 → 1)1 response header (x-version)1 log message',
  )
  version = 3
  const failed = verdictOf(await replay(kernel, token))
  t.match(
    failed,
    /^200 OK → Error 500 Internal Server Error\b.*; \d+ changes status \(200 → 500\)exception \(none → TypeError\)/,
  )
  t.match(failed, '6 templates (site/partnership, site/layout, site/header, …)')
  version = 1
  const file = path.join(directory, 'templates/site/partnership.hbs')
  writeFileSync(file, readFileSync(file, 'utf8').replace('</h1>', ', a new word</h1>'))
  t.match(
    verdictOf(await replay(kernel, token)),
    /^Only timings changed/,
    'templates are read again when the server says so',
  )
  kernel.app.view.load()
  t.match(verdictOf(await replay(kernel, token)), /^Both 200 OK; 1 change response body \(1 difference\) Replay again$/)
})

t.test('a page asks for a confirmation before a change, and for values that are not stored', async t => {
  const bodies: string[] = []
  const kernel = await createProfiledKernel(t, {
    handlers: {
      '/act': async ({ body, cookies, headers }) => {
        bodies.push(await body.text())
        return Response.text([cookies.get('session'), headers.get('authorization'), headers.get('x-api-key')].join())
      },
    },
  })
  const { client, records, storage } = kernel
  const secrets = {
    cookie: `session=${canary}1; theme=x`,
    authorization: `Bearer ${canary}2`,
    'x-api-key': `${canary}3`,
  }
  const original = await client.post('/act?token=abc', {
    headers: secrets,
    form: { name: 'Ada', password: `${canary}4` },
  })
  const token = tokenOf(original)
  const shown = plainEquals((await client.get(`/_profiler/${token}`)).text)
  t.match(shown, `<a class="button small" href="/_profiler/${token}/replay" data-key="r"`)

  const unasked = await client.post(`/_profiler/${token}/replay`, ours)
  t.equal(unasked.status, 303)
  t.equal(unasked.headers.get('location'), `/_profiler/${token}/replay`)
  const page = await client.follow(unasked)
  t.equal(page.status, 200)
  const html = plainEquals(page.text)
  const text = textOf(html)
  t.match(text, 'POST may change data.')
  t.match(text, 'cookie was sent with session, theme')
  t.match(text, 'Secrets in the body are masked as ******.')
  t.match(html, /<textarea name="secret-body" rows="4" spellcheck="false">\nname=Ada&amp;password=\*{6}<\/textarea>/)
  t.match(html, 'name="secret-target" value="/act?token=******"')
  for (const name of ['cookie', 'authorization', 'x-api-key']) t.match(html, `name="secret-header-${name}"`)
  t.match(html, 'name="confirmed" value="1" required')
  t.equal(bodies.length, 1, 'nothing was sent')

  const form = {
    confirmed: '1',
    'secret-header-cookie': ` ${secrets.cookie} `,
    'secret-header-authorization': secrets.authorization,
    'secret-header-x-api-key': secrets['x-api-key'],
    'secret-target': '/act?token=abc',
    'secret-body': `name=Ada&password=${canary}4`,
  }
  const same = await replay(kernel, token, { form })
  t.match(verdictOf(same), /^Only timings changed[^A-Z]* Replay again/)
  t.equal(bodies[1], bodies[0])

  const bare = await replay(kernel, token, { form: { confirmed: '1', 'secret-target': 'http://elsewhere/' } })
  t.match(verdictOf(bare), /Request differs:.* 3 request headers \(authorization, cookie, x-api-key\)/)
  t.equal(bodies[2], 'name=Ada&password=******', 'what is known is sent')
  const everything = [...records, ...(await storage.search({ limit: 99 })).summaries]
  for (const { token } of (await storage.search({ limit: 99 })).summaries) {
    t.notMatch(JSON.stringify(await storage.find(token)), canary)
  }
  t.notMatch(JSON.stringify(everything), canary)

  const wrong = await client.post(`/_profiler/${token}/replay`, {
    ...ours,
    form: { ...form, 'secret-header-cookie': 'ä…' },
  })
  t.equal(wrong.status, 422)
  t.match(textOf(wrong.text).replaceAll('&quot;', '"'), 'The header "cookie" cannot be sent')
  t.notMatch(wrong.text, 'ä…')
  t.notMatch(wrong.text, canary)
})

t.test('a supplied body has the intended line breaks', async t => {
  const seen: string[] = []
  const kernel = await createProfiledKernel(t, {
    handlers: {
      '/take': async ({ body }) => {
        if (body.contentType === 'multipart/form-data') seen.push([...(await body.formData())].map(String).join())
        else seen.push(await body.text())
        return Response.text('taken')
      },
    },
  })
  const { client } = kernel
  const send = (token: string, body: string) => replay(kernel, token, { form: { confirmed: '1', 'secret-body': body } })
  const text = tokenOf(await client.post('/take', { body: 'one\ntwo', headers: { 'content-type': 'text/plain' } }))
  await send(text, 'three\r\nfour')
  t.equal(seen.at(-1), 'three\nfour')
  const upload = await client.post('/take', { upload: { name: 'Ada', document: { name: 'cv.txt', content: 'text' } } })
  const shown = (await client.get(`/_profiler/${tokenOf(upload)}/replay`)).text
  t.match(textOf(shown), '1 file will be empty: file contents are not stored.')
  const [, planned = ''] = /<textarea[^>]*>\n([\s\S]*?)<\/textarea>/.exec(shown) ?? []
  const body = planned.replaceAll('&quot;', '"').replaceAll('&#x3D;', '=').replaceAll('\r\n', '\n')
  t.match(verdictOf(await send(tokenOf(upload), body)), 'Only timings changed')
  t.match(seen.at(-1), /^name,Ada,document,/)
  await send(tokenOf(upload), body.replace('Ada', 'Eve'))
  t.match(seen.at(-1), /^name,Eve,document,/)
})

t.test('sub-requests and unknown profiles are not replayed', async t => {
  const { client, storage } = await createProfiledKernel(t)
  const { headers } = await client.get('/nowhere')
  const [main, sub] = [headers.get('x-debug-token'), headers.get('x-previous-debug-token')]
  const answer = await client.post(`/_profiler/${sub}/replay`, ours)
  t.equal(answer.headers.get('location'), `/_profiler/${sub}/replay`)
  const html = plainEquals((await client.follow(answer)).text)
  t.match(textOf(html), 'A sub-request is a part of another request: replay the main request.')
  t.match(html, `<a class="button" href="/_profiler/${main}">`)
  t.notMatch(html, '<form')
  storage.append(createRecord({ token: '00000a', url: 'no url' }), '{}')
  t.match(textOf((await client.get('/_profiler/00000a/replay')).text), 'The recorded URL is not valid.')
  t.equal((await client.get('/_profiler/ffffff/replay')).status, 404)
  t.equal((await client.post('/_profiler/ffffff/replay', ours)).status, 404)
})

t.test('a replay with its session continues the session, and its redirect is not followed', async t => {
  const kernel = await createProfiledKernel(t, { directory: t.testdir() })
  const { client, profileOf } = kernel
  await client.get('/count')
  const counted = await client.get('/count')
  const [, session = ''] = /^session=(.*)$/.exec(client.cookies.toHeader()) ?? []
  const form = { 'secret-header-cookie': `session=${session}` }
  t.match(
    verdictOf(await replay(kernel, tokenOf(counted), { form })),
    '1 change response body (1 difference) Replay again',
    'the next number',
  )
  t.match(
    verdictOf(await replay(kernel, tokenOf(counted))),
    /response header.*set-cookie/,
    'without the cookie it is another session',
  )
  const own = await replay(kernel, tokenOf(counted), { form: { 'own-cookies': '1' } })
  t.match(verdictOf(own), '1 change response body (1 difference) Replay again', "with the browser's own cookies")
  const asked = textOf((await client.get(`/_profiler/${tokenOf(counted)}/replay`)).text)
  t.match(asked, 'Use my cookies: those of this browser')
  const { storage } = kernel
  const { summaries } = await storage.search({ limit: 99 })
  for (const { token } of summaries) t.notMatch(JSON.stringify(await storage.find(token)), session)
  const stranger = kernel.createClient()
  const without = textOf((await stranger.get(`/_profiler/${tokenOf(counted)}/replay`)).text)
  t.notMatch(without, 'Use my cookies', 'a browser without cookies')

  const redirected = tokenOf(await client.get('/redir'))
  t.hasStrict((await profileOf(await client.get('/noslash'))).data.redirects, [{ token: redirected }])
  await replay(kernel, redirected)
  t.equal((await profileOf(await client.get('/noslash'))).data.redirects, undefined)
})

t.test('requests from other sites cannot start a replay', async t => {
  const { client, storage } = await createProfiledKernel(t)
  const token = tokenOf(await client.get('/partnership'))
  for (const headers of [{}, { origin: 'http://evil.example' }, { 'sec-fetch-site': 'cross-site' }]) {
    t.equal((await client.post(`/_profiler/${token}/replay`, { headers: { ...headers } })).status, 404)
  }
  await turns()
  const { summaries } = await storage.search({
    limit: 99,
    filters: [{ field: 'url', test: 'contains', value: 'partner' }],
  })
  t.equal(summaries.length, 1)
})

t.test('a replay for a client that was refused debug output has no credentials of the developer', async t => {
  const sent: string[] = []
  const kernel = await createProfiledKernel(t, {
    handlers: {
      '/private': ({ headers }) => {
        sent.push(`${headers.get('cookie')} ${headers.get('authorization')}`)
        throw new TypeError('on purpose')
      },
    },
  })
  const { client, storage } = kernel
  const stranger = { cookie: 'session=stranger', authorization: 'Basic stranger' }
  const developer = { cookie: 'session=developer', authorization: 'Basic developer' }
  await client.get('/private', { headers: { ...stranger, via: '1.1 proxy.test' } })
  await turns()
  const { summaries } = await storage.search({
    limit: 9,
    filters: [{ field: 'url', test: 'contains', value: 'private' }],
  })
  const token = String(summaries.find(({ parent }) => parent === null)?.token)
  const ask = (action: string, form: Record<string, string>) =>
    client.post(`/_profiler/${token}/${action}`, { headers: { ...ours.headers, ...developer }, form })
  t.equal((await ask('verify', { flaw: 'exception' })).status, 200)
  t.equal((await ask('replay', { 'own-cookies': '1' })).status, 303)
  t.strictSame(sent, ['session=stranger Basic stranger', ...Array(4).fill('null null')])
  const form = await client.get(`/_profiler/${token}/replay`, { headers: developer })
  t.notMatch(textOf(form.text), 'Use my cookies')
  await ask('replay', { 'secret-header-cookie': 'session=given' })
  t.equal(sent.at(-1), 'session=given null', 'values that the developer enters are sent')
})

t.test('the debug gate refuses the replay of a refused request', async t => {
  const kernel = await createProfiledKernel(t)
  const { client, storage } = kernel
  const { port, raw } = await serveKernel(t, kernel)
  const isRecording = async () => (await client.get('/partnership')).headers.has('x-debug-token')
  const pauseWith = (...fields: string[]) =>
    raw(
      ['POST /_profiler/pause HTTP/1.1', `Host: localhost:${port}`, `Origin: http://localhost:${port}`, ...fields]
        .concat('Sec-Fetch-Site: same-origin', 'Connection: close', 'Content-Length: 0', '\r\n')
        .join('\r\n'),
    )

  t.match(await pauseWith('X-Forwarded-For: 127.0.0.1'), /^HTTP\/1\.1 404 /)
  t.strictSame((await storage.search({ limit: 1 })).summaries, [], 'the profiler records no refused request to itself')
  const data = { request: { isDebugAllowed: false, headers: [['origin', 'http://localhost']] } }
  const pause = { token: '00000a', method: 'POST', url: 'http://localhost/_profiler/pause', data }
  storage.append(createRecord(pause), '{}')
  const form = await client.get('/_profiler/00000a/replay')
  t.match(textOf(form.text), 'The client may not see debug output')
  const unrecorded = await replay(kernel, '00000a', { form: { confirmed: '1' } })
  t.match(textOf(unrecorded.text), 'The replay has a response, but no profile.')
  t.ok(await isRecording(), 'the replay has paused nothing')
  storage.append(createRecord({ token: '00000b', url: 'http://localhost/partnership', data }), '{}')
  const page = await replay(kernel, '00000b')
  t.match((await storage.find(replayOf(page)))?.profile.data.request, { isDebugAllowed: false }, 'nor would its replay')

  const { profile } = await kernel.storedOf(await client.get('/partnership'))
  t.match(profile.data.request, { isDebugAllowed: true })
  t.match(await pauseWith(), /^HTTP\/1\.1 303 /, 'without the header of a proxy it would')
  t.notOk(await isRecording())
})

t.test('replays are recorded while recording is paused, and if only failures are recorded', async t => {
  const kernel = await createProfiledKernel(t)
  const { client } = kernel
  const token = tokenOf(await client.get('/partnership'))
  await client.post('/_profiler/pause', ours)
  t.match(verdictOf(await replay(kernel, token)), 'Only timings changed')
  const { storage, ...picky } = await createProfiledKernel(t, { variables: { PROFILER_ONLY_ERRORS: '1' } })
  storage.append(createRecord({ token: '00000a', url: 'http://localhost/partnership' }), '{}')
  const page = await replay(picky, '00000a')
  t.hasStrict((await storage.find(replayOf(page)))?.profile.summary, { status: 200, route: 'partnership' })
})

/** Creates a replayer for a kernel with one route. */
async function createReplayer(
  t: Test,
  answer: () => Response | Promise<Response>,
  patience: Partial<ReplayerServices>,
) {
  const { app, storage } = await createProfiledKernel(t, { handlers: { '/answer': answer } })
  const kept: string[] = []
  app.signals.on('profile.saved', ({ outcome, token }) => kept.push(`${token} ${outcome}`))
  const tokens: string[] = []
  const profiler = {
    find: () => ({ token: 'abcdef' }) as never,
    whenStored: async (token: string) => void tokens.push(token),
  }
  const { debugGate, kernel } = app
  const replayer = new Replayer({ kernel, profiler, debugGate, ...patience })
  const plan = planReplay(createProfile({}, { url: 'http://localhost/answer' }))
  if (!plan.isPossible) throw new Error('It is possible.')
  return { kept, plan, replayer, storage, tokens }
}

t.test('a replay ends after its time limit without a response', async t => {
  let answer = (_response: Response) => {}
  const answered = new Promise<Response>(resolve => (answer = resolve))
  const { kept, plan, replayer } = await createReplayer(t, () => answered, { patience: 20 })
  const result = await replayer.replay(plan)
  t.strictSame(result, { problem: 'There was no response in time. The profile appears when the request is complete.' })
  answer(Response.text('late'))
  await until(() => kept.length !== 0)
  t.match(kept, [/ complete$/], 'it is over later')
})

t.test('an endless stream is aborted', async t => {
  const endless = new PassThrough()
  const { kept, plan, replayer, tokens } = await createReplayer(t, () => Response.stream(endless), {
    streamPatience: 20,
  })
  t.strictSame(await replayer.replay(plan), { token: 'abcdef' })
  t.strictSame(tokens, ['abcdef'])
  t.ok(endless.destroyed)
  await until(() => kept.length !== 0)
  t.match(kept, [/ aborted$/])
  const whole = await createReplayer(t, () => Response.stream(Readable.from(['a', 'b'])), {})
  await whole.replayer.replay(whole.plan)
  await until(() => whole.kept.length !== 0)
  t.match(whole.kept, [/ complete$/])
})

t.test('a stream that fails in a replay has the same outcome as on a server', async t => {
  async function* failing(): AsyncGenerator<string> {
    yield 'a'
    throw new Error('no more')
  }
  const refusing = new Readable({
    read() {
      this.destroy(new Error('nothing at all'))
    },
  })
  for (const [stream, outcome] of [
    [Readable.from(failing()), / stream-failed$/],
    [refusing, / complete$/],
  ] as const) {
    const { kept, plan, replayer } = await createReplayer(t, () => Response.stream(stream), {})
    await replayer.replay(plan)
    await until(() => kept.length > 0)
    t.match(kept.at(-1), outcome)
  }
})

t.test('a late response and a missing profile are reported', async t => {
  const { app, client, storage } = await createProfiledKernel(t)
  t.ok(app)
  storage.append(createRecord({ token: '00000a', url: 'http://localhost/partnership' }), '{}')
  const { has } = storage
  storage.has = () => true
  const page = await client.post('/_profiler/00000a/replay', ours)
  storage.has = has
  t.equal(page.status, 504)
  t.match(textOf(page.text), 'The replay has a response, but no profile.')
})
