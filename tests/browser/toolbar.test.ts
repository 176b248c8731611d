import type { Locator, Page } from 'playwright-core'
import { type Test, t } from 'tap'
import { Response } from '#lib/http/response.ts'
import type { RequestHandler } from '#lib/routing/route-collection.ts'
import { needsBrowser, openPage } from '#tests/support/browser.ts'
import { createProfiledKernel, type ProfiledKernel } from '#tests/support/profiled-kernel.ts'
import { serveKernel } from '#tests/support/test-server.ts'

/** A page with a script of its own; what it is to do comes with the path. */
function page(content: string, headers: Record<string, string> = {}, status = 200): RequestHandler {
  const html = `<!doctype html><html lang="en"><head><title>A page</title><link rel="icon" href="data:,"></head><body><main>${content}</main></body></html>`
  return () => Response.html(html, { status, headers })
}

function guarded(policy: string): RequestHandler {
  return page('<h1>guarded</h1>', { 'content-security-policy': policy })
}

const policies: Readonly<Record<string, string>> = {
  '/csp/none': "default-src 'none'; img-src data:",
  '/csp/self': "default-src 'self'; img-src data:",
  '/csp/nonce': "default-src 'none'; script-src 'nonce-abc123'; img-src data:",
  '/csp/strict-dynamic': "script-src 'strict-dynamic' 'nonce-abc123' 'unsafe-inline' https:; object-src 'none'",
  '/csp/strict-dynamic-hash': `script-src 'strict-dynamic' 'sha256-${Buffer.alloc(32).toString('base64')}'; connect-src 'none'`,
  '/csp/inline': "default-src 'none'; script-src 'unsafe-inline'; img-src data:",
  '/csp/two': "default-src 'self' data:, script-src 'nonce-abc123'; style-src 'none'",
  '/csp/types': "default-src 'self'; img-src data:; require-trusted-types-for 'script'; trusted-types 'none'",
}

const handlers: Readonly<Record<string, RequestHandler>> = {
  ...Object.fromEntries(Object.entries(policies).map(([path, policy]) => [path, guarded(policy)])),
  '/no-icon': () => Response.html('<!doctype html><title>No icon</title><body>no icon</body>'),
  '/plain': page('<h1>plain</h1><p>The end.</p>'),
  '/other': page('<h1>other</h1>'),
  '/tall': page(`${'<p>text</p>'.repeat(100)}<p id="end">The end.</p>`),
  '/typed': page(
    `<form method="post"><input name="name" autocomplete="username"><input name="secret" type="password" autocomplete="new-password"><input name="agreed" type="checkbox"><select name="size"><option>S<option>L</select><textarea name="text"></textarea><button>Send</button></form>${'<p>text</p>'.repeat(100)}`,
  ),
  '/hostile': page(
    '<style>profiler-toolbar, div { display: none !important } html { font-size: 62.5% } a, button, section { color: red !important; font-size: 99px !important }</style>',
  ),
  '/failed': page('<h1>failed</h1>', {}, 500),
  '/throws': () => {
    throw new Error('It is broken.')
  },
  '/leads': () => Response.redirect('/plain'),
  '/part': () => Response.html('<h1>a part</h1>'),
  '/etag': ({ headers }) =>
    headers.get('if-none-match') === 'W/"one"'
      ? Response.empty(304)
      : Response.html('<body>tagged</body>', { headers: { etag: '"one"', 'cache-control': 'no-cache' } }),
}

/** Expressions for the browser. */
const frame = "document.querySelector('profiler-toolbar').shadowRoot.querySelector('.toolbar-frame')"
const positionOfFrame = `getComputedStyle(${frame}).position`
const sizeOfText = `getComputedStyle(${frame}.querySelector('.toolbar-link')).fontSize`

