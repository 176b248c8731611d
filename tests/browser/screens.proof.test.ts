import { t } from 'tap'
import { needsBrowser, openPage } from '#tests/support/browser.ts'
import { watch } from '#tests/support/page-checks.ts'
import { findExtraStyles, findMisfits, findScripted, findSmallTargets } from '#tests/support/screen-checks.ts'
import { openScreens } from '#tests/support/screens.ts'

t.test(
  'no screen complains, leaves the site, is too wide, has small targets or a fifth style of text; without scripts it says the same',
  needsBrowser,
  async t => {
    const { screens, url } = await openScreens(t)
    // Only a finger needs large targets.
    const page = await openPage(t, { hasTouch: true })
    const complaints = watch(page, url)
    const plain = await openPage(t, { javaScriptEnabled: false })
    const found: string[] = []
    for (const { path } of screens) {
      for (const each of [page, plain]) await each.setViewportSize({ width: 1400, height: 900 })
      await Promise.all([page.goto(url + path), plain.goto(url + path)])
      found.push(...(await findScripted(page, plain)), ...(await findMisfits(page, [1400, 400])))
      if (path.startsWith('/_profiler/')) found.push(...(await findSmallTargets(page)))
      if (path.includes('panel=')) found.push(...(await findExtraStyles(page)))
    }
    t.strictSame([...found, ...complaints()], [])
  },
)
