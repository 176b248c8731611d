import type { Page } from 'playwright-core'
import type { Bundle, Request } from 'sinfonietta'
import { type Test, t } from 'tap'
import { toController } from '#kernel/controller.ts'
import { needsBrowser, openPage } from '#tests/support/browser.ts'
import { createProfiledKernel } from '#tests/support/profiled-kernel.ts'
import { serveKernel } from '#tests/support/test-server.ts'

/** A request with rows of many kinds. */
const busy: Bundle = {
  name: 'busy',
  register({ kernel, logger, routes }) {
    const answer = async (request: Request) => {
      logger.warning('It takes long.')
      logger.error('It takes too long, says a rather long message.')
      request.stopwatch.start('a section with a long-winded name', 'database')
      const { host } = Object.fromEntries(request.headers)
      const long = `/text?${'long='.repeat(60)}`
      await Promise.all(['/text', long].map(async path => (await fetch(`http://${host}${path}`)).text()))
      request.stopwatch.stop('a section with a long-winded name')
      return kernel.handle(request.duplicate({ target: '/star-photo-booth' }), { catchErrors: false })
    }
    routes.add({ name: 'busy', path: '/busy', controller: toController(answer) })
  },
}

interface Opened {
  readonly page: Page
  readonly link: string
}

async function open(t: Test, javaScriptEnabled = true): Promise<Opened> {
  const { url } = await serveKernel(t, await createProfiledKernel(t, { bundles: [busy] }))
  const token = (await fetch(`${url}/busy`)).headers.get('x-debug-token')
  const link = `${url}/_profiler/${token}?panel=time`
  const page = await openPage(t, { javaScriptEnabled })
  await page.goto(link)
  return { page, link }
}

/** Which pairs of texts of the chart lie over one another; evaluated in the browser. */
const overlaps = `(() => {
  const range = document.createRange()
  const walker = document.createTreeWalker(document.querySelector('.chart'), NodeFilter.SHOW_TEXT)
  const boxes = []
  while (walker.nextNode()) {
    const { currentNode } = walker
    if (currentNode.data.trim() === '' || currentNode.parentElement.closest('title, .said, option, [hidden]')) continue
    range.selectNodeContents(currentNode)
    // What is cut at the edge of its cell is not drawn.
    const { right } = currentNode.parentElement.closest('th, td').getBoundingClientRect()
    for (const { bottom, left, right: end, top } of range.getClientRects()) {
      boxes.push({ box: { bottom, left, right: Math.min(right, end), top }, node: currentNode, text: currentNode.data.trim() })
    }
  }
  const bars = [...document.querySelectorAll('.chart table rect')].filter(bar => bar.checkVisibility())
  const things = [...boxes, ...bars.map(bar => ({ box: bar.getBoundingClientRect(), text: 'a bar', isBar: true }))]
  const found = boxes.length > 50 && bars.length > 20 ? [] : ['there is too little to look at']
  for (const a of boxes) for (const b of things) {
    if (a.node === b.node) continue
    const width = Math.min(a.box.right, b.box.right) - Math.max(a.box.left, b.box.left)
    const height = Math.min(a.box.bottom, b.box.bottom) - Math.max(a.box.top, b.box.top)
    if (width > 1 && height > 3) found.push(a.text + ' / ' + b.text)
  }
  return found
})()`

t.test('no label of the timeline lies over another, or a bar, however narrow the window', needsBrowser, async t => {
  const { page } = await open(t)
  t.equal(await page.locator('.lines .said').innerText(), new URL(page.url()).host, 'the host of the call above')
  for (const threshold of ['', '0']) {
    await page.getByLabel('Threshold').selectOption(threshold)
    for (const width of [400, 700, 1000, 1400]) {
      await page.setViewportSize({ width, height: 900 })
      t.strictSame(await page.evaluate(overlaps), [], `${width} pixels`)
    }
  }
})

