import assert from 'node:assert'
import { Readable } from 'node:stream'
import { gzipSync } from 'node:zlib'
import {
  type Application,
  type Bundle,
  Headers,
  Request,
  RequestEvent,
  ResponseEvent,
  setCookie,
  TerminateEvent,
} from 'sinfonietta'
import { createRequest } from 'sinfonietta/testing'
import { t } from 'tap'
import { parseSummary } from '#bundles/profiler/profile/parse-profile.ts'
import type { CollectorTypes } from '#bundles/profiler/profile/profile.ts'
import { toServerTiming } from '#bundles/profiler/record/collect.ts'
import { ContentCopier } from '#bundles/profiler/record/copy.ts'
import { Trace } from '#bundles/profiler/record/trace.ts'
import { createConfigCollector, createServerCollector } from '#bundles/profiler/subjects/config/record.ts'
import { createRequestCollector, createResponseCollector } from '#bundles/profiler/subjects/exchange/record.ts'
import { createTemplatesCollector, renderPart } from '#bundles/profiler/subjects/templates/record.ts'
import { RequestBody } from '#lib/body/request-body.ts'
import { readConfig } from '#lib/env/config.ts'
import { defineSettings, Settings } from '#lib/env/settings.ts'
import { Response } from '#lib/http/response.ts'
import { Redactor } from '#lib/redact/redactor.ts'
import { createSignals } from '#lib/signals.ts'
import type { StoredProfile } from '#tests/support/create-profile.ts'
import { createProfiledKernel, waitForProfile } from '#tests/support/profiled-kernel.ts'
import { serveKernel } from '#tests/support/test-server.ts'

const redactor = new Redactor()

function traceOf(request: Request, response?: Response): Trace {
  const trace = new Trace('abcdef', request, undefined)
  trace.response = response
  return trace
}

function collectRequest(request: Request, isAllowed = true) {
  return createRequestCollector(redactor, { allows: () => isAllowed }).collect(traceOf(request))
}

function collectResponse(response: Response) {
  return createResponseCollector(redactor, new ContentCopier(redactor)).collect(traceOf(createRequest(), response))
}

function requestWith(type: string | undefined, content: string | Readable, length?: number): Request {
  const stream = typeof content === 'string' ? Readable.from([Buffer.from(content)]) : content
  const headers = length === undefined ? {} : { 'content-length': String(length) }
  return new Request({ target: '/', method: 'POST', headers, body: new RequestBody({ stream, contentType: type }) })
}

async function collectBody(type: string | undefined, content: string) {
  const request = requestWith(type, content)
  await request.body.bytes()
  return collectRequest(request).body
}

/** The data of a collector. */
function dataOf<name extends keyof CollectorTypes>({ profile }: StoredProfile, name: name): CollectorTypes[name] {
  const data = profile.collectors[name]
  assert(data)
  return data
}

