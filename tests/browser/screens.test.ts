import type { Browser } from 'playwright-core'
import { type Test, t } from 'tap'
import { needsBrowser, openBrowser } from '#tests/support/browser.ts'
import { watch } from '#tests/support/page-checks.ts'
import { findMisfits, findScripted, findUnreached, findViolationsIn, windows } from '#tests/support/screen-checks.ts'
import { openScreens, type Screens } from '#tests/support/screens.ts'

// The proofs have all screens in all windows: screens, keyboard, accessibility-….
t.test('the screens, in one browser', needsBrowser, async t => {
  const browser = await openBrowser(t)
  const site = await openScreens(t)
  await t.test('no screen complains, leaves the site, is too wide, or has a finding of axe', t =>
    testWindows(t, browser, site),
  )
  await t.test('without scripts, some screens say the same, and the keyboard reaches everything there', t =>
    testSome(t, browser, site),
  )
  await t.test('without scripts, records are searched, pinned, and deleted', t => testForms(t, browser, site))
})

/** Opens each screen in one of the four windows. Exported files, which have all panels, are in the proof. */
async function testWindows(t: Test, browser: Browser, site: Screens) {
  const page = await browser.newPage({ reducedMotion: 'reduce' })
  const complaints = watch(page, site.url)
  const found: string[] = []
  for (const [index, { path }] of site.screens.entries()) {
    const size = windows[index % windows.length] as (typeof windows)[number]
    found.push(...(await findViolationsIn(page, site.url + path, [size])), ...(await findMisfits(page, [size.width])))
  }
  t.strictSame(found, [])
  t.strictSame(complaints(), [])
}

async function testSome(t: Test, browser: Browser, { screens, url }: Screens) {
  const viewport = { width: 1400, height: 900 }
  const page = await browser.newPage({ viewport, reducedMotion: 'reduce' })
  const plain = await browser.newPage({ viewport, javaScriptEnabled: false })
  const some = screens.filter(({ name }) =>
    ['list', 'panel request', 'panel time', 'error page of a failure', 'welcome'].includes(name),
  )
  t.equal(some.length, 5)
  const found: string[] = []
  for (const screen of some) {
    found.push(...(await findUnreached(page, url, screen)))
    await Promise.all([page.goto(url + screen.path), plain.goto(url + screen.path)])
    found.push(...(await findScripted(page, plain)))
  }
  t.strictSame(found, [])
}

async function testForms(t: Test, browser: Browser, { tokens, url }: Screens) {
  const page = await browser.newPage({ javaScriptEnabled: false })
  page.setDefaultTimeout(20_000)
  await page.goto(`${url}/_profiler/`)
  await page.getByText('Filter', { exact: true }).click()
  await page.getByLabel('Status').fill('503')
  await page.getByRole('button', { name: 'Search', exact: true }).click()
  t.match(page.url(), 'status_code=503')
  await page.locator(`a[href="/_profiler/${tokens.failed}"]`).last().click()
  t.equal(page.url(), `${url}/_profiler/${tokens.failed}`)
  await page.locator('[data-menu] > summary').click()
  await page.getByRole('button', { name: 'Pin', exact: true }).click()
  await page.getByText('pinned', { exact: true }).waitFor()
  await page.goto(`${url}/_profiler/`)
  await page.getByText('Delete profiles').click()
  await page.getByRole('button', { name: 'Delete', exact: true }).click()
  t.match(await page.getByRole('heading', { level: 1 }).textContent(), /^2 results found$/)
}
