import { t } from 'tap'
import { needsBrowser, openBrowser } from '#tests/support/browser.ts'
import { watch } from '#tests/support/page-checks.ts'
import { findMisfits, findScripted, findUnreached } from '#tests/support/screen-checks.ts'
import { openScreens } from '#tests/support/screens.ts'

const viewport = { width: 1400, height: 900 }

t.test(
  'no screen complains, leaves the site, or is too wide; without scripts it says the same',
  needsBrowser,
  async t => {
    const browser = await openBrowser(t)
    const { screens, url } = await openScreens(t)
    const page = await browser.newPage({ viewport })
    const complaints = watch(page, url)
    const plain = await browser.newPage({ viewport, javaScriptEnabled: false })
    const found: string[] = []
    for (const { path } of screens) {
      await Promise.all([page.goto(url + path), plain.goto(url + path)])
      found.push(...(await findScripted(page, plain)), ...(await findMisfits(page, [400, 1400])))
    }
    t.strictSame([...found, ...complaints()], [])
  },
)

t.test(
  'the keyboard reaches everything on every screen, in the order of reading, and is seen there',
  needsBrowser,
  async t => {
    const browser = await openBrowser(t)
    const { screens, url } = await openScreens(t)
    const page = await browser.newPage({ viewport, reducedMotion: 'reduce' })
    const found: string[] = []
    for (const screen of screens) found.push(...(await findUnreached(page, url, screen)))
    t.strictSame(found, [])
  },
)
