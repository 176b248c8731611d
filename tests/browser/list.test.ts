import type { Page } from 'playwright-core'
import { type Test, t } from 'tap'
import { needsBrowser, openPage } from '#tests/support/browser.ts'
import { createRecord, keep } from '#tests/support/create-profile.ts'
import { settle } from '#tests/support/page-checks.ts'
import { createProfiledKernel } from '#tests/support/profiled-kernel.ts'
import { serveKernel } from '#tests/support/test-server.ts'

interface Opened {
  readonly page: Page
  readonly url: string
  readonly server: { close(times?: { deadline?: number }): Promise<void> }
  /** What went wrong on the page. */
  readonly complaints: string[]
  ask(path: string): Promise<string>
}

async function open(t: Test, path = '/_profiler/'): Promise<Opened> {
  const { server, url } = await serveKernel(t, await createProfiledKernel(t))
  const ask = async (path: string) => String((await fetch(url + path)).headers.get('x-debug-token'))
  await ask('/star-photo-booth')
  const page = await openPage(t, { timezoneId: 'Asia/Tokyo' })
  await page.addInitScript(watchShifts)
  const complaints: string[] = []
  page.on('pageerror', error => complaints.push(String(error)))
  page.on('console', message => complaints.push(message.text()))
  await page.goto(url + path)
  return { page, url, server, complaints, ask }
}

/** Runs in the page: notes what moves by itself (Layout Instability). */
const watchShifts = `
  globalThis.shifts = []
  new PerformanceObserver(list => {
    for (const { sources } of list.getEntries()) shifts.push(...sources.map(({ node }) => String(node?.className)))
  }).observe({ type: 'layout-shift', buffered: true })
`

const rows = (page: Page) => page.locator('tr[data-token]')

t.test('new profiles appear by themselves, but not while the list is in use', needsBrowser, async t => {
  const { ask, complaints, page } = await open(t)
  await page.getByText('Live', { exact: true }).waitFor()
  t.strictSame(await page.evaluate('shifts'), [], 'nothing moves when the script begins')
  const missing = await ask('/missing-x')
  await page.locator(`tr[data-token="${missing}"]`).waitFor()
  await page.locator('tr', { hasText: 'error page' }).waitFor()
  t.equal(await rows(page).count(), 3)
  t.equal(await page.getByRole('heading', { level: 1 }).textContent(), '3 results found', 'the count line stays true')
  t.match(await page.locator('.recording').textContent(), '3 profiles stored', 'and so does the footer')

  await rows(page).first().hover()
  await page.evaluate('shifts.length = 0')
  const waiting = await ask('/partnership')
  await page.getByRole('button', { name: '1 new' }).waitFor()
  t.equal(await page.locator(`tr[data-token="${waiting}"]`).count(), 0)
  t.match(await page.locator('p[role="status"]').textContent(), /new profile/)
  t.strictSame(await page.evaluate('shifts'), [], 'nor when profiles are offered')
  await page.getByRole('button', { name: '1 new' }).focus()
  await page.keyboard.press('Enter')
  await page.locator(`tr[data-token="${waiting}"]`).waitFor()
  t.ok(await page.locator(`tr[data-token="${waiting}"] .entry`).evaluate(link => link.matches(':focus')))
  t.strictSame(complaints, [])
})

t.test('the list filters while one types, and stays live with its filter', needsBrowser, async t => {
  const { ask, complaints, page, url } = await open(t)
  await ask('/partnership')
  await page.getByLabel('URL, operation, route or controller').pressSequentially('partner')
  await page.waitForURL(/text=partner/)
  t.match(page.url(), `${url}/_profiler/`)
  t.equal(await rows(page).count(), 1)
  t.equal(await page.getByLabel('URL, operation, route or controller').inputValue(), 'partner')
  t.ok(
    await page.getByLabel('URL, operation, route or controller').evaluate(input => input.matches(':focus')),
    'one can go on',
  )
  await page.getByText('Live', { exact: true }).waitFor()
  await ask('/star-photo-booth')
  const wanted = await ask('/partnership?again')
  await page.locator(`tr[data-token="${wanted}"]`).waitFor()
  t.equal(await rows(page).count(), 2)
  await page.getByLabel('Method').selectOption('POST')
  await page.getByText('The query returned no result.').waitFor()
  t.strictSame(complaints, [])
})

t.test('rows are opened by a click anywhere, walked with keys, and pinned where they are', needsBrowser, async t => {
  const { ask, complaints, page, url } = await open(t)
  const latest = await ask('/missing-x')
  await settle(page, () => page.reload())
  await page.keyboard.press('j')
  await page.keyboard.press('j')
  await page.keyboard.press('k')
  t.ok(await page.locator(`tr[data-token="${latest}"] .entry`).evaluate(link => link.matches(':focus')))
  await page.getByRole('button', { name: `Pin ${latest}` }).click()
  await page.getByRole('button', { name: `Pin ${latest}`, pressed: true }).waitFor()
  t.match(page.url(), '/search/results', 'without leaving the list')
  // Where the link of the row is stretched over all of it.
  await page.locator(`tr[data-token="${latest}"] .time`).click({ force: true })
  t.equal(page.url(), `${url}/_profiler/${latest}`)
  await page.getByText('pinned', { exact: true }).waitFor()
  t.strictSame(complaints, [])
})