t.test('the request', async t => {
  t.test('a plain request has headers as they were sent, and attributes; empty parts are absent', async t => {
    const headers = Headers.fromRaw(['Host', 'localhost', 'X-Twice', 'a', 'x-twice', 'b'])
    const request = new Request({ target: '/', headers })
    t.strictSame(collectRequest(request), {
      httpVersion: '1.1',
      headers: [
        ['Host', 'localhost'],
        ['X-Twice', 'a'],
        ['x-twice', 'b'],
      ],
      attributes: [],
      isDebugAllowed: true,
      id: request.id,
    })
    t.equal(collectRequest(request, false).isDebugAllowed, false)
  })

  t.test('query values are kept one by one, and masked by name and by pattern', async t => {
    const { query } = collectRequest(createRequest('/?a=1&a=2&user[password]=x&to=%2F%3Ftoken%3Dabc&empty'))
    t.strictSame(query, [
      ['a', '1'],
      ['a', '2'],
      ['user[password]', '******'],
      ['to', '/?token=******'],
      ['empty', ''],
    ])
  })

  t.test('headers are masked by name and by pattern, cookies always', async t => {
    const headers = { cookie: 'theme=dark; none=; bare', 'x-api-key': 'abc', referer: 'http://u:p@host/' }
    const data = collectRequest(createRequest('/', { headers }))
    t.strictSame(data.headers, [
      ['host', 'localhost'],
      ['cookie', 'theme=******; none=;******'],
      ['x-api-key', '******'],
      ['referer', 'http://******@host/'],
    ])
  })

  t.test('attributes that are objects are named, and the length is bounded', async t => {
    const request = createRequest()
    class Thing {}
    const attributes: [string, unknown, unknown][] = [
      ['_controller', function home() {}, 'home'],
      ['exception', new TypeError('wrong: ?token=abc'), 'TypeError: wrong: ?token=******'],
      ['thing', new Thing(), '[Thing]'],
      ['password', 'x', '******'],
      ['_stopwatch_token', 'abcdef', 'abcdef'],
      ['long', 'x'.repeat(5000), `${'x'.repeat(4095)}…`],
      ['many', [1, 2], [1, 2]],
    ]
    for (const [name, value] of attributes) request.attributes.set(name, value)
    t.strictSame(
      collectRequest(request).attributes,
      attributes.map(([name, , copy]) => [name, copy]),
    )
    for (const [controller, name] of [
      ['error_controller', 'error_controller'],
      [{ name: 'item', arguments: [], call: () => undefined }, 'item'],
      [() => undefined, 'anonymous'],
    ] as const) {
      request.attributes.set('_controller', controller)
      t.strictSame(collectRequest(request).attributes[0], ['_controller', name])
    }
  })
})

t.test('the body', async t => {
  t.test('JSON is kept as masked data, even if the application has not parsed it', async t => {
    for (const type of ['application/json', 'application/ld+json']) {
      t.strictSame(await collectBody(type, '\ufeff{"a":{"password":"x"},"list":[1,null]}'), {
        type,
        length: 41,
        state: 'read',
        json: [{ a: { password: '******' }, list: [1, null] }],
      })
    }
    t.strictSame((await collectBody('application/json', 'null'))?.json, [null])
  })

  t.test('a form is kept field by field, even if the application has not parsed it', async t => {
    const type = 'application/x-www-form-urlencoded'
    const expected = {
      type,
      length: 18,
      state: 'read',
      form: [
        ['a', '1'],
        ['a', '2'],
        ['pin', '******'],
      ],
      files: [],
    }
    t.strictSame(await collectBody(type, 'a=1&a=2&pin=1234xx'), expected)
    const oauth = await collectBody(type, 'code=abc&grant_type=authorization_code')
    t.strictSame(oauth?.form, [
      ['code', '******'],
      ['grant_type', 'authorization_code'],
    ])
    const request = requestWith(type, 'a=1&a=2&pin=1234xx')
    await request.formData()
    t.strictSame(collectRequest(request).body, expected)
  })

  t.test('a body that cannot be parsed, or takes too long, is kept as type and length', async t => {
    const cases: [type: string | undefined, content: string, note: RegExp][] = [
      ['text/plain', 'hunter2', /Only forms and JSON/],
      [undefined, 'hunter2', /Only forms and JSON/],
      ['application/json', '{hunter2', /Not a valid JSON/],
      ['application/json', `"${'x'.repeat(262_144)}"`, /Too large/],
      ['application/x-www-form-urlencoded', '%ff', /Not a valid form/],
    ]
    for (const [type, content, note] of cases) {
      const { note: actual, ...rest } = (await collectBody(type, content)) ?? {}
      t.strictSame(rest, { type: type ?? '', length: content.length, state: 'read' })
      t.match(actual, note)
    }
  })

  t.test('at most 16 KiB of a body are kept, and a cut body is marked', async t => {
    const many = Object.fromEntries(Array.from({ length: 100 }, (_, index) => [`n${index}`, 'x'.repeat(1000)]))
    const text = JSON.stringify((await collectBody('application/json', JSON.stringify(many)))?.json)
    t.match(text, /…/)
    t.ok(text.length < 18_000)
  })

  t.test('an unread body is described by its headers, and stays unread', async t => {
    const request = requestWith('multipart/form-data; boundary=x', new Readable({ read: () => t.fail('was read') }), 12)
    t.strictSame(collectRequest(request).body, { type: 'multipart/form-data', length: 12, state: 'unread' })
    t.equal(request.body.wasRead, false)
  })

  t.test('a body that could not be read is marked', async t => {
    const request = requestWith('application/json', 'too large')
    request.body.limit = 3
    await t.rejects(request.body.bytes(), { code: 'BODY_TOO_LARGE' })
    t.strictSame(collectRequest(request).body, { type: 'application/json', length: null, state: 'broken' })
  })

  t.test('the body of a sub-request is the body of its parent', async t => {
    const request = requestWith('application/json', '{}')
    await request.body.bytes()
    t.strictSame(collectRequest(request.duplicate()).body, { type: 'application/json', length: 2, state: 'parent' })
  })

  t.test('files are kept as name, field, type and size', async t => {
    const { client, storedOf } = await createProfiledKernel(t, { directory: t.testdir() })
    const file = { name: 'cv.txt', type: 'text/plain', content: 'hunter2' }
    const stored = await storedOf(await client.post('/form', { upload: { a: 'b', pin: '1', doc: file } }))
    t.hasStrict(dataOf(stored, 'request').body, {
      type: 'multipart/form-data',
      state: 'read',
      form: [
        ['a', 'b'],
        ['pin', '******'],
      ],
      files: [{ field: 'doc', name: 'cv.txt', type: 'text/plain', size: 7 }],
    })
    t.notMatch(JSON.stringify(stored.profile.data), /hunter2|sinfonietta-|\/tmp/)
  })
})

