import { t } from 'tap'
import { needsBrowser, openPage } from '#tests/support/browser.ts'
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
