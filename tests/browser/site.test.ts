import { t } from 'tap'
import { createProfilerBundle } from '#bundles/profiler/profiler-bundle.ts'
import { MemoryProfileStorage } from '#bundles/profiler/store/memory-profile-storage.ts'
import { needsBrowser, openBrowser } from '#tests/support/browser.ts'
import { lookAt, watch } from '#tests/support/page-checks.ts'
import { startServer } from '#tests/support/test-server.ts'

t.test('pages fit the window, stay on the site, and have their styles', needsBrowser, async t => {
  const browser = await openBrowser(t)
  const profiler = createProfilerBundle({ storage: new MemoryProfileStorage() })
  const development = await startServer(t, {}, [profiler])
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
          const { background, overflow, rules, title: shown } = await lookAt(page)
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