t.test('the response', async t => {
  t.test('a large cookie has the bytes of its name and its value, without the sign between them', async t => {
    const response = new Response('')
    setCookie(response.headers, 'basket', 'x'.repeat(4090))
    setCookie(response.headers, 'small', 'x'.repeat(2994))
    t.strictSame(collectResponse(response)?.largeCookies, [['basket', 4096]])
  })

  t.test('the attributes of cookies are kept, and the values are masked', async t => {
    const response = new Response('é')
    setCookie(response.headers, 'session', 'abcdef', { maxAge: 60 })
    for (const field of ['gone=; Max-Age=0', 'bare', 'a=b', '']) response.headers.append('Set-Cookie', field)
    t.strictSame(collectResponse(response), {
      headers: [
        ['set-cookie', 'session=******; Max-Age=60; Path=/; HttpOnly; SameSite=Lax'],
        ['Set-Cookie', 'gone=; Max-Age=0'],
        ['Set-Cookie', '******'],
        ['Set-Cookie', 'a=******'],
        ['Set-Cookie', ''],
      ],
      size: 2,
      isStreamed: false,
      content: { type: '', length: 2, text: 'é' },
    })
  })

  t.test('headers are masked by name and by pattern, except the headers of the profiler', async t => {
    const headers = { 'x-api-key': 'abc', location: '/?token=abc', 'x-debug-token': 'abcdef' }
    t.strictSame(collectResponse(new Response(null, { headers }))?.headers, [
      ['x-api-key', '******'],
      ['location', '/?token=******'],
      ['x-debug-token', 'abcdef'],
    ])
  })

  t.test('the default id of a request is kept as it is; another id is masked like other headers', async t => {
    const id = '0123456789abcdef'.repeat(2)
    const ids = [id, 'token=hunter2', `Bearer ${id}`]
    const headers = ids.map((id): [string, string] => ['X-Request-Id', id])
    const values = collectResponse(new Response(null, { headers }))?.headers.map(([, value]) => value)
    t.strictSame(values, [id, 'token=******', 'Bearer ******'])
  })

  t.test('times of the profiler are kept; times of the application are masked like other headers', async t => {
    const trace = traceOf(createRequest())
    const renders = renderPart.of(trace)
    const render = renders.begin('page', {}, [], 1)
    if (render !== undefined) renders.end(render, 2.5)
    const timing = toServerTiming(trace, [createTemplatesCollector(new Redactor())])
    t.match(timing, /Total.*Templates/)
    const response = new Response(null, { headers: { 'server-timing': timing } })
    const own = 'profile;desc="abcdef", total;desc="Total";dur=1'
    for (const value of [`${own}, db;desc="password=hunter2"`, 'db;desc="password=hunter2";dur=5']) {
      response.headers.append('Server-Timing', value)
    }
    const values = collectResponse(response)?.headers.map(([, value]) => value)
    t.equal(values?.[0], timing)
    t.notMatch(JSON.stringify(values), /hunter2/)
  })

  t.test('at most 500 headers are kept', async t => {
    const response = new Response()
    for (let index = 0; index < 600; index++) response.headers.append(`x-${index}`, 'x')
    const { headers = [] } = collectResponse(response) ?? {}
    t.equal(headers.length, 501)
    t.strictSame(headers.at(-1), ['…', '…'])
  })

  t.test('the size is the length of the body, or the announced length; a stream has no size', async t => {
    const sizeOf = (response: Response) => {
      const { isStreamed, size } = collectResponse(response) ?? {}
      return [size, isStreamed]
    }
    t.strictSame(sizeOf(new Response()), [0, false])
    t.strictSame(sizeOf(new Response(new Uint8Array(3))), [3, false])
    t.strictSame(sizeOf(new Response(null, { headers: { 'content-length': '7' } })), [7, false])
    t.strictSame(sizeOf(Response.stream(Readable.from([]))), [null, true])
    const compressed = new Response(new Uint8Array(3), { headers: { 'content-length': '3' } })
    compressed.originalSize = 9
    t.strictSame(sizeOf(compressed), [9, false], 'before it was compressed')
    t.strictSame(sizeOf(Response.stream(Readable.from([]), { headers: { 'content-length': '7' } })), [7, true])
  })

  t.test('the size of a main request is the number of sent bytes, for HEAD and streams too', async t => {
    const { app, storedOf } = await createProfiledKernel(t, { directory: t.testdir() })
    const { url } = await serveKernel(t, { app })
    for (const [method, path, size] of [
      ['GET', '/noslash', 7],
      ['HEAD', '/noslash', 7],
      ['GET', '/stream', null],
    ] as const) {
      const response = await fetch(`${url}${path}`, { method })
      await response.text()
      const data = dataOf(await storedOf(response), 'response')
      t.equal(data.size, size)
      // Node adds the rest.
      const sent = [...response.headers].filter(
        ([name]) => !/^(?:connection|date|keep-alive|transfer-encoding)$/.test(name),
      )
      t.strictSame(data.headers.toSorted(), sent.toSorted())
    }
  })

  t.test('a status without a body has the size 0, whatever the controller has returned', async t => {
    const statuses = [204, 205, 304]
    const handlers = Object.fromEntries(
      statuses.map(status => [
        `/${status}`,
        () => new Response('body', { status, headers: { 'content-length': '4', 'content-type': 'text/plain' } }),
      ]),
    )
    const { app, client, storedOf } = await createProfiledKernel(t, { directory: t.testdir(), handlers })
    const { url } = await serveKernel(t, { app })
    const answers = await Promise.all(statuses.flatMap(status => [fetch(`${url}/${status}`), client.get(`/${status}`)]))
    const stored = await Promise.all(answers.map(async answer => dataOf(await storedOf(answer), 'response')))
    t.strictSame(
      stored.map(({ content, size }) => [size, content]),
      answers.map(() => [0, undefined]),
    )
  })

  t.test('the content of a response is stored as it was made: before the toolbar and the compression', async t => {
    const page = `<!DOCTYPE html><title>Shop</title><body>${'<p>Hello</p>'.repeat(200)}</body>`
    const { app, storedOf } = await createProfiledKernel(t, {
      directory: t.testdir(),
      handlers: {
        '/page': () => Response.html(page),
        '/data': () => Response.json({ name: 'Ada', password: 'x', list: [1, null] }),
        '/empty': () => Response.empty(),
        '/stream': () => Response.stream(Readable.from(['one']), { headers: { 'content-type': 'text/plain' } }),
        '/encoded': () =>
          new Response(gzipSync('text'), { headers: { 'content-encoding': 'gzip', 'content-type': 'text/plain' } }),
        '/image': () => new Response(new Uint8Array([1, 2]), { headers: { 'content-type': 'image/png' } }),
      },
    })
    const { url } = await serveKernel(t, { app })
    const contentOf = async (path: string, init?: RequestInit) => {
      const response = await fetch(`${url}${path}`, init)
      await response.arrayBuffer()
      return dataOf(await storedOf(response), 'response').content
    }
    t.strictSame(await contentOf('/page'), { type: 'text/html', length: page.length, text: page })
    t.strictSame(await contentOf('/data'), {
      type: 'application/json',
      length: 45,
      json: [{ name: 'Ada', password: '******', list: [1, null] }],
    })
    t.equal(await contentOf('/page', { method: 'HEAD' }), undefined)
    t.equal(await contentOf('/empty'), undefined)
    t.equal(await contentOf('/stream'), undefined)
    t.match(await contentOf('/encoded'), { type: 'text/plain', length: 4, text: 'text' })
    t.match(await contentOf('/image'), {
      type: 'image/png',
      length: 2,
      digest: /^[\da-f]{32}$/,
      note: 'Only text is stored.',
    })
    t.equal(await contentOf('/missing', { headers: { accept: 'text/html' } }), undefined, "the profiler's error page")
    t.match(await contentOf('/missing', { headers: { accept: 'application/json' } }), { json: [{ status: 404 }] })
  })

  t.test('without a response there is no data', async t => {
    t.equal(createResponseCollector(redactor, new ContentCopier(redactor)).collect(traceOf(createRequest())), undefined)
  })
})