/** Lists problems: console messages, violated policies, and requests to other sites. */
function watch(page: Page, url: string): () => string[] {
  const wrong: string[] = []
  page.on('pageerror', error => wrong.push(String(error)))
  page.on('console', message => {
    if (!message.text().startsWith('Failed to load resource')) wrong.push(`${message.type()}: ${message.text()}`)
  })
  page.on('request', request => {
    if (!request.url().startsWith(`${url}/`) && !request.url().startsWith('data:')) wrong.push(request.url())
  })
  return () => wrong
}

interface Opened extends Pick<ProfiledKernel, 'app'> {
  readonly page: Page
  readonly url: string
  readonly complaints: () => string[]
  readonly bar: Locator
  readonly toggle: Locator
  visit(path: string): Promise<void>
  item(name: string): Locator
}

/** Opens a browser whose bars are folded at first, as it is driven by a program; `visit` unfolds them. */
async function open(t: Test, variables: Readonly<Record<string, string>> = {}): Promise<Opened> {
  const kernel = await createProfiledKernel(t, { handlers, variables })
  const { url } = await serveKernel(t, kernel)
  const page = await openPage(t)
  const bar = page.locator('profiler-toolbar .toolbar')
  const toggle = page.locator('profiler-toolbar .toolbar-toggle')
  return {
    app: kernel.app,
    page,
    url,
    complaints: watch(page, url),
    bar,
    toggle,
    item: name => page.locator(`profiler-toolbar .toolbar-item-${name}`),
    async visit(path) {
      await page.goto(url + path)
      await toggle.waitFor()
      if ((await toggle.getAttribute('aria-expanded')) === 'false') await toggle.click()
      await bar.waitFor()
    },
  }
}

t.test('a page has a bar that says what became of the request', needsBrowser, async t => {
  const { bar, complaints, item, page, toggle, url, visit } = await open(t)
  await page.goto(`${url}/plain`)
  await toggle.waitFor()
  t.equal(await toggle.getAttribute('aria-expanded'), 'false', 'it is folded where a program drives the browser')
  t.match(await toggle.innerText(), '200')

  await visit('/plain')
  t.match(await item('request').innerText(), /200\s+@\/plain/)
  t.match(await item('time').innerText(), /ms/)
  t.notOk(await item('time').locator('.toolbar-details').isVisible())
  await item('time').hover()
  t.ok(await item('time').locator('.toolbar-details').isVisible())
  await page.keyboard.press('Escape')
  t.notOk(await item('time').locator('.toolbar-details').isVisible(), 'details can be dismissed')
  await item('memory').hover()
  await item('time').hover()
  t.ok(await item('time').locator('.toolbar-details').isVisible(), 'and come back')
  t.equal(await page.evaluate('document.body.innerText.trim()'), 'plain\n\nThe end.', 'texts of the page are its own')

  await item('record').getByRole('link').first().click()
  t.match(page.url(), /\/_profiler\/[0-9a-f]{6}$/)
  t.equal(await bar.count(), 0, 'pages of the profiler have none')
  t.strictSame(complaints(), [])
})

t.test('every policy is kept, and the bar is there', needsBrowser, async t => {
  const { complaints, page, visit } = await open(t)
  for (const path of Object.keys(policies)) {
    await visit(path)
    t.equal(await page.evaluate(positionOfFrame), 'fixed', path)
    t.strictSame(complaints(), [], path)
  }
})

t.test('an error is shown, also when the bar is folded', needsBrowser, async t => {
  const { complaints, item, page, toggle, url, visit } = await open(t)
  await visit('/failed')
  t.match(await item('request').innerText(), '500')
  // The error page has a policy of its own in the page, which is for that page to say.
  const [response] = await Promise.all([page.request.get(`${url}/throws`)])
  t.match(await response.text(), /data-profiler-toolbar="\/_wdt\/[0-9a-f]{6}"/)
  const token = /_wdt\/(\w+)/.exec(await response.text())?.[1]
  await page.evaluate(`{
    const script = document.createElement('script')
    script.dataset.profilerToolbar = '/_wdt/${token}'
    document.body.append(script)
    void fetch('/part')
  }`)
  await item('exception').waitFor()
  await toggle.click()
  t.match(await toggle.innerText(), /500\s+Error/)
  t.strictSame(complaints(), [])
})