/** The colours of the bars of the timeline, and of its lines of waiting; evaluated in the browser. */
const colours = `(() => {
  const fills = selector => [...document.querySelectorAll('.chart table ' + selector)].map(bar => getComputedStyle(bar).fill)
  return { bars: fills('rect:not(.on)'), waiting: [...new Set(fills('rect.on'))] }
})()`

t.test('waiting has one colour, which no kind of work has', needsBrowser, async t => {
  const { page } = await open(t)
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme })
    const { bars, waiting } = await page.evaluate<Record<'bars' | 'waiting', string[]>>(colours)
    t.ok(bars.length > 20)
    t.equal(waiting.length, 1, colorScheme)
    t.notOk(bars.includes(String(waiting[0])), colorScheme)
  }
})

t.test('rows are filtered at once, and the URL shows the same rows again', needsBrowser, async t => {
  const { link, page } = await open(t)
  const row = (text: string) => page.locator('.lines tr:visible', { hasText: text })
  t.equal(await page.getByRole('button', { name: 'Apply' }).isVisible(), false)
  await page.getByLabel('Threshold').selectOption('0')
  const all = await page.locator('.lines tr:visible').count()
  t.ok(all > 20)
  await page.getByLabel('HTTP client calls').uncheck()
  t.equal(await row('/text').count(), 0)
  t.equal(await page.locator('.lines tr:visible').count(), all - 2)
  t.equal(await page.locator('[data-hidden]').textContent(), `2 of ${all} rows are hidden.`)
  await page.waitForURL(url => url.searchParams.has('show') && !url.searchParams.getAll('show').includes('http'))
  await page.reload()
  t.equal(await page.getByLabel('Threshold').inputValue(), '0')
  t.equal(await page.getByLabel('HTTP client calls').isChecked(), false)
  t.equal(await row('/text').count(), 0)
  await page.getByRole('link', { name: 'Show all' }).click()
  await row('/text').nth(1).waitFor()
  t.equal(await row('/text').count(), 2)
  await page.goto(`${link}&threshold=0&show=http`)
  t.equal(await row('/text').count(), 2)
})

