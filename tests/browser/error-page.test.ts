import type { Page } from 'playwright-core'
import { t } from 'tap'
import { needsBrowser, openPage } from '#tests/support/browser.ts'
import { createProfiledKernel } from '#tests/support/profiled-kernel.ts'
import { serveKernel } from '#tests/support/test-server.ts'

const handlers = {
  '/broken': () => {
    throw new Error(`It is broken ${'beyond-all-repair-'.repeat(8)}`, { cause: new RangeError('too much') })
  },
}

/** How much wider than its window a page is. */
const overflowOf = (page: Page) =>
  page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth')

t.test('the error page works at any width, with and without scripts', needsBrowser, async t => {
  const kernel = await createProfiledKernel(t, { handlers })
  const { url } = await serveKernel(t, kernel)
  for (const javaScriptEnabled of [true, false]) {
    const page = await openPage(t, { javaScriptEnabled })
    const foreign: string[] = []
    const complaints: string[] = []
    page.on('request', request => {
      if (!request.url().startsWith(`${url}/`)) foreign.push(request.url())
    })
    page.on('console', message => {
      // That the page itself is a 404 or 500 is what it is about.
      if (message.type() === 'error' && !message.text().startsWith('Failed to load resource')) {
        complaints.push(message.text())
      }
    })
    for (const path of javaScriptEnabled ? ['/star-photo-bout', '/post-only', '/', '/broken'] : ['/broken']) {
      await page.goto(url + path)
      t.equal(await page.locator('h1').count(), 1)
      for (const width of [400, 1400]) {
        await page.setViewportSize({ width, height: 900 })
        t.equal(await overflowOf(page), 0, `${path} fits into ${width} pixels`)
      }
    }
    t.equal(await page.locator('pre.source mark:visible').count(), 1, 'one source is open')
    t.equal(await page.getByRole('button', { name: 'Copy as Markdown' }).count(), javaScriptEnabled ? 1 : 0)
    await page.getByRole('link', { name: 'RangeError' }).first().click()
    t.ok(await page.locator('#exception-2').isVisible(), 'the way to a cause opens it')
    t.strictSame([foreign, complaints], [[], []])
  }
})

t.test('what is copied is what a client of text gets', needsBrowser, async t => {
  const kernel = await createProfiledKernel(t, { handlers })
  const { url } = await serveKernel(t, kernel)
  const page = await openPage(t)
  await page.goto(`${url}/broken`)
  await page.getByRole('button', { name: 'Copy as Markdown' }).focus()
  await page.keyboard.press('Enter')
  await page.getByRole('button', { name: 'Copied' }).waitFor()
  const copied = String(await page.evaluate('navigator.clipboard.readText()'))
  const { text } = await kernel.client.get('/broken', { headers: { accept: 'text/markdown' } })
  // The second request has seen the error of the first.
  const headOf = (report: string) => report.replace(/\n\n(?:No other stored|Seen in 1 other) .*/, '').split('\n\n- ')[0]
  t.match([copied, text], [/\n\nNo other stored request/, /\n\nSeen in 1 other request /])
  t.equal(headOf(copied), headOf(text)?.replace('http://localhost', url))
  await page.getByRole('link', { name: /^Profile \w/ }).click()
  await page.waitForURL(/_profiler/)
  t.match(await page.title(), /· Profiler$/)
  t.match(page.url(), /\/_profiler\/[0-9a-f]{6}$/)
})