t.test('the session', async t => {
  t.test('an unused session is not started, and not recorded', async t => {
    const { client, storedOf } = await createProfiledKernel(t, { directory: t.testdir(), bundles: [sessions] })
    for (const path of ['/noslash', '/asked']) {
      const response = await client.get(path)
      t.equal((await storedOf(response)).profile.collectors.session, undefined)
      t.notOk(response.headers.has('set-cookie'))
    }
  })

  t.test('attributes, flash messages and uses are recorded, without the id; nothing is removed', async t => {
    const { app, client, storage, storedOf } = await createProfiledKernel(t, {
      directory: t.testdir(),
      bundles: [sessions],
    })
    const response = await client.get('/used')
    const id = String(client.cookies.get('session'))
    const stored = await storedOf(response)
    const session = dataOf(stored, 'session')
    t.match(session, {
      isStateless: false,
      useCount: 3,
      attributes: { user: { name: 'Ada', password: '******' } },
      flashes: { notice: ['saved: ?token=******'] },
      store: 'FileSessionStore',
      metadata: { createdAt: Number, lastUsedAt: Number, expiresAt: Number },
      uses: [{ method: 'set', at: Number }, { method: 'flash' }],
    })
    t.equal(session.uses.length, 2, 'the third use is one of the sub-request')
    t.match(session.uses[0]?.trace[0], /record\.test\.(ts|js):\d+:\d+/)
    t.ok(session.uses.every(({ trace }) => trace.length <= 5 && !trace.join().includes(`${app.directory}/`)))
    t.notOk(JSON.stringify(stored).includes(id))
    t.notOk(JSON.stringify(stored).includes('hunter2'))

    const child = await waitForProfile(storage, String(stored.profile.children[0]))
    t.hasStrict(child.data.session, { uses: [{ method: 'has' }] })
    t.equal((await client.get('/flashes')).text, 'saved: ?token=abc')
  })

  t.test('a use has the frames of the application', async t => {
    const { client, storedOf } = await createProfiledKernel(t, { bundles: [sessions] })
    const [use] = dataOf(await storedOf(await client.get('/used')), 'session').uses
    t.match(use?.trace, [/^at .*tests\/.+\/record\.test\.[jt]s:\d+:\d+/])
    t.equal(use?.trace.length, 1, 'without those of the kernel')
  })

  t.test('changes that are stored at once are recorded as uses, with the values after them', async t => {
    const { client, storedOf } = await createProfiledKernel(t, { directory: t.testdir(), bundles: [sessions] })
    await client.get('/used')
    const session = dataOf(await storedOf(await client.get('/at-once')), 'session')
    t.match(session.uses, [{ method: 'update' }, { method: 'take' }])
    t.ok(session.uses.every(({ trace: [site = ''] }) => /record\.test\.(ts|js):\d+:\d+/.test(site)))
    t.strictSame(session.attributes, { visits: 1 })
  })

  t.test('a change that the store does not have is lost', async t => {
    const change: Bundle = {
      name: 'change',
      register({ dispatcher, routes }) {
        const set = ({ request }: { readonly request: Request }, path: string) =>
          request.path === path ? request.session.set('x', 1) : undefined
        dispatcher.on(
          RequestEvent,
          event => {
            if (event.request.path === '/early') event.respond(Response.text('early'))
          },
          200,
        )
        dispatcher.on(ResponseEvent, event => set(event, '/early'))
        dispatcher.on(ResponseEvent, event => set(event, '/saved'))
        dispatcher.on(ResponseEvent, event => set(event, '/after'), -2000)
        dispatcher.on(TerminateEvent, event => set(event, '/end'))
        dispatcher.on(TerminateEvent, async event => {
          await set(event, '/end-saved')
          if (event.request.path === '/end-saved') await event.request.session.save()
        })
        for (const path of ['/saved', '/after', '/end', '/end-saved']) routes.get(path, path, () => Response.text(path))
        routes.add({
          name: 'refused',
          path: '/refused',
          defaults: { _stateless: true },
          controller: async ({ session }: Request) => {
            await session.set('x', 1)
            return Response.text('refused')
          },
        })
        routes.get('large', '/large', async ({ session }) => {
          await session.set('x', 'x'.repeat(80_000))
          return Response.text('large')
        })
        routes.get('both', '/both', async ({ session }) => {
          await session.set('a', 1)
          await session.save()
          await session.set('b', 1)
          await session.save()
          return Response.stream(
            Readable.from(
              (async function* () {
                await session.get('a')
                await session.delete('a')
                yield 'x'
              })(),
            ),
          )
        })
      },
    }
    const { client, storedOf } = await createProfiledKernel(t, { directory: t.testdir(), bundles: [change] })
    const read = async (path: string) => {
      const { isStored, uses } = dataOf(
        await storedOf(await client.get(path, { headers: { cookie: 'a=b' } })),
        'session',
      )
      return [isStored, ...uses.map(({ isUnsaved, method }) => (isUnsaved ? `${method} lost` : method))]
    }
    t.strictSame(await read('/saved'), [true, 'set'])
    t.strictSame(await read('/end-saved'), [true, 'set'])
    t.strictSame(await read('/both'), [true, 'set', 'set', 'get', 'delete lost'])
    t.strictSame(await read('/early'), [false], 'a session that is never stored')
    t.strictSame(await read('/refused'), [undefined, 'set lost'])
    for (const path of ['/after', '/end', '/large']) t.strictSame(await read(path), [false, 'set lost'], path)
  })

  t.test('a refused use on a stateless route is recorded', async t => {
    const { client, storedOf } = await createProfiledKernel(t, { directory: t.testdir() })
    t.hasStrict(dataOf(await storedOf(await client.get('/stateless')), 'session'), {
      isStateless: true,
      useCount: 1,
      uses: [{ method: 'get' }],
      attributes: undefined,
    })
  })

  t.test('at most 50 uses are recorded, and none for a request that is not recorded', async t => {
    const { client, storedOf, storage } = await createProfiledKernel(t, { directory: t.testdir(), bundles: [sessions] })
    const { uses, useCount } = dataOf(await storedOf(await client.get('/often')), 'session')
    t.equal(uses.length, 50)
    t.equal(useCount, 60)
    const { profiles } = await storage.usage()
    await client.get('/often', { headers: { 'x-profiler': 'off' } })
    t.equal((await storage.usage()).profiles, profiles)
  })
})

