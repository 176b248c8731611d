import type { Page } from 'playwright-core'
import type { Bundle, Request } from 'sinfonietta'
import { type Test, t } from 'tap'
import { toController } from '#kernel/controller.ts'
import { Response } from '#lib/http/response.ts'
import { needsBrowser, openPage, type PageOptions } from '#tests/support/browser.ts'
import { createProfiledKernel } from '#tests/support/profiled-kernel.ts'
import { serveKernel } from '#tests/support/test-server.ts'

/** Few rows have no filter. */
const others = Object.fromEntries(['a', 'b', 'c', 'd', 'e'].map(name => [name, name]))

/** A request that logs, calls and renders. */
const busy: Bundle = {
  name: 'busy',
  register({ collectors, logger, queries, routes, view }) {
    const answer = async (request: Request) => {
      const app = logger.channel('app')
      app.info('User {user} came.', { user: 'Ada' })
      app.debug('A detail.')
      for (let count = 0; count < 3; count++) app.warning('It is late.')
      logger.channel('mail').error('The mail to {to} was lost.', { to: 'Bob' })
      const author = 'SELECT name FROM authors WHERE id = $1'
      queries.measure('postgresql', 'SELECT * FROM posts', [], () => [1, 2])
      for (const id of [1, 2, 1]) queries.measure('postgresql', author, [id], () => [1])
      await (await fetch(`http://${request.headers.get('host')}/text`)).text()
      await (await fetch(`http://${request.headers.get('host')}/text`)).text()
      return Response.html(view.render('site/partnership', {}, request) as string)
    }
    const hostile =
      '<body onload="document.title=\'run\'"><p>Shop</p><script>document.title = "run"</script>' +
      '<img src="//example.test/x" onerror="document.title=1"><meta http-equiv="refresh" content="0;url=/text">' +
      '<iframe src="javascript:top.document.title=1"></iframe></pre><base href="//example.test/">'
    routes.add({ name: 'hostile', path: '/hostile', controller: toController(() => Response.html(hostile)) })
    routes.add({ name: 'busy', path: '/busy', controller: toController(answer) })
    collectors.push({
      name: 'demo',
      collect: () => ({ one: 'first', two: 'second', three: 'x'.repeat(900), ...others }),
    })
  },
}

interface Opened {
  readonly page: Page
  readonly token: string
  readonly url: string
  /** Goes to a panel of the record. */
  show(panel: string): Promise<void>
  /** What went wrong: messages, violated policies. */
  readonly complaints: readonly string[]
}

async function open(t: Test, path = '/busy', options: PageOptions = {}): Promise<Opened> {
  const { url } = await serveKernel(t, await createProfiledKernel(t, { bundles: [busy] }))
  const token = String((await fetch(url + path)).headers.get('x-debug-token'))
  const page = await openPage(t, options)
  const complaints: string[] = []
  page.on('pageerror', error => complaints.push(String(error)))
  page.on('console', message => complaints.push(message.text()))
  const show = async (panel: string) => {
    await page.goto(`${url}/_profiler/${token}?panel=${panel}`)
  }
  return { page, token, url, show, complaints }
}

/** What is to be seen of a log, without its events. */
async function messagesOf(page: Page): Promise<string[]> {
  return (await page.locator('#logs .message:visible').allInnerTexts()).filter(text => !text.startsWith('Matched'))
}

const all = ['User Ada came.', 'A detail.', 'It is late.', 'The mail to Bob was lost.']

