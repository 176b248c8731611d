import { t } from 'tap'
import { needsBrowser, openBrowser } from '#tests/support/browser.ts'
import { watch } from '#tests/support/page-checks.ts'
import { findMisfits, findScripted } from '#tests/support/screen-checks.ts'
import { openScreens } from '#tests/support/screens.ts'

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
    const found: string[] = []
    for (const { path } of screens) {
      await Promise.all([page.goto(url + path), plain.goto(url + path)])
      found.push(...(await findScripted(page, plain)), ...(await findMisfits(page, [400, 1400])))
    }
    t.strictSame([...found, ...complaints()], [])
  },
)
