import axe from 'axe-core'
import { t } from 'tap'
import { needsBrowser, openBrowser } from '#tests/support/browser.ts'
import { openScreens } from '#tests/support/screens.ts'

/** All that axe finds, best practices too, in the browser. Nothing is fetched for it. */
const run = `new Promise(requestAnimationFrame).then(() => new Promise(requestAnimationFrame)).then(() => axe.run(document, { preload: false, resultTypes: ['violations'] })).then(({ violations }) => violations
  .map(({ id, nodes }) => id + ': ' + nodes.slice(0, 5).map(({ target }) => target.join(' ')).join(', ')))`

t.test('axe finds nothing on any screen, in light and dark, narrow and wide', needsBrowser, async t => {
  const browser = await openBrowser(t)
  const { screens, url } = await openScreens(t)
  const page = await browser.newPage({ reducedMotion: 'reduce' })
  for (const { name, path } of screens) {
    await page.goto(url + path)
    // Not as a script of the page: its policy stays as it is.
    await page.evaluate(axe.source)
    await page.evaluate("document.querySelectorAll('main details').forEach(details => { details.open = true })")
    // Colours do not depend on the width.
    for (const [colorScheme, width] of [['light', 1400] as const, ['dark', 400] as const]) {
      await page.emulateMedia({ colorScheme })
      await page.setViewportSize({ width, height: 900 })
      t.strictSame(await page.evaluate<string[]>(run), [], `${name}, ${colorScheme}, ${width} pixels`)
    }
  }
  const palette = screens.find(({ name }) => name === 'list')
  await page.goto(url + palette?.path)
  await page.evaluate(axe.source)
  await page.keyboard.press('Control+k')
  await page.locator('.palette [role="option"]').first().waitFor()
  t.strictSame(await page.evaluate<string[]>(run), [], 'the palette')
})