t.test('the timeline is zoomed by dragging, by keys and by the wheel, and the URL follows', needsBrowser, async t => {
  const { page } = await open(t)
  const plot = page.locator('.lines td > svg > svg').first()
  const widthOf = async () => Number((await plot.boundingBox())?.width)
  const before = await widthOf()
  await page.locator('.axis svg').scrollIntoViewIfNeeded()
  const ruler = await page.locator('.axis svg').boundingBox()
  if (ruler === null) throw new Error('There is no ruler.')
  const moveTo = (share: number) => page.mouse.move(ruler.x + share * ruler.width, ruler.y + 10)
  await moveTo(0.25)
  t.match(await page.locator('text.cursor').textContent(), / m?s$/)
  await page.mouse.down()
  await moveTo(0.75)
  t.ok(await page.locator('rect.selection').isVisible())
  await page.mouse.up()
  await page.waitForURL(/&from=[\d.]+&to=[\d.]+/)
  t.ok(Math.abs((await widthOf()) / before - 2) < 0.05, 'twice as wide')
  await page.keyboard.press('+')
  t.ok(Math.abs((await widthOf()) / before - 4) < 0.1)
  await page.keyboard.press('0')
  t.ok(Math.abs((await widthOf()) / before - 1) < 0.01)
  t.notOk(await page.getByRole('link', { name: 'Whole request' }).isVisible())
  await page.waitForURL(url => !url.searchParams.has('from'))
  await moveTo(0.5)
  await page.keyboard.down('Control')
  await page.mouse.wheel(0, -300)
  await page.keyboard.up('Control')
  await page.waitForURL(/&from=/)
  const zoomed = await widthOf()
  t.ok(zoomed > 1.2 * before)
  await page.reload()
  t.ok(Math.abs((await widthOf()) - zoomed) < 2, 'the same part from the server')
  await page.getByRole('link', { name: 'Whole request' }).click()
  t.ok(Math.abs((await widthOf()) / before - 1) < 0.01)
  await page.locator('.slowest a').first().click()
  t.match(page.url(), /#row-\d+$/)
  t.ok(await page.locator('.lines tr:target').isVisible())
})

t.test('details of the row below the pointer or in focus are shown; arrow keys move', needsBrowser, async t => {
  const { page } = await open(t)
  const detail = page.locator('.timeline-detail')
  t.equal(await detail.isVisible(), false)
  await page.locator('.lines tr', { hasText: 'a section' }).hover()
  t.match(await detail.textContent(), /^a section with .* · Stopwatch · .* m?s to .* m?s · /)
  // When more rows are shown, it would point at another one.
  await page.mouse.move(0, 0)
  await page.getByLabel('Threshold').selectOption('0')
  await page.locator('.lines tr:visible :is(a, [tabindex])').first().focus()
  t.match(await detail.textContent(), /^GET \/busy · .* · own /)
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('ArrowUp')
  const second = page.locator('.lines tr:visible').nth(1)
  t.equal(await page.evaluate('document.activeElement.textContent'), await second.locator('th a').textContent())
})

t.test('a row opens its item beside the page; Escape gives the focus back', needsBrowser, async t => {
  const { link, page } = await open(t)
  await page.getByLabel('Threshold').selectOption('0')
  const call = page.locator('.lines').getByRole('link', { name: /text$/ })
  await call.focus()
  await page.keyboard.press('Enter')
  const drawer = page.getByRole('dialog', { name: 'HTTP Client' })
  await drawer.waitFor()
  t.match(await drawer.locator('.item').innerText(), /GET \S+\/text\b.*Response/s)
  t.equal(await drawer.locator('.item').count(), 1)
  t.match(page.url(), link, 'the page stays')
  t.ok(await drawer.locator('button[data-copy]:not([hidden])').count(), 'what scripts add is there')
  await page.keyboard.press('Escape')
  await drawer.waitFor({ state: 'detached' })
  t.equal(await page.evaluate('document.activeElement.textContent'), await call.textContent())
  await call.click()
  await drawer.getByRole('link', { name: 'HTTP Client' }).click()
  t.match(page.url(), /panel=http#call-\d$/)
  await page.goto(link)
  await page.getByLabel('Threshold').selectOption('0')
  await page.locator('.lines').getByRole('link', { name: 'kernel.terminate' }).click()
  await t.resolves(page.waitForURL(/panel=events#span-\d+$/), 'an item without details is shown in its panel')
})

t.test('without scripts the form filters, and everything leads to its page', needsBrowser, async t => {
  const { link, page } = await open(t, false)
  await page.getByLabel('Threshold').selectOption('0')
  for (const name of ['Kernel', 'Listeners', 'Templates']) await page.getByLabel(name).uncheck()
  await page.getByRole('button', { name: 'Apply' }).click()
  await page.waitForURL(/show=request$/)
  t.match(page.url(), /\?panel=time&threshold=0&show=controller&show=http&show=stopwatch&show=request$/)
  const names = await page.locator('.lines tr:visible th').allTextContents()
  t.match(names.length, 7, names.join())
  await page.locator('.lines').getByRole('link', { name: /text$/ }).click()
  t.match(page.url(), /panel=http#call-\d$/)
  await page.goto(link)
  await page.getByRole('link', { name: /^error at .*too long/ }).click()
  t.match(page.url(), /panel=logger#log-\d+$/)
})

t.test('readers of the table hear of what kind a row is, and when it was', needsBrowser, async t => {
  const { page } = await open(t)
  await page.getByLabel('Threshold').selectOption('0')
  for (const width of [400, 1400]) {
    await page.setViewportSize({ width, height: 900 })
    const table = page.getByRole('table', { name: 'Execution timeline' })
    const row = table.getByRole('row', { name: /^HTTP: .*\/text 200/ })
    t.equal(await row.count(), 1, `${width} pixels`)
    t.match(await row.getByRole('img').first().textContent(), / m?s to .* m?s/)
    t.ok(await page.getByRole('checkbox', { name: 'Sub-Requests' }).isVisible())
  }
})