t.test('requests of the page are listed as they are made', needsBrowser, async t => {
  const { complaints, item, page, toggle, url, visit } = await open(t)
  await visit('/plain')
  t.notOk(await item('calls').isVisible())
  await page.evaluate("fetch('/part?n=1')")
  await item('calls').getByText('1 request').waitFor()
  await page.evaluate(`new Promise(resolve => {
    const request = new XMLHttpRequest()
    request.open('POST', '/nowhere')
    request.onloadend = resolve
    request.send()
  })`)
  await item('calls').getByText('2 requests, 1 failed').waitFor()
  await item('calls').hover()
  const rows = item('calls').locator('tbody tr')
  t.match(await rows.allInnerTexts(), [
    /404\s+POST\s+\/nowhere\s+html\s+[\d.]+ \S+\s+[\d.]+ m?s/,
    /200\s+GET\s+\/part\?n=1\s+html\s+[\d.]+ \S+\s+[\d.]+ m?s/,
  ])
  t.match(await rows.first().getByRole('link').getAttribute('href'), /^\/_profiler\/[0-9a-f]{6}$/)
  await toggle.click()
  t.match(await toggle.innerText(), /200\s+1 failed request/)
  await toggle.click()

  await page.evaluate("(async () => { for (let n = 0; n < 100; n++) await fetch('/part?n=' + n) })()")
  await item('calls').getByText('100 requests').waitFor()
  await item('calls').hover()
  await item('calls').getByRole('button', { name: 'Clear' }).click()
  await item('calls').waitFor({ state: 'hidden' })
  await rows.first().waitFor({ state: 'detached' })
  t.equal(page.url(), `${url}/plain`)
  t.strictSame(complaints(), [])
})

t.test('a page that becomes another one has the record of that one', needsBrowser, async t => {
  const { bar, complaints, item, page, visit } = await open(t)
  await visit('/plain')
  const first = await bar.getAttribute('data-token')

  // As Turbo does it: the body is replaced by that of a page which was fetched.
  await page.evaluate(`(async () => {
    const html = await (await fetch('/other')).text()
    history.pushState(null, '', '/other')
    document.body.replaceWith(new DOMParser().parseFromString(html, 'text/html').body)
  })()`)
  await item('request').getByText('@/other').waitFor()
  const second = await bar.getAttribute('data-token')
  t.not(second, first)
  t.equal(await page.locator('profiler-toolbar').count(), 1)

  // A part of a page names no record: its address does.
  await page.evaluate(`(async () => {
    const html = await (await fetch('/part')).text()
    document.body.innerHTML = html
    history.pushState(null, '', '/part')
  })()`)
  await item('request').getByText('@/part').waitFor()

  await page.evaluate("document.querySelector('profiler-toolbar').remove()")
  await bar.waitFor()
  t.ok(await bar.isVisible(), 'it comes back')
  t.strictSame(complaints(), [])
})

