import { isDeepStrictEqual } from 'node:util'
import { type Test, t } from 'tap'
import { MemoryProfileStorage } from '#bundles/profiler/store/memory-profile-storage.ts'
import { parseBrowserStack } from '#bundles/profiler/subjects/browser/data.ts'
import { BrowserErrors } from '#bundles/profiler/subjects/browser/record.ts'
import { Response } from '#lib/http/response.ts'
import { Redactor } from '#lib/redact/redactor.ts'
import { createRecord } from '#tests/support/create-profile.ts'
import { plainEquals, toText } from '#tests/support/html.ts'
import { createProfiledKernel, type ProfiledKernel, waitForProfile } from '#tests/support/profiled-kernel.ts'
import { createRecorder } from '#tests/support/recording-logger.ts'

const json = { 'content-type': 'application/json' }
const sameOrigin = { ...json, origin: 'http://localhost', 'sec-fetch-site': 'same-origin' }

interface PageOfTest extends ProfiledKernel {
  readonly token: string
  /** Sends reports as the script of the page does; gives the status. */
  readonly send: (errors: unknown, headers?: Record<string, string>, token?: string) => Promise<number>
}

async function openPage(t: Test, variables: Record<string, string> = {}): Promise<PageOfTest> {
  const handlers = { '/page': () => Response.html('<html><head></head><body>page</body></html>') }
  const kernel = await createProfiledKernel(t, { handlers, variables })
  const response = await kernel.client.get('/page', { headers: { 'user-agent': 'A browser <b>' } })
  await kernel.profileOf(response)
  const token = String(response.headers.get('x-debug-token'))
  return {
    ...kernel,
    token,
    send: async (errors, headers = sameOrigin, of = token) =>
      (await kernel.client.post(`/_wdt/${of}/browser-errors`, { headers, body: JSON.stringify({ errors }) })).status,
  }
}

const site = '/assets/site/site.css'
const exception = {
  kind: 'exception',
  message: 'TypeError: <b>x</b> is not a function',
  file: `http://localhost${site}?v=1`,
  line: 3,
  column: 7,
  stack: `    at run (http://localhost${site}:3:7)\n    at http://other.test/b.js:1:2`,
  at: 12.4,
}

t.test('errors of a page are in its profile: panel, list, Markdown, menu', async t => {
  const { client, panel, send, show, storage, token } = await openPage(t, {
    EDITOR_URL: 'editor://{file}:{line}:{column}',
  })
  t.equal(await send([exception, { kind: 'resource', message: '<img> /missing.png', at: 20 }]), 204)
  t.equal(
    await send([exception, { kind: 'console', message: 'said', stack: `run@http://localhost/x.js:8:9\nodd`, at: 1 }]),
    204,
  )
  const profile = await waitForProfile(storage, token)
  t.strictSame(profile.collectors.browser, {
    errors: [
      {
        ...exception,
        file: `${site}?v=1`,
        stack: `    at run (${site}:3:7)\n    at http://other.test/b.js:1:2`,
        at: 12,
        times: 2,
      },
      { kind: 'resource', message: '<img> /missing.png', at: 20, times: 1 },
      {
        kind: 'console',
        message: 'said',
        file: '/x.js',
        line: 8,
        column: 9,
        stack: 'run@/x.js:8:9\nodd',
        at: 1,
        times: 1,
      },
    ],
    omitted: 0,
  })
  t.equal(profile.summary.browserErrors, 4)
  t.strictSame(panel('browser').badge?.(profile), { text: '4', level: 'error' })
  const html = plainEquals(await show('browser', profile))
  t.match(html, 'TypeError: &lt;b&gt;x&lt;/b&gt; is not a function')
  t.match(html, /href="editor:\/\/[^"]+bundles\/site\/assets\/site\.css:3:7">\/assets\/site\/site\.css/)
  t.match(html, '<span class="place">http://other.test/b.js:1:2</span>')
  t.match(html, '2 times')
  t.match(html, 'Browser: A browser &lt;b&gt;')
  t.notMatch(html, '<b>')
  t.match((await client.get('/_profiler/empty/search/results?limit=10')).text, '4 browser errors')
  t.match((await client.get('/_profiler/search.md')).text, 'errors in the browser: 4')
  const markdown = (await client.get(`/_profiler/${token}.md`)).text
  t.match(
    markdown,
    `## Errors in the browser\n\n\`Uncaught ${exception.message}\` at \`${site}?v=1:3:7\` (2 times)\n\n\`\`\`text\n    at run`,
  )
  t.match(markdown, '`Not loaded: <img> /missing.png`\n\n`console.error: said` at `/x.js:8:9`')
})

t.test('a profile without such errors says so', async t => {
  const { client, panel, show, storage, token } = await openPage(t)
  const profile = await waitForProfile(storage, token)
  t.match(await show('browser', profile), 'No errors in the browser.')
  t.strictSame([panel('browser').hasContent(profile), panel('browser').badge?.(profile)?.text], [false, ''])
  t.match((await client.get(`/_profiler/${token}.md?panel=browser`)).text, 'No errors in the browser.')
})

