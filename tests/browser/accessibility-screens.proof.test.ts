import { t } from 'tap'
import { needsBrowser, openPage } from '#tests/support/browser.ts'
import { findViolations, testAccessibility } from '#tests/support/screen-checks.ts'
import { openScreens } from '#tests/support/screens.ts'

t.test('axe finds nothing on any screen, in light and dark, narrow and wide', needsBrowser, t =>
  testAccessibility(t, name => !/^(?:panel|exported) /.test(name)),
)

t.test('axe finds nothing in the open palette', needsBrowser, async t => {
  const { screens, url } = await openScreens(t)
  const page = await openPage(t)
  await page.emulateMedia({ reducedMotion: 'reduce' })
  await page.goto(url + screens.find(({ name }) => name === 'list')?.path)
  await page.keyboard.press('Control+k')
  await page.locator('.palette [role="option"]').first().waitFor()
  t.strictSame(await findViolations(page), [])
})