t.test('the bar is folded and unfolded by a key, and remembers', needsBrowser, async t => {
  const { bar, complaints, item, page, toggle, url, visit } = await open(t)
  await visit('/plain')
  await page.keyboard.press('Alt+Shift+KeyP')
  t.notOk(await bar.isVisible())
  await page.reload()
  await toggle.waitFor()
  t.notOk(await bar.isVisible(), 'it is remembered')
  await page.keyboard.press('Alt+Shift+KeyP')
  t.ok(await bar.isVisible())
  const focused = "document.activeElement.shadowRoot?.activeElement?.closest('.toolbar-item')?.dataset.item"
  t.equal(await page.evaluate(focused), 'request', 'the bar has the focus')
  t.ok(await item('request').locator('.toolbar-details').isVisible())
  t.notOk(await item('time').locator('.toolbar-details').isVisible())
  for (let presses = 0; presses < 20 && (await page.evaluate(focused)) !== 'time'; presses++)
    await page.keyboard.press('Tab')
  t.ok(await item('time').locator('.toolbar-details').isVisible())
  await page.keyboard.press('Escape')
  t.notOk(await item('time').locator('.toolbar-details').isVisible())
  await page.keyboard.press('Enter')
  await page.waitForURL(/\?panel=time$/)
  await page.goto(`${url}/other`)
  await bar.waitFor()
  t.ok(await bar.isVisible(), 'that, too')
  t.strictSame(complaints(), [])
})

