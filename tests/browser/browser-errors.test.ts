import { type Test, t } from 'tap'
import type { CollectorTypes } from '#bundles/profiler/profile/profile.ts'
import { Response } from '#lib/http/response.ts'
import { needsBrowser, openPage } from '#tests/support/browser.ts'
import { createProfiledKernel, waitForProfile } from '#tests/support/profiled-kernel.ts'
import { serveKernel } from '#tests/support/test-server.ts'

const scripts = `
Promise.reject(new RangeError('too late'))
console.error('%s failed: %o', 'saving', { code: 7, password: 'hunter2' })
function explode() { undefined.property }
explode()
`

const broken = `<!doctype html><html lang="en"><head><title>Broken</title><link rel="icon" href="data:,">
<script>${scripts}</script><link rel="stylesheet" href="/missing.css"></head>
<body><main><h1>Broken</h1><img alt="" src="/missing.png?token=abc"></main><script src="/missing.js"></script></body></html>`

const policy = "default-src 'none'; script-src 'nonce-abc'; style-src 'self'"

const guarded = `<!doctype html><html lang="en"><head><title>Guarded</title></head><body>
<script>document.title = 'ran'</script><script nonce="abc">null.property</script></body></html>`

async function open(t: Test) {
  const kernel = await createProfiledKernel(t, {
    handlers: {
      '/broken': () => Response.html(broken),
      '/guarded': () => Response.html(guarded, { headers: { 'content-security-policy': policy } }),
      '/quiet': () =>
        Response.html(
          '<!doctype html><html><head><title>Quiet</title><link rel="icon" href="data:,"></head><body>quiet</body></html>',
        ),
    },
  })
  const { url } = await serveKernel(t, kernel)
  const page = await openPage(t)
  /** The errors in the profile of the page, once there are so many. */
  const errorsOf = async (token: string, count: number): Promise<CollectorTypes['browser']['errors']> => {
    const profile = await waitForProfile(kernel.storage, token, ({ summary }) => summary.browserErrors >= count)
    return profile.collectors.browser?.errors ?? []
  }
  const visit = async (path: string) => {
    const response = await page.goto(url + path)
    return String((await response?.allHeaders())?.['x-debug-token'])
  }
  return { kernel, url, page, errorsOf, visit }
}

const textOf = ({ kind, message }: { readonly kind: string; readonly message: string }) => `${kind} ${message}`

t.test('errors of a page from its first script on are in its profile, and in its toolbar', needsBrowser, async t => {
  const { errorsOf, kernel, page, visit } = await open(t)
  const token = await visit('/broken')
  const errors = await errorsOf(token, 6)
  t.strictSame(errors.map(textOf).sort(), [
    'console saving failed: {"code":7,"password":"******"}',
    "exception TypeError: Cannot read properties of undefined (reading 'property')",
    'rejection RangeError: too late',
    'resource <img> /missing.png?token=******',
    'resource <link> /missing.css',
    'resource <script> /missing.js',
  ])
  const exception = errors.find(({ kind }) => kind === 'exception')
  t.match(exception, { file: '/broken', line: 5, column: Number })
  t.match(exception?.stack, /^ *at explode \(\/broken:5:\d+\)\n *at \/broken:6:1$/)
  t.match(errors.find(({ kind }) => kind === 'console')?.file, '/broken', 'without the frames of the profiler')

  const toggle = page.locator('profiler-toolbar .toolbar-toggle')
  await toggle.waitFor()
  t.match(await toggle.innerText(), '6 browser errors')
  await toggle.click()
  const item = page.locator('profiler-toolbar .toolbar-item-browser')
  await page.evaluate("setTimeout(() => { throw new Error('later') })")
  await item.getByText('7 browser errors').waitFor()
  t.equal((await errorsOf(token, 7)).at(-1)?.message, 'Error: later')
  await item.getByRole('link').first().click()
  await page.getByRole('heading', { name: 'Browser' }).waitFor()
  t.equal(await page.locator('#browser-errors > li').count(), 7)
  t.equal(
    (await kernel.storage.search({ limit: 100, filters: [{ field: 'url', test: 'contains', value: '_wdt' }] })).total,
    0,
  )
})

t.test('an error while the toolbar loads its styles causes no other', needsBrowser, async t => {
  const { page, visit } = await open(t)
  const thrown: string[] = []
  page.on('pageerror', error => thrown.push(error.message))
  await page.route('**/profiler.css', async route => {
    await page.evaluate("new Promise(done => setTimeout(() => { setTimeout(done); throw new Error('early') }))")
    await route.continue()
  })
  await visit('/quiet')
  await page.locator('profiler-toolbar .toolbar-toggle').getByText('1 browser error').waitFor()
  t.strictSame(thrown, ['early'])
})

t.test('a violated policy is reported, under that policy', needsBrowser, async t => {
  const { errorsOf, page, visit } = await open(t)
  const errors = await errorsOf(await visit('/guarded'), 2)
  t.equal(await page.title(), 'Guarded', 'the policy is in force')
  const texts = errors.map(textOf)
  t.match(
    texts.find(text => text.startsWith('policy')),
    /script-src(?:-elem)? does not allow inline/,
  )
  t.match(
    texts.find(text => text.startsWith('exception')),
    /TypeError/,
  )
})

t.test('an error of the moment in which a page is left reaches its profile', needsBrowser, async t => {
  const { errorsOf, page, url, visit } = await open(t)
  const token = await visit('/quiet')
  t.strictSame(await errorsOf(token, 0), [])
  await page.evaluate("console.error('leaving')")
  await page.goto(`${url}/broken`)
  t.strictSame((await errorsOf(token, 1)).map(textOf), ['console leaving'])
})