t.test('each error is logged once, on one line, in the channel of browsers', async t => {
  const { app, send, storage, token } = await openPage(t)
  const logged: string[] = []
  app.logger.observe(({ channel, context, level, message }) => {
    if (channel === 'browser') logged.push(`${level} ${message} ${context.place ?? ''} ${context.profile}`)
  })
  await send([exception, exception])
  await send([exception, { kind: 'rejection', message: 'no', at: 0 }, { kind: 'policy', message: 'img-src', at: 0 }])
  t.strictSame(logged, [
    `error Uncaught ${exception.message} ${site}?v=1:3:7 ${token}`,
    `error Unhandled rejection: no  ${token}`,
    `error Content-Security-Policy: img-src  ${token}`,
  ])
  const { total } = await storage.search({ limit: 10 })
  t.equal(total, 1, 'the reports themselves are not recorded')
})

t.test('secrets in errors are masked before they are stored', async t => {
  const { send, storage, token } = await openPage(t, { APP_SECRET: 'a-secret-of-this-application-that-is-long' })
  const secrets = 'password=hunter2 a-secret-of-this-application-that-is-long'
  await send([{ ...exception, message: secrets, stack: secrets, file: 'http://localhost/x.js?token=hunter2' }])
  const text = JSON.stringify((await waitForProfile(storage, token)).data.browser)
  t.match(text, '******')
  t.notMatch(text, /hunter2|a-secret-of/)
})

t.test('clients without access, and pages of other origins, get the 404 of the router', async t => {
  const { send, storage, token } = await openPage(t)
  const refused: Record<string, string>[] = [
    { ...json, origin: 'http://evil.example' },
    { ...json, origin: 'null' },
    { ...json, 'sec-fetch-site': 'cross-site' },
    { ...json, 'sec-fetch-site': 'same-site' },
    { ...sameOrigin, 'x-forwarded-for': '127.0.0.1' },
    { ...sameOrigin, host: 'site.example', origin: 'http://site.example' },
    json,
  ]
  for (const headers of refused) t.equal(await send([exception], headers), 404, JSON.stringify(headers))
  t.equal((await waitForProfile(storage, token)).data.browser, undefined)
  t.equal(await send([exception], { ...json, origin: 'http://localhost' }), 204, 'a browser without Fetch Metadata')
})

t.test('a profile that is unknown, or was removed, gets nothing', async t => {
  const { send, storage } = await openPage(t)
  for (const token of ['ffffff', 'nonsense', '%3Cb%3E']) t.equal(await send([exception], sameOrigin, token), 404, token)
  await storage.purge()
  t.equal(await send([exception]), 404)
  t.equal((await storage.search({ limit: 10 })).total, 0)
})

t.test('hostile reports are refused, left out, or cut', async t => {
  const { client, send, storage, token } = await openPage(t)
  const post = async (body: string, headers: Record<string, string> = sameOrigin) =>
    (await client.post(`/_wdt/${token}/browser-errors`, { headers, body })).status
  t.equal(await post('{"errors":'), 400)
  t.equal(await post('{}', { ...sameOrigin, 'content-type': 'text/plain' }), 415)
  t.equal(await post(JSON.stringify({ errors: ['x'.repeat(200_000)] })), 413)
  t.equal(await post(`${'['.repeat(5000)}${']'.repeat(5000)}`), 400)
  const damaged = [
    null,
    [],
    7,
    'text',
    { kind: 'other', message: 'x' },
    { kind: 'console' },
    { kind: 'console', message: 7 },
  ]
  for (const errors of [undefined, null, 7, 'text', {}, damaged]) t.equal(await send(errors), 204)
  t.equal((await waitForProfile(storage, token)).data.browser, undefined)
  const odd = {
    kind: 'console',
    message: 'm'.repeat(30_000),
    file: 'f'.repeat(30_000),
    stack: 's'.repeat(30_000),
    line: -1,
    column: 'x',
    at: -5,
    extra: 1,
  }
  t.equal(await send([odd]), 204)
  const [error] = (await waitForProfile(storage, token)).collectors.browser?.errors ?? []
  t.strictSame(Object.keys(error ?? {}).sort(), ['at', 'file', 'kind', 'message', 'stack', 'times'])
  t.ok(JSON.stringify(error).length < 4200)
  t.equal(error?.at, 0)
})

t.test('a page has at most 20 errors, and a flood changes nothing', async t => {
  const { send, storage, token } = await openPage(t)
  const some = (first: number) =>
    Array.from({ length: 15 }, (_, index) => ({ kind: 'console', message: `${first + index}`, at: 0 }))
  await send(some(0))
  await send(some(15))
  const profile = await waitForProfile(storage, token)
  t.strictSame([profile.collectors.browser?.errors.length, profile.collectors.browser?.omitted], [20, 10])
  t.equal(profile.summary.browserErrors, 30)
  const many = Array.from({ length: 500 }, () => exception)
  for (let message = 0; message < 10; message++) await send(many)
  t.equal((await waitForProfile(storage, token)).summary.browserErrors, 110)
  t.match(await openPanel(t, 10), '10 more errors were over the limit')
})