t.test('the bar stands apart from the page', needsBrowser, async t => {
  const { bar, complaints, page, visit } = await open(t)
  await visit('/hostile')
  t.ok(await bar.isVisible())
  t.equal(await page.evaluate(sizeOfText), '13px')

  await visit('/tall')
  for (const width of [400, 1400]) {
    await page.setViewportSize({ width, height: 600 })
    await page.evaluate('scrollTo(0, document.documentElement.scrollHeight)')
    const end = await page.locator('#end').boundingBox()
    const top = await bar.boundingBox()
    t.ok(Number(end?.y) + Number(end?.height) <= Number(top?.y), `the end of the page can be read at ${width} pixels`)
    t.equal(await page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth'), 0)
  }
  await page.emulateMedia({ media: 'print' })
  t.notOk(await bar.isVisible(), 'it is not printed')
  t.strictSame(complaints(), [])
})

t.test('the redirect that has led to a page is named', needsBrowser, async t => {
  const { item, visit } = await open(t)
  await visit('/leads')
  t.match(await item('redirect').innerText(), /302\s+from \/leads/)
})

t.test('a page that was not sent again has the record of what was asked last', needsBrowser, async t => {
  const { bar, page, toggle, url, visit } = await open(t)
  await visit('/etag')
  const first = await bar.getAttribute('data-token')
  const answer = page.waitForResponse(`${url}/etag`)
  await page.reload()
  const token = (await (await answer).allHeaders())['x-debug-token']
  await toggle.waitFor()
  await bar.waitFor()
  t.not(token, first)
  t.equal(await bar.getAttribute('data-token'), token)
})

t.test('while the server is away, the bar waits', needsBrowser, async t => {
  const { bar, page, toggle, url } = await open(t)
  let failures = 0
  await page.route('**/_wdt/*', route => (failures++ < 2 ? route.abort() : route.continue()))
  await page.goto(`${url}/plain`)
  await toggle.waitFor()
  await toggle.click()
  t.ok(await bar.isVisible())
  t.equal(failures, 3)

  await page.unroute('**/_wdt/*')
  await page.route('**/_wdt/*', route => route.fulfill({ status: 404, body: '' }))
  await page.goto(`${url}/plain`)
  await bar.waitFor()
  t.match(await bar.innerText(), 'No profile for this page.')
})

t.test('an icon that is not there is no failed request of the page', needsBrowser, async t => {
  const { page, toggle, url, visit } = await open(t)
  await visit('/no-icon')
  await toggle.waitFor()
  // Playwright hides what is asked for at /favicon.ico.
  const answer = page.waitForResponse(`${url}/apple-touch-icon.png`)
  await page.evaluate(`void document.body.append(Object.assign(new Image(), { src: '/apple-touch-icon.png' }))`)
  t.equal((await answer).status(), 404)
  await page.evaluate(`void fetch('/etag')`)
  const calls = page.locator('.toolbar-item-calls .toolbar-text')
  await calls.filter({ hasText: '1 request' }).waitFor({ state: 'attached' })
  t.equal(await calls.textContent(), '1 request')
})

t.test('an open page shows mistakes in the sources as soon as they are found, folded or not', needsBrowser, async t => {
  const { app, item, page, toggle, url, visit } = await open(t)
  const problems = [{ message: "Type 'string' is not assignable to type 'number'.", file: 'a.ts', line: 1 }]
  await page.goto(`${url}/plain`)
  await toggle.waitFor()
  app.signals.emit('sources.broken', { problems, served: 'current' })
  await toggle.getByText('1 type error').waitFor()
  t.match(await toggle.getAttribute('title'), "a.ts:1 Type 'string' is not assignable to type 'number'.\n")
  app.signals.emit('sources.broken', { problems: [], served: 'current' })
  await toggle.getByText('1 type error').waitFor({ state: 'detached' })
  await visit('/plain')
  app.signals.emit('sources.broken', { problems, served: 'older' })
  await item('build').getByText('1 mistake').waitFor()
  t.match(await item('build').textContent(), 'This page is older than your files.')
})

/** What a reload must keep, and whether it has happened. */
const stateOfForm = `({ name: document.forms[0].name.value, text: document.forms[0].text.value, size: document.forms[0].size.value, isAgreed: document.forms[0].agreed.checked, secret: document.forms[0].secret.value, y: Math.round(scrollY), isOld: window.isOld === true })`

t.test(
  'a page is loaded again when the code has changed, and keeps its position and its form',
  needsBrowser,
  async t => {
    const { app, bar, complaints, page, visit } = await open(t)
    const streams = async () => {
      await page.waitForResponse(response => response.url().endsWith('/_profiler/state'))
    }
    const edit = () => app.signals.emit('files.changed', { files: ['templates/page.hbs'] })
    await Promise.all([streams(), visit('/typed')])
    await page.getByRole('textbox').first().fill('Ada')
    await page.getByRole('textbox').last().fill('Two words')
    await page.locator('[type=password]').fill('hidden')
    await page.getByRole('checkbox').check()
    await page.getByRole('combobox').selectOption('L')
    await page.evaluate('scrollTo(0, 700); window.isOld = true')
    await Promise.all([page.waitForEvent('load'), streams(), edit()])
    await page.waitForFunction('scrollY > 0')
    t.strictSame(await page.evaluate(stateOfForm), {
      ...{ name: 'Ada', text: 'Two words', size: 'L', isAgreed: true, secret: '' },
      ...{ y: 700, isOld: false },
    })

    const problems = [{ message: 'Unexpected token', file: 'a.ts', line: 1 }]
    await page.evaluate('window.isOld = true')
    app.signals.emit('sources.broken', { problems, served: 'older' })
    await bar.getByText('1 mistake').waitFor()
    t.hasStrict(await page.evaluate(stateOfForm), { isOld: true }, 'the last version goes on')
    app.signals.emit('sources.broken', { problems: [], served: 'current' })

    await Promise.all([streams(), page.waitForEvent('load'), page.getByRole('button', { name: 'Send' }).click()])
    await bar.waitFor()
    await page.evaluate('window.isOld = true')
    const loaded = page.waitForResponse(response => response.url().includes('/_wdt/'))
    edit()
    await loaded
    t.hasStrict(await page.evaluate(stateOfForm), { isOld: true }, 'no form is sent again')
    t.strictSame(complaints(), [])
  },
)

t.test('PROFILER_RELOAD=0 leaves pages as they are', needsBrowser, async t => {
  const { app, page, visit } = await open(t, { PROFILER_RELOAD: '0' })
  await Promise.all([page.waitForResponse(response => response.url().endsWith('/_profiler/state')), visit('/typed')])
  await page.evaluate('window.isOld = true')
  const loaded = page.waitForResponse(response => response.url().includes('/_wdt/'))
  app.signals.emit('files.changed', { files: ['templates/page.hbs'] })
  await loaded
  t.hasStrict(await page.evaluate(stateOfForm), { isOld: true })
})
