import { t } from 'tap'
import { needsBrowser, openPage } from '#tests/support/browser.ts'
import { watch } from '#tests/support/page-checks.ts'
import { findUnreached } from '#tests/support/screen-checks.ts'
import { openScreens } from '#tests/support/screens.ts'

t.test('the keyboard reaches all of every screen, in the order of reading, and is seen', needsBrowser, async t => {
  const { screens, url } = await openScreens(t)
  const page = await openPage(t)
  await page.setViewportSize({ width: 1400, height: 900 })
  await page.emulateMedia({ reducedMotion: 'reduce' })
  const found: string[] = []
  for (const screen of screens) found.push(...(await findUnreached(page, url, screen)))
  t.strictSame(found, [])
})

t.test('the keyboard opens the palette on every page; without scripts there is no button', needsBrowser, async t => {
  const { screens, url } = await openScreens(t)
  const page = await openPage(t)
  const complaints = watch(page, url)
  const plain = await openPage(t, { javaScriptEnabled: false })
  const names = ['list', 'routes', 'compared', 'replay', 'unknown token', 'error page of a failure', 'welcome']
  for (const { name, path } of screens.filter(screen => names.includes(screen.name))) {
    await page.goto(url + path)
    await page.keyboard.press('Control+k')
    await page.locator('.palette [role="option"]').first().waitFor()
    t.match(await page.locator('.palette [role="listbox"]').innerText(), 'Latest profile', name)
    await plain.goto(url + path)
    t.equal(await plain.locator('[data-palette]:visible').count(), 0)
  }
  t.strictSame(complaints(), [])
})