t.test('a log is filtered as one chooses and types, and its address follows', needsBrowser, async t => {
  const { complaints, page, show, token, url } = await open(t)
  await show('logger')
  t.strictSame(await messagesOf(page), all.slice(2), 'first what needs attention')
  t.notOk(await page.getByRole('button', { name: 'Filter' }).isVisible())
  await page.getByLabel('Minimum level').getByRole('link', { name: /^all / }).click()
  t.strictSame(await messagesOf(page), all)

  const levels = page.getByRole('navigation', { name: 'Minimum level' })
  await levels.getByRole('link', { name: /^errors/ }).click()
  t.strictSame(await messagesOf(page), all.slice(3))
  await levels.getByRole('link', { name: /^warnings and errors/ }).click()
  t.strictSame(await messagesOf(page), all.slice(2))
  await page.getByRole('navigation', { name: 'Channel' }).getByRole('link', { name: 'app', exact: true }).click()
  t.strictSame(await messagesOf(page), ['It is late.'])
  t.equal(page.url(), `${url}/_profiler/${token}?panel=logger&level=warning&channel=app#log`)
  await page.reload()
  t.strictSame(await messagesOf(page), ['It is late.'])

  await show('logger')
  await levels.getByRole('link', { name: /^all/ }).click()
  // Before that, no script of the page listens to keys.
  await page.waitForLoadState()
  await page.keyboard.press('/')
  t.equal(await page.locator('[name="text"]:focus').count(), 1)
  await page.keyboard.type('lost MAIL')
  t.strictSame(await messagesOf(page), all.slice(3))
  t.match(await page.getByRole('status').textContent(), /^1 of \d+$/)
  await page.keyboard.press('Escape')
  t.strictSame(await messagesOf(page), all)
  await page.keyboard.type('context')
  t.strictSame(await messagesOf(page), [], 'what the page says itself is not found')
  await page.keyboard.press('Escape')
  t.equal(await page.getByRole('status').textContent(), '')

  t.equal(await page.locator('#logs summary', { hasText: 'event notification' }).count(), 0)
  await page.getByRole('link', { name: 'event notification' }).click()
  t.ok(await page.locator('#logs summary', { hasText: 'event notification' }).first().isVisible())
  t.match(page.url(), 'events=1')
  t.strictSame(complaints, [])
})

t.test('without scripts a log is filtered by its form', needsBrowser, async t => {
  const { page, show, url } = await open(t, '/busy', { javaScriptEnabled: false })
  await show('logger')
  const levels = page.getByRole('navigation', { name: 'Minimum level' })
  await levels.getByRole('link', { name: /^warnings and errors/ }).click()
  await page.getByLabel('Filter by text').fill('late')
  await page.getByRole('button', { name: 'Filter' }).click()
  await page.waitForURL(/text=late$/)
  t.match(page.url(), '?panel=logger&level=warning&text=late')
  t.strictSame(await messagesOf(page), ['It is late.'])
  await page.goto(`${url}/_profiler/latest?panel=demo`)
  t.equal(await page.getByRole('searchbox').count(), 0, 'what a script would do is not offered')
})

t.test('queries are filtered as one chooses, also without scripts', needsBrowser, async t => {
  const { complaints, page, show, token, url } = await open(t)
  await show('database')
  const rows = () => page.locator('#database-queries > li:visible').evaluateAll(rows => rows.map(({ id }) => id))
  t.strictSame(await rows(), ['query-0', 'query-1', 'query-2', 'query-3'])
  await page.locator('.segment', { hasText: 'Duplicates' }).click()
  t.strictSame(await rows(), ['query-1', 'query-3'])
  t.equal(page.url(), `${url}/_profiler/${token}?panel=database&show=duplicate`)
  await page.locator('.segment', { hasText: 'All' }).click()
  await page.getByRole('link', { name: 'SELECT name FROM authors' }).first().click()
  await page.waitForURL(/shape=1/)
  t.strictSame(await rows(), ['query-1', 'query-2', 'query-3'])
  await page.locator('#query-3 summary').click()
  await page.getByRole('link', { name: 'same as 2' }).click()
  t.equal(await page.locator('li:target').getAttribute('id'), 'query-1')
  const first = page.locator('#query-1')
  t.ok(await first.locator('details[open]').count(), 'the item that a link leads to is open')
  t.equal(await first.locator('pre').innerText(), 'SELECT name\nFROM authors\nWHERE id = $1')
  t.ok(await first.getByRole('button', { name: 'Copy' }).isVisible())
  t.match(await first.locator('.parameters').innerText(), /id\s+1/)
  t.strictSame(complaints, [])

  const plain = await open(t, '/busy', { javaScriptEnabled: false })
  await plain.show('database')
  await plain.page.locator('.segment', { hasText: 'Duplicates' }).click()
  await plain.page.getByRole('button', { name: 'Filter' }).click()
  await plain.page.waitForURL(/show=duplicate/)
  t.equal(await plain.page.locator('#database-queries > li:visible').count(), 2)
})

