import { type Test, t } from 'tap'
import { needsBrowser, openPage } from '#tests/support/browser.ts'
import { watch } from '#tests/support/page-checks.ts'
import { findMisfits, findScripted, findUnreached, findViolationsIn, windows } from '#tests/support/screen-checks.ts'
import { openScreens, type Screens } from '#tests/support/screens.ts'

// The proofs have all screens in all windows: screens, keyboard, accessibility-….
t.test('the screens, in one browser', needsBrowser, async t => {
  const site = await openScreens(t)
  await t.test('no screen complains, leaves the site, is pale or too wide; axe finds nothing in each layout', t =>
    testWindows(t, site),
  )
  await t.test('without scripts, some screens say the same, and the keyboard reaches everything there', t =>
    testSome(t, site),
  )
  await t.test('without scripts, records are searched, pinned, and deleted', t => testForms(t, site))
})

/** Screens that have each element of a page once. Axe takes half a second for one. */
const layouts = [
  'list',
  'route',
  'CPU profile',
  'replay',
  'compared',
  'panel overview',
  'panel request',
  'panel time',
  'panel logger',
  'panel events',
  'exception of a failure',
  'error page of a failure',
  'welcome',
]

/** Screens with the template of another one, and with other data. */
const variants = [
  'replay of a sub-request',
  'all calls of a CPU profile',
  'events of a failure',
  'exception of a 404',
  'routing of a 404',
  'upload',
  'JSON',
  'sub-request',
  'error page of a 405',
]

/** Opens each screen but the variants in one of the four windows. Exported files, which have all panels, are in the proof. */
async function testWindows(t: Test, site: Screens) {
  const page = await openPage(t)
  await page.emulateMedia({ reducedMotion: 'reduce' })
  const complaints = watch(page, site.url)
  const found: string[] = []
  const missing = [...layouts, ...variants].filter(name => site.screens.every(screen => screen.name !== name))
  const opened = site.screens.filter(({ name }) => !variants.includes(name))
  for (const [index, { name, path }] of opened.entries()) {
    const size = windows[index % windows.length] as (typeof windows)[number]
    const address = site.url + path
    if (layouts.includes(name)) found.push(...(await findViolationsIn(page, address, [size])))
    else {
      await page.emulateMedia(size)
      await page.goto(address)
    }
    found.push(...(await findMisfits(page, [size.width])))
  }
  t.strictSame(missing, [])
  t.strictSame(found, [])
  t.strictSame(complaints(), [])
}

async function testSome(t: Test, { screens, url }: Screens) {
  const viewport = { width: 1400, height: 900 }
  const page = await openPage(t)
  const plain = await openPage(t, { javaScriptEnabled: false })
  for (const each of [page, plain]) await each.setViewportSize(viewport)
  await page.emulateMedia({ reducedMotion: 'reduce' })
  const some = screens.filter(({ name }) =>
    ['list', 'panel request', 'panel time', 'CPU profile', 'error page of a failure', 'welcome'].includes(name),
  )
  t.equal(some.length, 6)
  const found: string[] = []
  for (const screen of some) {
    found.push(...(await findUnreached(page, url, screen)))
    await Promise.all([page.goto(url + screen.path), plain.goto(url + screen.path)])
    found.push(...(await findScripted(page, plain)))
  }
  t.strictSame(found, [])
}

async function testForms(t: Test, { tokens, url }: Screens) {
  const page = await openPage(t, { javaScriptEnabled: false })
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
