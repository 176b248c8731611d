import type { Page } from 'playwright-core'
import { t } from 'tap'
import { needsBrowser, openBrowser } from '../support/browser.ts'
import { startServer } from '../support/test-server.ts'

t.setTimeout(180_000)

/** What of a page is looked at; evaluated in the browser. */
interface Look {
  readonly title: string
  readonly overflow: number
  readonly rules: number
  readonly background: string
}

const look = `({
  title: document.title,
  overflow: document.documentElement.scrollWidth - document.documentElement.clientWidth,
  rules: [...document.styleSheets].reduce((sum, sheet) => sum + sheet.cssRules.length, 0),
  background: getComputedStyle(document.body).backgroundColor,
})`

/** Tells, once the page is there, what went wrong on the way: failures, messages, and requests that leave the site. */
function watch(page: Page, url: string): () => string[] {
  const wrong: string[] = []
  page.on('pageerror', error => wrong.push(String(error)))
  page.on('console', message => {
    // What the status of a response says is looked at below.
    if (!message.text().startsWith('Failed to load resource')) wrong.push(`${message.type()}: ${message.text()}`)
  })
  page.on('request', request => {
    if (new URL(request.url()).origin !== url) wrong.push(`request to ${request.url()}`)
  })
  page.on('response', response => {
    const isPage = response.request().isNavigationRequest()
    if (!isPage && response.status() >= 400) wrong.push(`${response.status()} ${response.url()}`)
  })
  page.on('requestfailed', request => {
    // Chromium lets go of an icon when it leaves the page.
    const reason = request.failure()?.errorText
    if (reason !== 'net::ERR_ABORTED') wrong.push(`${reason}: ${request.url()}`)
  })
  return () => wrong
}

t.test('pages fit the window, stay on the site, and have their styles', needsBrowser, async t => {
  const browser = await openBrowser(t)
  const development = await startServer(t)
  const production = await startServer(t, { APP_ENV: 'prod' })
  const pages: [site: { url: string }, path: string, title: RegExp][] = [
    [production, '/star-photo-booth', /^Star Photo Booth\b/],
    [production, '/partnership', /\bpartner/i],
    [production, '/nowhere', /^An Error Occurred: Not Found$/],
    [development, '/', /^Welcome to Sinfonietta$/],
    [development, '/nowhere', /^No route found for "GET .*\/nowhere" \(404 Not Found\)$/],
    [development, '/gone', /^nothing here \(404 Not Found\)$/],
    [development, `/${'a-very-long-path/'.repeat(20)}`, /^No route found/],
  ]
  for (const [{ url }, path, title] of pages) {
    await t.test(`${path.slice(0, 40)} of ${url}`, async t => {
      const page = await browser.newPage()
      const complaints = watch(page, url)
      await page.goto(url + path)
      const backgrounds = new Set<string>()
      for (const colorScheme of ['light', 'dark'] as const) {
        for (const width of [400, 1400]) {
          await page.emulateMedia({ colorScheme })
          await page.setViewportSize({ width, height: 900 })
          const { background, overflow, rules, title: shown } = await page.evaluate<Look>(look)
          t.match(shown, title)
          t.equal(overflow, 0, `${width} pixels are enough`)
          t.ok(rules > 0, 'styles are there')
          backgrounds.add(background)
        }
      }
      t.strictSame(complaints(), [])
      await page.close()
      t.equal(backgrounds.size, 2, 'light and dark differ')
    })
  }
})