t.test('facts of the process', async t => {
  const variables = {
    APP_SECRET: 'a secret of more than thirty-two characters',
    APP_HOSTS: 'example.org',
    DATABASE_URL: 'postgres://me:hunter2000@db/name',
    SHELL: '/bin/sh',
    LOG_LEVEL: 'info',
  }
  const settings = new Settings({ variables, files: { LOG_LEVEL: '.env.local' } })
  const config = readConfig(settings)
  const database = { help: 'the database', default: undefined, secret: true } as const
  settings.declare('site', defineSettings({ DATABASE_URL: database, MAILER_DSN: { help: 'mail', default: undefined } }))
  const redactor = new Redactor(variables)
  redactor.declare(settings.list())
  const signals = createSignals(error => t.error(error))
  const app = { settings, config, directory: '/srv/site', redactor, signals, bundles: ['framework', 'site'] }

  t.test('the server lists all variables, marks those from files, and masks secrets', async t => {
    const { arch, pid, platform, versions } = process
    const argv = ['/usr/bin/node', '/srv/site/bin/start.js', '/srv/site', '--token', 'hunter2', '--port', '8000']
    const execArgv = ['--enable-source-maps']
    const run = { arch, argv, cwd: () => '/srv/site', execArgv, pid, platform, versions }
    const collector = createServerCollector(app, run)
    t.equal(collector.collect(), undefined)
    t.match(collector.describeProcess(), {
      environment: { APP_SECRET: '******', DATABASE_URL: '******', SHELL: '******', LOG_LEVEL: 'info' },
      dotenvNames: ['LOG_LEVEL'],
      process: {
        pid,
        started: /^\d{4}-/,
        'command line': 'node --enable-source-maps bin/start.js . --token ****** --port 8000',
        'working directory': '.',
      },
      versions: { sinfonietta: /^\d+\.\d+\.\d+$/, node: versions.node, handlebars: /^4\./ },
    })
    const elsewhere = createServerCollector(app, { ...run, argv: ['node'], cwd: () => '/home/ada', execArgv: [] })
    t.hasStrict(elsewhere.describeProcess().process, { 'working directory': 'ada' })
    t.notMatch(JSON.stringify(elsewhere.describeProcess()), /home/)
    t.strictSame(collector.describeProcess().edits, [])
    signals.emit('process.restarted', { edits: [{ time: 5, files: ['templates/a.hbs', 'token=hunter2000.hbs'] }] })
    const edit = { time: 5, files: ['templates/a.hbs', 'token=******.hbs'] }
    t.strictSame(collector.describeProcess().edits, [edit])
    signals.emit('files.changed', { files: [] })
    signals.emit('files.changed', { files: ['templates/a.hbs'] })
    t.match(collector.describeProcess().edits, [edit, { time: Number, files: ['templates/a.hbs'] }])
    for (let count = 0; count < 20; count++) signals.emit('files.changed', { files: [`templates/${count}.hbs`] })
    t.equal(collector.describeProcess().edits.length, 20)
    const restarted = createServerCollector(app, { ...run, argv: [...argv, '--edits=[]'] })
    t.notMatch(restarted.describeProcess().process, { 'command line': 'edits' })
  })

  t.test('the configuration has all settings, with secrets masked', async t => {
    const collector = createConfigCollector(app)
    t.equal(collector.collect(), undefined)
    const { settings, ...rest } = collector.describeProcess()
    t.equal(settings.length, 15)
    t.strictSame(
      settings.filter(({ from, name }) => from !== 'default' || name === 'MAILER_DSN'),
      [
        { name: 'APP_SECRET', value: '******', bundle: 'kernel', from: 'environment' },
        { name: 'APP_HOSTS', value: 'example.org', bundle: 'kernel', from: 'environment' },
        { name: 'LOG_LEVEL', value: 'info', bundle: 'kernel', from: '.env.local' },
        { name: 'DATABASE_URL', value: '******', bundle: 'site', from: 'environment' },
        { name: 'MAILER_DSN', value: '', bundle: 'site', from: 'default' },
      ],
    )
    t.strictSame(rest, {
      environment: 'dev',
      isDebug: true,
      logLevel: 'info',
      bundles: ['framework', 'site'],
      hosts: ['example.org'],
      trustedProxies: [],
      debugAllowedIps: [],
      // The folder of this test has no bin/console.
      isOneProgram: true,
    })
  })
})