t.test('two records are selected and compared, also without scripts', needsBrowser, async t => {
  const { ask, complaints, page, url } = await open(t)
  const missing = await ask('/missing-x')
  await settle(page, () => page.reload())
  t.notOk(await page.getByRole('button', { name: 'Compare', exact: true }).isVisible())
  for (const box of await page.getByRole('checkbox', { name: /^Select/ }).all()) await box.check()
  t.equal(await page.locator('.select :checked').count(), 2, 'never more than two')
  await page.getByRole('button', { name: 'Compare', exact: true }).click()
  t.equal(await page.getByRole('heading', { level: 1 }).textContent(), 'Two profiles compared another route')
  t.strictSame(complaints, [])

  const plain = await openPage(t, { javaScriptEnabled: false })
  await plain.goto(`${url}/_profiler/`)
  await plain.locator(`tr[data-token="${missing}"] .select input`).check()
  await plain.locator('tr.main .select input').last().check()
  await plain.getByRole('button', { name: 'Compare', exact: true }).click()
  t.match(await plain.locator('.side').last().innerText(), missing, 'the newer one is B')
  for (const width of [400, 1400]) {
    await plain.setViewportSize({ width, height: 900 })
    const overflow = await page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth')
    t.equal(overflow, 0)
  }
})

/** A time in the zone of these pages. */
const toLocal = (iso: string) => new Date(Date.parse(iso) + 9 * 3_600_000).toISOString()

t.test('times are in the zone of the browser, with their age', needsBrowser, async t => {
  const { page } = await open(t)
  const time = page.locator('time[data-local]').first()
  const iso = String(await time.getAttribute('datetime'))
  const hour = (new Date(iso).getUTCHours() + 9) % 24
  t.match(await time.innerText(), /^(?:just now|\d+ s ago)$/)
  t.match(await time.getAttribute('title'), new RegExp(`T${String(hour).padStart(2, '0')}:.*\\+09:00$`))
  await page.getByText('More', { exact: true }).click()
  const [local = ''] = toLocal(iso).split('.')
  await page.getByLabel('From (GMT+9)').fill(local)
  await page.waitForURL(/start=/)
  // A field without seconds means a whole minute.
  const start = new URL(page.url()).searchParams.get('start')
  t.equal(Date.parse(String(start)), Date.parse(iso.replace(/\.\d+Z$/, 'Z')))
})

t.test('a hidden page has no stream; a page whose server stops shows it', needsBrowser, async t => {
  const { page, server } = await open(t)
  await page.getByText('Live', { exact: true }).waitFor()
  const hide = (isHidden: boolean) =>
    page.evaluate(`Object.defineProperty(document, 'hidden', { configurable: true, value: ${isHidden} });
      document.dispatchEvent(new Event('visibilitychange'))`)
  await hide(true)
  t.equal(await page.locator('.live-state').textContent(), '')
  await hide(false)
  await page.getByText('Live', { exact: true }).waitFor()
  const begin = performance.now()
  await server.close({ deadline: 100_000 })
  t.ok(performance.now() - begin < 90_000, 'it does not wait for the stream')
  await page.getByText('Reconnecting', { exact: true }).waitFor()
})

t.test('status, IP, method, URL, time and token are in the window at each width', needsBrowser, async t => {
  const kernel = await createProfiledKernel(t)
  const { url } = await serveKernel(t, kernel)
  const wide = { ip: '192.168.100.200', route: 'shop_product_show', queries: 51, queryTime: 236, size: 48_000 }
  for (const [index, token] of ['00000a', '00000b', '00000c'].entries()) {
    const more = {
      duration: 612.5,
      memory: index * 99e6,
      machine: `web-${index}`,
      parent: index === 0 ? '00000b' : null,
    }
    kernel.storage.append(createRecord({ ...wide, ...more, token, url: 'http://localhost/shop/products/7' }), '{}')
  }
  const page = await openPage(t)
  await page.goto(`${url}/_profiler/`)
  const missed: string[] = []
  for (const width of [400, 600, 860, 870, 1000, 1160, 1280, 1290, 1380, 1400, 1450, 1600]) {
    await page.setViewportSize({ width, height: 900 })
    const names = await page.evaluate<string[]>(`['status', 'ip', 'method', 'target', 'time', 'token'].filter(name => {
      const { left, right, width } = document.querySelector('tr.main td.' + name).getBoundingClientRect()
      return width === 0 || left < 0 || right > innerWidth
    })`)
    missed.push(...names.map(name => `${width}: ${name}`))
  }
  t.strictSame(missed, [])
  t.strictSame(await page.locator('th[class]').allTextContents(), [
    'Status',
    'IP',
    'Method',
    'URL',
    'Route',
    'Machine',
    'Queries',
    'Duration',
    'Time',
    'Token',
  ])
})

