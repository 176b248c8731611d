import { type Bundle, createFrameworkBundle, type Request } from 'sinfonietta'
import { createProfilerBundle } from 'sinfonietta/profiler'
import { createTestKernel } from 'sinfonietta/testing'
import { type Test, t } from 'tap'
import { MemoryProfileStorage } from '#bundles/profiler/store/memory-profile-storage.ts'
import { Response } from '#lib/http/response.ts'
import { needsBrowser, openPage } from '#tests/support/browser.ts'
import { makeApplication } from '#tests/support/new-application.ts'
import { lookAt, watch } from '#tests/support/page-checks.ts'
import { type Served, serveKernel, startServer } from '#tests/support/test-server.ts'

/** A server with the home page of a new application. */
async function startApplication(t: Test, profiler: Bundle): Promise<Served> {
  const home: Bundle = {
    name: 'home',
    register({ routes, view }) {
      const render = async (request: Request) =>
        Response.html(await view.render('home/home', { isDebug: true }, request))
      routes.add({ name: 'home', path: '/', controller: render })
    },
  }
  const directory = makeApplication(t)
  const kernel = await createTestKernel({ bundles: [createFrameworkBundle(), home, profiler], directory })
  t.teardown(() => kernel.close())
  return serveKernel(t, kernel)
}

t.test('pages fit the window, stay on the site, and have their styles', needsBrowser, async t => {
  const createProfiler = () => createProfilerBundle({ storage: new MemoryProfileStorage() })
  const development = await startServer(t, {}, [createProfiler()])
  const production = await startServer(t, { APP_ENV: 'prod' })
  const application = await startApplication(t, createProfiler())
  const pages: [site: { url: string }, path: string, title: RegExp][] = [
    [production, '/star-photo-booth', /^Star Photo Booth\b/],
    [production, '/partnership', /\bpartner/i],
    [production, '/nowhere', /^An Error Occurred: Not Found$/],
    [application, '/', /^my-site$/],
    [development, '/', /^Welcome to Sinfonietta$/],
    [development, '/nowhere', /^No route found for "GET .*\/nowhere" \(404 Not Found\)$/],
    [development, '/gone', /^nothing here \(404 Not Found\)$/],
    [development, `/${'a-very-long-path/'.repeat(20)}`, /^No route found/],
  ]
  for (const [{ url }, path, title] of pages) {
    await t.test(`${path.slice(0, 40)} of ${url}`, async t => {
      const page = await openPage(t)
      const complaints = watch(page, url)
      await page.goto(url + path)
      const backgrounds = new Set<string>()
      for (const [colorScheme, width] of [
        ['light', 400],
        ['dark', 1400],
      ] as const) {
        await page.emulateMedia({ colorScheme })
        await page.setViewportSize({ width, height: 900 })
        const { background, overflow, rules, title: shown } = await lookAt(page)
        t.match(shown, title)
        t.equal(overflow, 0, `${width} pixels are enough`)
        t.ok(rules > 0, 'styles are there')
        backgrounds.add(background)
      }
      t.strictSame(complaints(), [])
      t.equal(backgrounds.size, 2, 'light and dark differ')
    })
  }
})