t.test('rows are found wherever they are folded', needsBrowser, async t => {
  const { complaints, page, show } = await open(t)
  await show('router')
  const folded = page.locator('#routes details')
  t.equal(await folded.getAttribute('open'), null)
  const name = String(await folded.locator('tbody th').last().textContent())
  await page.getByLabel('Filter routes').fill(name)
  t.equal(await folded.getAttribute('open'), '')
  t.ok(await folded.locator('tbody th').last().isVisible())
  t.match(await page.getByRole('status').textContent(), /^1 of \d+$/)
  await show('demo')
  await page.getByRole('searchbox').fill('x'.repeat(500))
  t.strictSame(await page.locator('#collected tbody th:visible').allInnerTexts(), ['three'])
  t.strictSame(complaints, [])
})

t.test('what comes later is filtered as well', needsBrowser, async t => {
  const { page, show } = await open(t)
  await show('demo')
  await page.getByRole('searchbox').fill('first')
  await page.evaluate(`{
    const row = document.querySelector('#collected tbody tr').cloneNode()
    row.textContent = 'something else'
    document.querySelector('#collected tbody').append(row)
  }`)
  await page.getByText('1 of 9').waitFor()
  t.strictSame(await page.locator('#collected tbody tr:visible th').allInnerTexts(), ['one'])
})

t.test('? lists the shortcuts of a page, and in a text field keys are text', needsBrowser, async t => {
  const { complaints, page, show } = await open(t)
  await show('demo')
  await page.keyboard.press('?')
  const dialog = page.getByRole('dialog', { name: 'Keyboard shortcuts' })
  t.match(await dialog.innerText(), /\/\s+Filter\s[\s\S]+\?\s+Keyboard shortcuts\s+Esc\s+Close/)
  await page.keyboard.press('/')
  t.ok(await dialog.isVisible(), 'what lies below it is out of reach')
  await page.keyboard.press('Escape')
  t.equal(await page.getByRole('dialog').count(), 0)

  await page.keyboard.press('/')
  await page.keyboard.type('/?')
  t.equal(await page.getByRole('searchbox').inputValue(), '/?')
  t.equal(await page.getByRole('dialog').count(), 0)
  await page.keyboard.press('Escape')

  await page.evaluate('document.activeElement.blur()')
  await page.keyboard.press('?')
  t.match(await dialog.innerText(), /l\s+Latest profile/)
  await dialog.getByRole('button', { name: 'Close' }).click()
  await page.keyboard.press('Control+l')
  t.notMatch(page.url(), '/latest')
  await page.keyboard.press('l')
  await page.waitForURL(/latest/)
  t.strictSame(complaints, [])
})

t.test('links lead to a log message, a render or a call, which is highlighted', needsBrowser, async t => {
  const { complaints, page, token, url } = await open(t)
  for (const [panel, anchor] of [
    ['logger', 'log-4'],
    ['templates', 'render-2'],
    ['database', 'query-2'],
    ['http', 'call-1'],
  ] as const) {
    await page.goto('about:blank')
    await page.goto(`${url}/_profiler/${token}?panel=${panel}#${anchor}`)
    const marked = ':is(tr, .log, .item):is(:target, :has(:target))'
    t.equal(await page.locator(marked).count(), 1, panel)
    t.equal(await page.evaluate(`getComputedStyle(document.querySelector('${marked}')).outlineStyle`), 'solid')
  }
  t.ok(await page.getByRole('link', { name: 'same as 1' }).isVisible(), 'it is open')
  await page.locator('#call-1').getByText('curl', { exact: true }).click()
  t.match(await page.locator('#curl-1').innerText(), `curl ${url}/text`)
  t.ok(await page.getByRole('button', { name: 'Copy' }).first().isVisible())
  t.strictSame(complaints, [])
})

t.test('the content of a hostile page is text, and its preview runs nothing', needsBrowser, async t => {
  const { page, show, token, url } = await open(t, '/hostile')
  const asked: string[] = []
  // Chromium reports requests that the policy refuses, too: they end with a failure of this name.
  page.on('requestfinished', request => asked.push(request.url()))
  page.on('requestfailed', request => asked.push(`${request.url()} ${request.failure()?.errorText}`))
  await show('request')
  t.match(await page.locator('#response-content').textContent(), '<script>document.title = "run"</script>')
  await page.getByRole('link', { name: 'Preview' }).click()
  await page.getByText('Shop').waitFor()
  t.equal(page.url(), `${url}/_profiler/${token}/content`)
  t.notMatch(await page.title(), /run|1/)
  t.strictSame(
    asked.filter(each => each.includes('example.test')),
    ['http://example.test/x csp'],
  )
})
