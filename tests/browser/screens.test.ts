import type { Page } from 'playwright-core'
import { t } from 'tap'
import { needsBrowser, openBrowser } from '#tests/support/browser.ts'
import { lookAt, settle, watch } from '#tests/support/page-checks.ts'
import { openScreens } from '#tests/support/screens.ts'
import { walkByKeyboard } from '#tests/support/walk-by-keyboard.ts'

const unfold = "document.querySelectorAll('main details').forEach(details => { details.open = true })"

/** The text of a page that can be seen, without the masthead, whose search and themes need scripts. */
const textOf = async (page: Page) => (await page.locator('body > :not(.masthead)').allInnerTexts()).join('\n')

t.test(
  'no screen complains, leaves the site, or is too wide; without scripts it says the same',
  needsBrowser,
  async t => {
    const browser = await openBrowser(t)
    const { screens, url } = await openScreens(t)
    const viewport = { width: 1400, height: 900 }
    const page = await browser.newPage({ viewport })
    const complaints = watch(page, url)
    const plain = await browser.newPage({ viewport, javaScriptEnabled: false })
    for (const { name, path } of screens) {
      await Promise.all([page.goto(url + path), plain.goto(url + path)])
      const [full, text] = [await textOf(page), await textOf(plain)]
      t.ok(text.length > 0.9 * full.length, `${name}: ${text.length} of ${full.length} characters`)
      const { pale } = await lookAt(plain)
      t.strictSame(pale, [], `${name} can be read`)
      t.equal(
        await plain.locator('button[data-copy]:visible, [data-filter]:not([name]):visible').count(),
        0,
        'nothing is there that does nothing',
      )

      await page.evaluate(unfold)
      t.equal(await page.locator('[style]').count(), 0, 'a strict policy has nothing to forbid')
      for (const width of [400, 1400]) {
        await page.setViewportSize({ width, height: 900 })
        const { overflow, rules, title } = await lookAt(page)
        t.equal(overflow, 0, `${width} pixels are enough for ${name}`)
        t.ok(rules > 0 && title !== '', 'it has styles and a title')
      }
    }
    t.strictSame(complaints(), [])
  },
)

t.test(
  'the keyboard reaches everything on every screen, in the order of reading, and is seen there',
  needsBrowser,
  async t => {
    const browser = await openBrowser(t)
    const { screens, url } = await openScreens(t)
    const page = await browser.newPage({ viewport: { width: 1400, height: 900 }, reducedMotion: 'reduce' })
    for (const { name, path } of screens) {
      await settle(page, () => page.goto(url + path))
      const { backwards, first, missed, unseen } = await walkByKeyboard(page)
      if (path.startsWith('/_profiler/')) t.match(first, /^Skip to/, `${name}: first, the way to the content`)
      t.strictSame({ backwards, missed, unseen }, { backwards: [], missed: [], unseen: [] }, name)
    }
  },
)

t.test('without scripts, records are searched, pinned, and deleted', needsBrowser, async t => {
  const browser = await openBrowser(t)
  const { tokens, url } = await openScreens(t)
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
})
