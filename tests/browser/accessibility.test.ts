import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import axe from 'axe-core'
import { t } from 'tap'
import { needsBrowser, openBrowser } from '#tests/support/browser.ts'
import { openScreens } from '#tests/support/screens.ts'

/** All that axe finds, best practices too, in the browser. Nothing is fetched for it. */
const run = `new Promise(requestAnimationFrame).then(() => new Promise(requestAnimationFrame)).then(() => axe.run(document, { preload: false, resultTypes: ['violations'] })).then(({ violations }) => violations
  .map(({ id, nodes }) => id + ': ' + nodes.slice(0, 5).map(({ target }) => target.join(' ')).join(', ')))`

t.test(
  'axe finds nothing on any screen or in an exported file, in light and dark, narrow and wide',
  needsBrowser,
  async t => {
    const browser = await openBrowser(t)
    const { screens, tokens, url } = await openScreens(t)
    const page = await browser.newPage({ reducedMotion: 'reduce' })
    const folder = t.testdir()
    const files = Object.entries(tokens).map(([name, token]) => ({ name: `exported ${name}`, token }))
    for (const { name, token } of files) {
      writeFileSync(join(folder, `${name}.html`), await (await fetch(`${url}/_profiler/${token}/export/html`)).text())
    }
    const addresses = [
      ...screens.map(({ name, path }) => ({ name, address: url + path })),
      ...files.map(({ name }) => ({ name, address: `file://${join(folder, name)}.html` })),
    ]
    for (const { address, name } of addresses) {
      await page.goto(address)
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
  },
)
