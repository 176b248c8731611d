import { t } from 'tap'
import { needsBrowser, openBrowser } from '#tests/support/browser.ts'
import { findUnreached } from '#tests/support/screen-checks.ts'
import { openScreens } from '#tests/support/screens.ts'

t.test(
  'the keyboard reaches everything on every screen, in the order of reading, and is seen there',
  needsBrowser,
  async t => {
    const browser = await openBrowser(t)
    const { screens, url } = await openScreens(t)
    const page = await browser.newPage({ viewport: { width: 1400, height: 900 }, reducedMotion: 'reduce' })
    const found: string[] = []
    for (const screen of screens) found.push(...(await findUnreached(page, url, screen)))
    t.strictSame(found, [])
  },
)
