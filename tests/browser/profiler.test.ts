import type { Page } from 'playwright-core'
import { type Test, t } from 'tap'
import { needsBrowser, openPage, type PageOptions } from '#tests/support/browser.ts'
import { lookAt, watch } from '#tests/support/page-checks.ts'
import { createProfiledKernel } from '#tests/support/profiled-kernel.ts'
import { serveKernel } from '#tests/support/test-server.ts'

interface Opened {
  readonly page: Page
  readonly url: string
  tokenOf(path: string, init?: RequestInit): Promise<string>
}

async function open(t: Test, options: PageOptions = {}): Promise<Opened> {
  const { url } = await serveKernel(t, await createProfiledKernel(t))
  const tokenOf = async (path: string, init?: RequestInit) =>
    String((await fetch(url + path, init)).headers.get('x-debug-token'))
  return { page: await openPage(t, options), url, tokenOf }
}

t.test('pages of the profiler fit the window, can be read, and keep to their policy', needsBrowser, async t => {
  const { page, tokenOf, url } = await open(t)
  const complaints = watch(page, url)
  const empty = '/_profiler/empty/search/results?ip=9.9.9.9&start=nope&limit=x'
  await page.goto(url + empty)
  const missing = await tokenOf(`/missing-x/${'a-very-long-path/'.repeat(20)}`)
  const found = await tokenOf('/star-photo-booth')
  for (const [path, title] of [
    ['/_profiler/', /^\d+ results found · Profiler$/],
    [empty, /^No results found/],
    [`/_profiler/${missing}`, /^404 GET \/missing-x/],
    [`/_profiler/${found}`, /^200 GET \/star-photo-booth/],
    ['/_profiler/ffffff', /^Token not found/],
  ] as const) {
    await page.goto(url + path)
    const backgrounds = new Set<string>()
    for (const [colorScheme, width] of [['light', 400] as const, ['light', 800] as const, ['dark', 1400] as const]) {
      await page.emulateMedia({ colorScheme })
      await page.setViewportSize({ width, height: 900 })
      const { background, overflow, pale, rules, title: shown } = await lookAt(page)
      t.match(shown, title)
      t.equal(overflow, 0, `${width} pixels are enough for ${path}`)
      t.ok(rules > 0, 'styles are there')
      t.strictSame(pale, [], `${colorScheme} has contrast`)
      backgrounds.add(background)
    }
    t.equal(backgrounds.size, 2, 'light and dark differ')
  }
  t.strictSame(complaints(), [])
})

t.test('the way from a cause opens its stack, which is folded otherwise', needsBrowser, async t => {
  const { page, tokenOf, url } = await open(t)
  await page.goto(`${url}/_profiler/${await tokenOf('/gone')}?panel=exception`)
  const cause = page.locator('details.exception').nth(1)
  t.equal(await cause.getAttribute('open'), null)
  await page.getByLabel('Exceptions, cause first').getByRole('link').first().click()
  t.equal(await cause.getAttribute('open'), '')
  t.ok(await cause.locator('summary').first().isVisible())
})

t.test('records are searched, read, pinned and deleted without a script', needsBrowser, async t => {
  const { page, tokenOf, url } = await open(t, { javaScriptEnabled: false })
  const complaints = watch(page, url)
  const missing = await tokenOf('/missing-x')
  const found = await tokenOf('/star-photo-booth')

  await page.goto(`${url}/_profiler`)
  await page.getByLabel('Status').fill('404')
  await page.getByRole('button', { name: 'Search', exact: true }).click()
  t.match(page.url(), `/_profiler/${missing}/search/results?status_code=404&limit=25&type=all`)
  t.equal(await page.getByRole('heading', { level: 1 }).textContent(), '2 results found')
  t.equal(await page.locator('tr.level-1').count(), 1)
  await page.getByRole('link', { name: 'Main 1' }).click()
  t.equal(await page.getByRole('heading', { level: 1 }).textContent(), '1 results found')
  await page.getByRole('link', { name: 'Main 1' }).click()
  t.equal(await page.getByLabel('Status').inputValue(), '404')

  await page.getByRole('link', { name: '/missing-x' }).first().click()
  t.equal(page.url(), `${url}/_profiler/${missing}`)
  await page.locator('.export > summary').click()
  await page.getByRole('button', { name: 'Pin' }).click()
  t.match(page.url(), `${url}/_profiler/${missing}`)
  await page.getByText('pinned', { exact: true }).waitFor()
  await page.getByRole('link', { name: 'Next' }).click()
  t.match(page.url(), `${url}/_profiler/${found}`)

  await page.getByRole('link', { name: 'Profiles', exact: true }).click()
  await page.getByText('Delete profiles').click()
  await page.getByRole('button', { name: 'Delete' }).click()
  t.equal(await page.getByRole('heading', { level: 1 }).textContent(), '2 results found', 'the pinned one is left')

  await page.getByRole('button', { name: 'Pause recording' }).click()
  t.equal(await tokenOf('/star-photo-booth'), 'null')
  await page.getByRole('button', { name: 'Resume' }).click()
  t.match(await tokenOf('/star-photo-booth'), /^[0-9a-f]{6}$/)
  t.strictSame(complaints(), [])
})