t.test('a request is a line of 36 pixels, and 22 of them are in a window of 900 pixels', needsBrowser, async t => {
  const kernel = await createProfiledKernel(t)
  const { url } = await serveKernel(t, kernel)
  const long = {
    url: `http://localhost/${'long-'.repeat(60)}`,
    exception: 'TypeError',
    errors: 3,
    warnings: 2,
    queries: 51,
  }
  for (let number = 16; number < 46; number++) {
    const more = { ...long, calls: number, subRequests: 2, controller: `${'Long'.repeat(20)}Controller` }
    keep(kernel.storage, { token: `0000${number}`, ...(number % 2 === 0 && more) })
  }
  const page = await openPage(t)
  await page.setViewportSize({ width: 1400, height: 900 })
  await page.goto(`${url}/_profiler/`)
  const heights = await page.evaluate<number[]>(
    `[...document.querySelectorAll('tr[data-token]')].map(row => Math.round(row.getBoundingClientRect().height))`,
  )
  t.strictSame([...new Set(heights)], [36])
  const seen = await page.evaluate<number>(
    `[...document.querySelectorAll('tr[data-token]')].filter(row => row.getBoundingClientRect().bottom <= innerHeight).length`,
  )
  t.ok(seen >= 22, `${seen} rows`)
  const cut: string[] = []
  for (const width of [320, 400, 600, 780, 900, 1000, 1160, 1400]) {
    await page.setViewportSize({ width, height: 900 })
    const badges = await page.evaluate<string[]>(`[...document.querySelectorAll('.target .badge')].filter(badge =>
      badge.scrollWidth > badge.clientWidth && badge.offsetTop < badge.parentElement.offsetTop + 20
    ).map(badge => badge.textContent)`)
    cut.push(...badges.map(badge => `${width}: ${badge}`))
  }
  t.strictSame(cut, [], 'a badge without room is left out as a whole')
})

t.test('the keys show a preview beside the list; a narrow window has none', needsBrowser, async t => {
  const { ask, complaints, page } = await open(t)
  await ask('/no-page-with-a-name-as-long-as-this-one-and-longer-than-its-column')
  const latest = await ask('/partnership?preview')
  await page.setViewportSize({ width: 1400, height: 900 })
  await settle(page, () => page.reload())
  const preview = page.getByRole('complementary', { name: 'Preview' })
  t.equal(await preview.isVisible(), false)
  await page.keyboard.press('ArrowDown')
  await preview.getByRole('link', { name: '/partnership?preview', exact: true }).waitFor()
  t.ok(await page.locator(`tr[data-token="${latest}"] .entry`).evaluate(link => link.matches(':focus')))
  await page.keyboard.press('j')
  await preview
    .getByRole('link', { name: '/no-page-with-a-name-as-long-as-this-one-and-longer-than-its-column', exact: true })
    .waitFor()
  const badge = page.getByRole('table').getByText('KERNEL_NO_ROUTE')
  const isSeen = await badge.evaluate(badge => {
    const [{ bottom, top }, row] = [badge, badge.closest('tr') ?? badge].map(each => each.getBoundingClientRect())
    return Math.abs(top + bottom - row.top - row.bottom) < 8
  })
  t.ok(isSeen, 'a long badge is shortened')
  const overflow = 'document.documentElement.scrollWidth - document.documentElement.clientWidth'
  t.equal(await page.evaluate(overflow), 0)
  await page.setViewportSize({ width: 1000, height: 900 })
  t.equal(await preview.isVisible(), false)
  await page.setViewportSize({ width: 1400, height: 900 })
  await page.keyboard.press('Escape')
  t.equal(await preview.isVisible(), false)
  t.strictSame(complaints, [])
})

t.test('a page of the list is loaded once', needsBrowser, async t => {
  const { ask, page, url } = await open(t)
  const requests: string[] = []
  page.on('request', request =>
    requests.push(
      request
        .url()
        .replace(url, '')
        .replace(/[?#].*|\/[\da-f]{8}(?=\/)/g, ''),
    ),
  )
  await settle(page, () => page.reload())
  await page.getByText('Live', { exact: true }).waitFor()
  await ask('/partnership')
  await rows(page).nth(1).waitFor()
  const pages = requests.filter(path => path.endsWith('/search/results'))
  t.equal(pages.length, 2, 'once, and once more with the new profile')
  t.strictSame([...new Set(requests)].sort(), [
    '/_profiler/assets/icon.svg',
    '/_profiler/assets/profiler.css',
    '/_profiler/assets/profiler.js',
    '/_profiler/empty/search/results',
    '/_profiler/live',
  ])
})
