import { type Test, t } from 'tap'
import { needsBrowser, openPage } from '#tests/support/browser.ts'
import { watch } from '#tests/support/page-checks.ts'
import {
  findExtraStyles,
  findMisfits,
  findScripted,
  findSmallTargets,
  findUnreached,
  findViolationsIn,
  windows,
} from '#tests/support/screen-checks.ts'
import { openScreens, type Screen, type Screens } from '#tests/support/screens.ts'

// The proofs have all screens in all windows: screens, keyboard, accessibility-….
t.test('the screens, in one browser', needsBrowser, async t => {
  const site = await openScreens(t)
  await t.test('each layout fits, can be read, stays on the site, complains of nothing, and passes axe', t =>
    testWindows(t, site),
  )
  await t.test('a panel has four styles of text, and fingers can touch what it offers', t => testPanels(t, site))
  await t.test('on a phone the title and the names are whole, and sub-requests are indented', t => testPhone(t, site))
  await t.test('without scripts, some screens say the same, and the keyboard reaches everything there', t =>
    testSome(t, site),
  )
})

/** Opens a screen of each layout in one of the four windows. */
async function testWindows(t: Test, site: Screens) {
  const page = await openPage(t)
  await page.emulateMedia({ reducedMotion: 'reduce' })
  const complaints = watch(page, site.url)
  const found: string[] = []
  const screens = choose(t, site, [
    'list',
    'route',
    'CPU profile',
    'compared',
    'panel overview',
    'panel time',
    'exception of a failure',
    'welcome',
  ])
  for (const [index, { path }] of screens.entries()) {
    const size = windows[index % windows.length] as (typeof windows)[number]
    found.push(...(await findViolationsIn(page, site.url + path, [size])), ...(await findMisfits(page, [size.width])))
  }
  t.strictSame(found, [])
  t.strictSame(complaints(), [])
}

/** Opens all panels on a narrow screen for fingers. */
async function testPanels(t: Test, { screens, url }: Screens) {
  const page = await openPage(t, { hasTouch: true })
  await page.setViewportSize({ width: 400, height: 900 })
  const panels = screens.filter(({ name }) => name.startsWith('panel ') || name === 'CPU profile')
  t.ok(panels.length > 15)
  const found: string[] = []
  for (const { path } of panels) {
    await page.goto(url + path)
    found.push(...(await findExtraStyles(page)), ...(await findSmallTargets(page)))
  }
  t.strictSame(found, [])
}

/** In the browser: names of at most 30 characters that take more than one line. */
const brokenNames = `[...document.querySelectorAll('.pairs tbody th')].filter(name => {
  const range = document.createRange()
  range.selectNodeContents(name)
  return name.textContent.length <= 30 && range.getClientRects().length > 1
}).map(name => name.textContent)`

async function testPhone(t: Test, { tokens, url }: Screens) {
  const page = await openPage(t)
  await page.setViewportSize({ width: 400, height: 900 })
  await page.goto(`${url}/_profiler/${tokens.failed}?panel=request`)
  t.equal(await page.evaluate(`(h1 => h1.scrollWidth - h1.clientWidth)(document.querySelector('.head h1'))`), 0)
  t.ok(await page.locator('.pairs tbody th').count())
  t.strictSame(await page.evaluate(brokenNames), [])

  await page.goto(`${url}/_profiler/empty/search/results?limit=100`)
  // Rows of error pages are folded.
  const boxOf = (row: string) => page.locator(`${row}:not([hidden]) .pill`).first().boundingBox()
  const [main, sub] = [await boxOf('.main'), await boxOf('.sub')]
  t.ok(Number(sub?.x) > Number(main?.x))
}

async function testSome(t: Test, site: Screens) {
  const page = await openPage(t)
  const plain = await openPage(t, { javaScriptEnabled: false })
  for (const each of [page, plain]) await each.setViewportSize({ width: 1400, height: 900 })
  await page.emulateMedia({ reducedMotion: 'reduce' })
  const found: string[] = []
  for (const screen of choose(t, site, ['list', 'panel time'])) {
    found.push(...(await findUnreached(page, site.url, screen)))
    await plain.goto(site.url + screen.path)
    found.push(...(await findScripted(page, plain)))
  }
  t.strictSame(found, [])
}

function choose(t: Test, { screens }: Screens, names: readonly string[]): readonly Screen[] {
  const chosen = screens.filter(({ name }) => names.includes(name))
  t.strictSame(chosen.map(({ name }) => name).toSorted(), names.toSorted())
  return chosen
}
