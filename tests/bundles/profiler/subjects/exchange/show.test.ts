import { type Bundle, type Request, setCookie } from 'sinfonietta'
import { t } from 'tap'
import { formatMoment, formatSize } from '#bundles/profiler/profile/format.ts'
import { toProfile } from '#bundles/profiler/profile/parse-profile.ts'
import { Response } from '#lib/http/response.ts'
import { createProfile } from '#tests/support/create-profile.ts'
import { textOf, unescapeHtml } from '#tests/support/html.ts'
import { createProfiledKernel, shareKernel } from '#tests/support/profiled-kernel.ts'

const { panel, show } = await shareKernel()
const _requestPanel = panel('request')
const _configPanel = panel('config')

const headings =
  'GET Parameters|POST Parameters|Uploaded Files|Request Attributes|Request Headers|Request Content|Response Headers|Request Cookies|Response Cookies|Session Metadata|Session Attributes|Session Usage|Flashes'

t.test('the request panel', async t => {
  t.test('the panel of another server leaves out values that are not known', async t => {
    const text = textOf(
      await show('request', {
        profile: createProfile({
          events: { spans: [[null, 'request', 0, 10]], places: [] },
          request: { attributes: ['_route', '_stopwatch_token'].map(name => [name, 'a1b2c3']) },
          response: { headers: [['content-length', '4']], size: 4 },
        }),
      }),
    )
    t.match(text, 'content-length')
    t.ok(text.indexOf('Request Attributes') < text.indexOf('Response Headers'), 'the request is first')
    t.match(text, '2 set by the profiler')
    t.notMatch(text, /Set by|n\/a|added on sending/)
  })

  t.test('a failed request has every section, its attributes, and a link to the request of the error page', async t => {
    const { client, storedOf, show } = await createProfiledKernel(t, { directory: t.testdir() })
    const response = await client.get('/missing-x?page=2')
    const html = await show('request', await storedOf(response))
    const child = String(response.headers.get('x-previous-debug-token'))
    const [empty = ''] = /Empty: [^<]+/.exec(html) ?? []
    for (const heading of headings.split('|')) {
      const hasHeading = new RegExp(`>${heading} <span class="count">[^<]+</span></h`).test(html)
      t.equal(hasHeading, !empty.includes(heading), `${heading} has a section or is empty`)
    }
    t.match(html, 'Server Parameters</a>')
    t.ok(html.indexOf('id="response"') < html.indexOf('id="request"'), 'the response says why it failed')
    for (const text of ['_stopwatch_token', '_remove_csp_headers', 'x-debug-exception-file', '404 Not Found']) {
      t.match(html, text)
    }
    t.match(html, new RegExp(`<dt>Forwarded to</dt>\\s*<dd><a href="/_profiler/${child}">error_controller</a>`))
    t.match(html, 'Date and Connection are added on sending.')
    const session = textOf(html.slice(html.indexOf('id="session"')))
    t.match(session, /Session\s+Usages\s*0\s+Stateless check enabled\s+no\s+no route/)
  })

  t.test('the pages of the site are stateless, and other routes are not checked', async t => {
    const { client, storedOf, show } = await createProfiledKernel(t, { directory: t.testdir() })
    const checkOf = async (path: string) => {
      const html = await show('request', await storedOf(await client.get(path)))
      return /Stateless check enabled\s+(yes|no no route|no)/.exec(
        textOf(html.slice(html.indexOf('id="session"'))),
      )?.[1]
    }
    t.strictSame(await Promise.all(['/star-photo-booth', '/partnership', '/noslash', '/nope'].map(checkOf)), [
      'yes',
      'yes',
      'no',
      'no no route',
    ])
  })

  t.test('a sub-request shows its attributes, and refers to the body of its parent', async t => {
    const { client, storedOf, show } = await createProfiledKernel(t, { directory: t.testdir() })
    const { headers } = await client.post('/missing-x', { json: {} })
    const stored = await storedOf({ headers }, 'x-previous-debug-token')
    const html = await show('request', stored)
    for (const name of ['_controller', 'exception', 'logger', '_stopwatch_token']) t.match(html, `>${name}</th>`)
    t.match(html, 'The body is in the profile of the parent request.')
    t.notMatch(html, /Forwarded to|Date and Connection are added on sending./)
  })

  t.test('a request that is part of a trace names it; a body without content says so', async t => {
    const { show } = await createProfiledKernel(t, { directory: t.testdir() })
    const traceId = '4bf92f3577b34da6a3ce929d0e0e4736'
    const body = { type: '', length: 0, state: 'read' }
    const own = await show('request', createProfile({ request: { traceId, headers: [], attributes: [], body } }))
    t.match(own, `<dt>Trace</dt><dd><code>${traceId}</code>`)
    t.match(own, /Empty: .*Request Content/)
    const called = createProfile({
      request: { traceId, parentSpanId: '00f067aa0ba902b7', headers: [], attributes: [] },
    })
    t.match(await show('request', called), '<dt>Trace of the caller</dt>')
  })

  t.test('an embedded sub-request is not shown as a forward', async t => {
    const { client, storedOf, show } = await createProfiledKernel(t, { directory: t.testdir() })
    const embedding = await show('request', await storedOf(await client.get('/embed')))
    t.notMatch(embedding, /Forwarded to/)
    const stored = await storedOf(await client.get('/forward'))
    t.match(await show('request', stored), /Forwarded to<\/dt>\s*<dd><a href="[^"]+">sub</)
  })

  t.test('all parts of request and response are shown, masked', async t => {
    const { client, storedOf, show } = await createProfiledKernel(t, { directory: t.testdir(), bundles: [exchange] })
    const form = { name: 'Ada & Bob', pin: '1234' }
    const headers = { cookie: 'theme=dark', authorization: 'Bearer hunter2' }
    const stored = await storedOf(await client.post('/exchange?page=2&token=hunter2', { form, headers }))
    const html = await show('request', stored)
    const rows = [
      ['page', '2'],
      ['token', '******'],
      ['name', 'Ada &amp; Bob'],
      ['pin', '******'],
      ['theme', '******'],
      ['authorization', '******'],
      ['user', 'Ada'],
    ]
    for (const [name, value] of rows) {
      t.match(html, `<th scope="row">${name}</th><td><pre>${value}</pre></td>`)
    }
    t.match(html, /<th scope="row">Expires<\/th><td>\s*<time datetime="\d{4}-\d\d-\d\dT[\d:.]+Z"/)
    t.match(html, 'application/x-www-form-urlencoded, 25 bytes')
    t.match(html, 'name&#x3D;Ada+%26+Bob&amp;pin&#x3D;******')
    t.match(
      html,
      /<th scope="row" class="full">seen<\/th><td>\*{6}<\/td><td data-label="path">\/<\/td>.*in 1 minute<\/td><td>HttpOnly, SameSite&#x3D;Lax</s,
    )
    t.match(html, /<th scope="row">notice<\/th><td><pre>\[&quot;saved&quot;\]/)
    t.match(html, /<th scope="row">set<\/th><td class="number">[\d.]+ m?s<\/td>\s*<td>.*show.test.*Show trace/s)
    t.notMatch(html, /hunter2|1234<|dark/)
    t.match(await show('config', stored), '<th scope="row">APP_SECRET</th><td><pre>******</pre></td>')
  })

  t.test('an empty Cookie field names no cookies', async t => {
    const { client, storedOf, show } = await createProfiledKernel(t, { directory: t.testdir() })
    const html = await show('request', await storedOf(await client.get('/noslash', { headers: { cookie: '' } })))
    t.match(html, /Empty: .*Request Cookies/)
  })

  t.test('JSON is shown formatted, and as it was sent', async t => {
    const { client, storedOf, show } = await createProfiledKernel(t, { directory: t.testdir(), bundles: [exchange] })
    const html = await show('request', await storedOf(await client.post('/exchange', { json: { a: [1] } })))
    t.match(html, '<span class="value-name">0</span>: <span class="value-value">1</span>')
    t.match(html, /id="curl">[^<]*\{&quot;a&quot;:\[1\]\}/, 'the command has the raw text')
  })

  t.test('the page of an echo of JSON is small', async t => {
    const { client, storedOf } = await createProfiledKernel(t, {
      directory: t.testdir(),
      bundles: [exchange],
      handlers: { '/json-echo': async ({ body }) => Response.json({ got: await body.json() }) },
    })
    const json = { items: Array.from({ length: 300 }, (_, id) => ({ id, name: `n${id}` })) }
    const { profile } = await storedOf(await client.post('/json-echo', { json }))
    const { text } = await client.get(`/_profiler/${profile.summary.token}?panel=request`)
    t.match(text, /… 20\d more/)
    t.match(text, 'Open as text')
    t.ok(Buffer.byteLength(text) < 60_000, `${Buffer.byteLength(text)} bytes`)
  })

  t.test('files are listed, and other bodies are described', async t => {
    const { client, storedOf, show } = await createProfiledKernel(t, { directory: t.testdir() })
    const upload = { cv: { name: '<b>.txt', type: 'text/plain', content: 'x' } }
    const uploaded = await storedOf(await client.post('/form', { upload }))
    const file =
      /<th scope="row" class="full">&lt;b&gt;.txt<\/th><td>text\/plain<\/td><td class="number">1 byte<\/td><td[^>]*>cv</
    t.match(await show('request', uploaded), file)
    t.match(await show('request', uploaded), 'Files are never stored')
    t.match(await show('overview', uploaded), 'cv: &lt;b&gt;.txt, text/plain, 1 byte')
    const binary = await show('request', await storedOf(await client.post('/ok', { body: 'x' })))
    t.match(binary, 'Only forms and JSON are recorded')
    const unread = await show('request', await storedOf(await client.post('/missing', { json: {} })))
    t.match(unread, 'The application did not read the body')
    const broken = await show('request', await storedOf(await client.post('/form', { upload, headers: boundless })))
    t.match(broken, 'The body is incomplete or invalid.')
  })

  t.test('the outcome of a request is shown in words', async t => {
    const words = {
      aborted: /client closed the connection/,
      'stream-failed': /server broke the response off/,
      crashed: /process exited/,
      unfinished: /before the request was complete/,
    }
    for (const [outcome, expected] of Object.entries(words)) {
      const profile = createProfile({}, { outcome: outcome as keyof typeof words })
      t.match(await show('request', profile), new RegExp(`^<p class="note note-warning">.*${expected.source}`))
    }
    t.notMatch(await show('request', createProfile({})), /^<p class="note/)
  })

  t.test('the size of a response notes bytes that were not sent', async t => {
    const sizeOf = async (response: unknown, method = 'GET') =>
      /<dt>Size<\/dt><dd>([^<]*)/.exec(await show('request', createProfile({ response }, { method })))?.[1]
    t.equal(await sizeOf({ size: 1234, isStreamed: false }), '1,234 bytes')
    t.equal(await sizeOf({ size: 1, isStreamed: false }, 'HEAD'), '1 byte (not sent: response to HEAD)')
    t.equal(await sizeOf({ size: null, isStreamed: true }), 'not known (streamed)')
    t.equal(await sizeOf(undefined), 'n/a')
    const content = { type: 'text/html', length: 900, text: '<p>' }
    t.equal(await sizeOf({ size: 1234, isStreamed: false, content }), '1,234 bytes (900 bytes without the toolbar)')
    t.equal(await sizeOf({ size: 900, isStreamed: false, content }), '900 bytes')
    const announced = { size: 1234, isStreamed: false, content }
    t.equal(await sizeOf({ ...announced, sent: 900 }), '1,234 bytes (900 bytes sent)', 'more than it has sent')
    t.equal(await sizeOf({ ...announced, sent: 1234 }), '1,234 bytes (900 bytes without the toolbar; 1,234 bytes sent)')
    const other = { ...content, type: 'text/plain' }
    t.equal(await sizeOf({ ...announced, content: other }), '1,234 bytes', 'no page')
  })

  t.test('the content of a response is shown, and has a page of its own', async t => {
    const hostile = '<script>alert(1)</script><img src=x onerror=alert(1)></pre>'
    const { client, storage, show, storedOf } = await createProfiledKernel(t, {
      directory: t.testdir(),
      handlers: {
        '/data': () => Response.json({ name: hostile, list: [1, 2] }),
        '/page': () => Response.html(`<title>Shop</title>${hostile}`),
        '/form': () =>
          new Response('a=1&token=x', { headers: { 'content-type': 'application/x-www-form-urlencoded' } }),
        '/long': () => Response.text('x'.repeat(70_000)),
        '/empty': () => Response.empty(),
        '/bytes': () => new Response(new Uint8Array(4), { headers: { 'content-type': 'image/png' } }),
      },
    })
    const open = async (path: string) => {
      const { profile } = await storedOf(await client.get(path))
      const html = await show('request', profile)
      const page = await client.get(`/_profiler/${profile.summary.token}/content`)
      const markdown = (await client.get(`/_profiler/${profile.summary.token}.md`)).text
      return { html, text: textOf(html), page, markdown }
    }
    const data = await open('/data')
    t.match(data.text, /Response Content application\/json, \d+ bytes .*name: &quot;&lt;script&gt;/)
    t.match(data.html, /<a class="button small" href="\/_profiler\/[\da-f]{6}\/content">Open as text<\/a>/)
    t.equal(data.page.headers.get('content-type'), 'text/plain; charset=UTF-8')
    t.match(data.page.text, '  "list": [\n    1,\n')
    const size = JSON.stringify(JSON.parse(data.page.text)).length
    t.match(data.markdown, `### Content\n\n\`application/json\`, ${size} bytes`)
    const page = await open('/page')
    t.match(page.markdown, '```html\n<title>Shop</title>')
    t.match(page.html, '&lt;title&gt;Shop&lt;/title&gt;&lt;script&gt;alert(1)')
    t.notMatch(page.html, '<script>')
    t.match(page.html, '>Preview</a>')
    t.equal(page.page.headers.get('content-type'), 'text/html; charset=UTF-8')
    t.match(page.page.headers.get('content-security-policy'), /^sandbox; default-src 'none'; (?!.*script-src)/)
    t.match((await open('/form')).markdown, '- `token`: `******`')
    t.match((await open('/form')).html, 'a=1&amp;token=******'.replaceAll('=', '&#x3D;'))
    const long = await open('/long')
    t.match(long.text, 'The first 65,536 characters are stored. The first 16,000 characters are shown. SHA-256 ')
    t.equal(long.page.text, 'x'.repeat(65_536))
    t.match(long.markdown, '`text/plain`, 70,000 bytes, cut')
    const bytes = await open('/bytes')
    t.match(bytes.markdown, '`image/png`, 4 bytes\n\n`Only text is stored.`')
    t.match(
      bytes.text,
      'Response Content image/png, 4 bytes Only text is stored. SHA-256 df3f619804a92fdb4057192dc43dd748…',
    )
    t.notMatch(bytes.html, '/content"')
    t.match(bytes.page, { status: 404, text: 'has no content of the response' })
    t.match((await open('/empty')).page, { status: 404, text: 'has no content of the response' })
    t.equal((await client.get('/_profiler/ffffff/content')).status, 404)
    const { summaries } = await storage.search({ limit: 99 })
    t.equal(summaries.length, 7, 'the pages of contents are not recorded')
  })

  t.test('a request without a response has a page', async t => {
    const html = await show('request', createProfile({}, { status: 0, contentType: null }))
    t.match(html, /<dt>Status<\/dt><dd>none<.*<dt>Content type<\/dt><dd>n\/a<.*<dt>Size<\/dt><dd>n\/a</s)
    t.match(html, 'Date and Connection are added on sending.')
    t.notMatch(html, 'Forwarded to')
  })
})

t.test('the configuration panel shows the settings, and no secret', async t => {
  const variables = { APP_HOSTS: 'example.org,www.example.org', MAILER_DSN: 'smtp://me:hunter2000@mail' }
  const { client, storedOf, show } = await createProfiledKernel(t, { directory: t.testdir(), variables })
  const stored = await storedOf(await client.get('/noslash'))
  const html = await show('config', stored)
  t.match(html, /Environment<\/dt><dd>dev/)
  t.match(html, /<li>framework<\/li><li>site<\/li>/)
  t.match(html, 'example.org, www.example.org')
  t.match(html, 'this machine only')
  const rows = Array.from(html.matchAll(/<tr><th scope="row".*<\/tr>/g), ([row]) =>
    Array.from(row.matchAll(/<t[hd][^>]*>([^<]*)</g), ([, cell]) => cell).join(' | '),
  )
  t.ok(rows.includes('MAILER_DSN | ****** | environment | site'))
  t.ok(rows.includes('DATABASE_URL |  | default | site'))
  t.ok(rows.includes('PROFILER_MCP | off | default | profiler'))
  t.match(html, /MAILER_DSN.*\d+ with their defaults.*DATABASE_URL/s, 'what was set stands first')
  t.match(html, /<dt>v8<\/dt><dd>\d+/)
  t.match(html, /<dt>working directory<\/dt><dd>/)
  t.match(html, /<dt>started<\/dt><dd><time datetime="[^"]+" title="[^"]+" data-local="full">/)
  const damaged = toProfile(stored.profile, { server: { process: { started: 'once' } } })
  t.match(await show('config', { ...stored, profile: damaged }), '<dt>started</dt><dd>once</dd>')
  const inside = toProfile(stored.profile, { server: { process: { 'working directory': '.' } } })
  t.notMatch(await show('config', { ...stored, profile: inside }), 'working directory')
  t.notMatch(html, /hunter2000|a secret for tests/)
  const off = { ...stored, profile: toProfile(stored.profile, { config: { isDebug: false } }) }
  t.match(await show('config', off), /disabled.*No settings recorded.*No bundles recorded.*No process data recorded/s)
})

t.test('a Set-Cookie header is parsed as by browsers', async t => {
  const session = "with the browser's session"
  const cases: Readonly<Record<string, readonly string[]>> = {
    'a=b': ['a', 'b', '', '', session, ''],
    'a=b=c; PATH=/x; domain=d': ['a', 'b=c', '/x', 'd', session, ''],
    'a=; Max-Age=0; Expires=Wed': ['a', '', '', '', 'at once', ''],
    'a=b; Max-Age=5; Expires=Wed': ['a', 'b', '', '', 'in 5 seconds', ''],
    'a=b; Expires=Wed, 21 Oct 2015 07:28:00 GMT': ['a', 'b', '', '', 'Wed, 21 Oct 2015 07:28:00 GMT', ''],
    'a=b; Secure; SameSite=None; Partitioned': ['a', 'b', '', '', session, 'Secure, SameSite=None, Partitioned'],
    '': ['', '', '', '', session, ''],
  }
  const headers = Object.keys(cases).map(field => ['set-cookie', field])
  const [, table = ''] =
    /id="response-cookies">.*?<tbody>(.*?)<\/table>/s.exec(
      await show('request', createProfile({ response: { headers } })),
    ) ?? []
  const rows = Array.from(table.matchAll(/<tr>.*?<\/tr>/gs), ([row]) =>
    Array.from(row.matchAll(/<t[hd][^>]*>(.*?)<\/t[hd]>/gs), ([, cell = '']) => unescapeHtml(cell)),
  )
  t.strictSame(rows, Object.values(cases))
})

t.test('an invalid time or number is shown as empty', async t => {
  t.equal(formatMoment(0), '1970-01-01T00:00:00.000Z')
  for (const value of [Number.NaN, 9e15, undefined]) t.equal(formatMoment(value), '')
  t.equal(formatSize(null), '')
})

/** A multipart form without its end. */
const boundless = { 'content-type': 'multipart/form-data; boundary=none' }

/** A route that uses all parts of a request. */
const exchange: Bundle = {
  name: 'exchange',
  register({ routes }) {
    routes.add({
      name: 'exchange',
      path: '/exchange',
      controller: async (request: Request) => {
        await request.session.set('user', 'Ada')
        await request.session.flash('notice', 'saved')
        const response = new Response('done')
        setCookie(response.headers, 'seen', 'hunter2', { maxAge: 60 })
        return response
      },
    })
  },
}