/** Routes for each use of a session. */
const sessions: Bundle = {
  name: 'sessions',
  register({ kernel, routes }: Application) {
    const asks = async (request: Request) => {
      await request.session.has('user')
      return new Response()
    }
    routes.add({
      name: 'asked',
      path: '/asked',
      controller: (request: Request) => new Response(String(request.session.isStarted)),
    })
    routes.add({
      name: 'used',
      path: '/used',
      controller: async (request: Request) => {
        await request.session.set('user', { name: 'Ada', password: 'hunter2' })
        await request.session.flash('notice', 'saved: ?token=abc')
        await kernel.forward(request, asks)
        return new Response()
      },
    })
    routes.add({
      name: 'flashes',
      path: '/flashes',
      controller: async (request: Request) => new Response(String(await request.session.flashes('notice'))),
    })
    routes.add({
      name: 'at_once',
      path: '/at-once',
      controller: async (request: Request) => {
        await request.session.update('visits', count => Number(count ?? 0) + 1)
        await request.session.take('user')
        return new Response()
      },
    })
    routes.add({
      name: 'often',
      path: '/often',
      controller: async (request: Request) => {
        for (let used = 0; used < 60; used++) await request.session.get('user')
        return new Response()
      },
    })
  },
}

t.test('a summary has the size of the response, its client, and its use in a browser', async t => {
  const { client, profileOf } = await createProfiledKernel(t, {
    handlers: { '/sized': () => new Response('日'), '/pieces': () => new Response(Readable.from(['abc', 'de'])) },
  })
  const read = async (path: string, headers: Record<string, string> = {}) => {
    const { summary } = await profileOf(await client.get(path, { headers }))
    return summary
  }
  const first = await read('/sized', { 'sec-fetch-dest': 'document', 'user-agent': 'one' })
  t.hasStrict(first, { size: 3, destination: 'document' })
  t.match(first.client, /^[0-9a-f]{8}$/)
  t.equal((await read('/sized', { 'user-agent': 'one' })).client, first.client)
  const other = await read('/pieces', { 'sec-fetch-dest': '<b>', 'user-agent': 'two' })
  t.not(other.client, first.client)
  t.equal(other.destination, null, 'any client may send any text')
  const { client: _, destination: __, size: ___, ...old } = first
  t.hasStrict(parseSummary(old), { size: null, client: null, destination: null }, 'of an earlier version')
})
