import { t } from 'tap'
import { needsBrowser, openBrowser } from '#tests/support/browser.ts'
import { findViolations, findViolationsIn, listAddresses, windows } from '#tests/support/screen-checks.ts'
import { openScreens } from '#tests/support/screens.ts'

t.test(
  'axe finds nothing on any screen or in an exported file, in light and dark, narrow and wide',
  needsBrowser,
  async t => {
    const browser = await openBrowser(t)
    const site = await openScreens(t)
    const page = await browser.newPage({ reducedMotion: 'reduce' })
    const found: string[] = []
    for (const { address } of await listAddresses(t, site)) {
      found.push(...(await findViolationsIn(page, address, windows)))
    }
    t.strictSame(found, [])
    await page.goto(site.url + site.screens.find(({ name }) => name === 'list')?.path)
    await page.keyboard.press('Control+k')
    await page.locator('.palette [role="option"]').first().waitFor()
    t.strictSame(await findViolations(page), [], 'the palette')
  },
)