/** The panel with so many errors left out. */
async function openPanel(t: Test, omitted: number): Promise<string> {
  const kernel = await createProfiledKernel(t)
  const response = await kernel.client.get('/star-photo-booth')
  const profile = await kernel.profileOf(response)
  const errors = [{ kind: 'console' as const, message: 'x', stack: 'an unknown format', at: 1, times: 1 }]
  const html = await kernel.show('browser', {
    ...profile,
    collectors: { ...profile.collectors, browser: { errors, omitted } },
  })
  t.match(html, '<pre>an unknown format</pre>')
  return toText(html)
}

t.test('more than 50 messages in a second are refused', async t => {
  const storage = new MemoryProfileStorage()
  storage.append(createRecord(), '{}')
  let now = 1_000_000
  const errors = new BrowserErrors({
    storage,
    redactor: new Redactor(),
    logger: createRecorder().logger,
    clock: () => now,
  })
  const send = () => errors.add('abc123', [], 'http://localhost')
  for (let message = 0; message < 50; message++) t.equal(await send(), 'added')
  t.equal(await send(), 'busy')
  now += 1000
  t.equal(await send(), 'added')
})

t.test('a profile is not longer with an error than its error, and has the same queries', async t => {
  const text = `SELECT ${'a_long_column, '.repeat(700)}id FROM products`
  const statement = { system: 'postgresql', text, caller: [0, 1], source: 'channel' }
  const stored = {
    statements: [statement, { ...statement, source: 'span' }],
    queries: Array.from({ length: 500 }, (_, index) => ({ statement: index % 2, start: index })),
    omitted: 3,
    places: ['find', 'show'].map(name => ({ function: name, file: 'bundles/shop/products.ts', line: 3, column: 5 })),
  }
  const { summary, text: empty } = createRecord()
  const record = { summary, text: JSON.stringify({ ...JSON.parse(empty), data: { queries: stored } }) }
  const storage = new MemoryProfileStorage()
  storage.append(record, '{}')
  const before = (await storage.find('abc123'))?.profile.data.queries
  const { bytes } = await storage.usage()
  const errors = new BrowserErrors({ storage, redactor: new Redactor(), logger: createRecorder().logger })
  await errors.add('abc123', [{ kind: 'console', message: 'said', at: 0 }], 'http://localhost')
  const growth = (await storage.usage()).bytes - bytes
  t.ok(growth > 0 && growth < 200, `${growth} more bytes`)
  const after = (await storage.find('abc123'))?.profile.data.queries
  t.ok(isDeepStrictEqual(after, before) && before !== undefined)
})

t.test('late work of the request keeps the errors of its page', async t => {
  let finish: () => void = () => {}
  const kernel = await createProfiledKernel(t, {
    handlers: {
      '/late': () => {
        void new Promise<void>(resolve => {
          finish = resolve
        }).then(() => kernel.app.logger.warning('late'))
        return Response.html('<body></body>')
      },
    },
  })
  const response = await kernel.client.get('/late')
  const token = String(response.headers.get('x-debug-token'))
  await kernel.profileOf(response)
  const body = JSON.stringify({ errors: [exception] })
  t.equal((await kernel.client.post(`/_wdt/${token}/browser-errors`, { headers: sameOrigin, body })).status, 204)
  finish()
  const profile = await waitForProfile(kernel.storage, token, ({ summary }) => summary.warnings === 1)
  t.strictSame([profile.summary.browserErrors, profile.collectors.browser?.errors.length], [1, 1])
})

t.test('frames of all browsers are parsed, and other lines are left out', async t => {
  const stack = [
    'Error: message',
    '    at run (http://localhost/a.js:1:2)',
    '    at async Object.load [as go] (http://localhost/b.js:3:4)',
    '    at http://localhost/c.js:5:6',
    'name@http://localhost/d.js:7:8',
    '@http://localhost/e.js:9:10',
    '    at Array.map (<anonymous>)',
    `    at ${'x'.repeat(100_000)}`,
  ].join('\n')
  const frame = (name: string, file: string, line: number) => ({
    function: name,
    file: `http://localhost/${file}.js`,
    line,
    column: line + 1,
  })
  const slow = ['a:1', 'a:11:11', '1:1:1', ':', '@'].map(part => `${part.repeat(100)}x`)
  t.strictSame(parseBrowserStack(slow.join('\n').repeat(100)), [], 'in linear time')
  t.strictSame(parseBrowserStack('at (:1:2)'), [])
  t.strictSame(parseBrowserStack(stack), [
    frame('run', 'a', 1),
    frame('Object.load [as go]', 'b', 3),
    frame('', 'c', 5),
    frame('name', 'd', 7),
    frame('', 'e', 9),
  ])
})
