import type { Page } from 'playwright-core'
import { type Bundle, createFrameworkBundle, type Request } from 'sinfonietta'
import { createTestKernel } from 'sinfonietta/testing'
import { type Test, t } from 'tap'
import { Response } from '#lib/http/response.ts'
import { needsBrowser, openPage } from '#tests/support/browser.ts'
import { serveKernel } from '#tests/support/test-server.ts'

/** Two ports of one application, and the requests that have reached its controllers. */
async function serve(t: Test) {
  const reached: string[] = []
  const answer = (request: Request) => {
    reached.push(`${request.method} ${request.path} ${request.cookies.get('user') ?? 'without a cookie'}`)
    return Response.json(reached.length)
  }
  let friend = ''
  const shop: Bundle = {
    name: 'shop',
    register({ routes }) {
      const pages: Record<string, Record<string, string>> = {
        '/page': {},
        '/silent': { 'referrer-policy': 'no-referrer' },
        '/sandbox': { 'content-security-policy': 'sandbox allow-forms allow-scripts' },
      }
      for (const [path, headers] of Object.entries(pages)) {
        routes.add({ name: path.slice(1), path, methods: ['GET'], controller: () => Response.html('<p>', { headers }) })
      }
      routes.add({ name: 'write', path: '/write', methods: ['GET', 'POST', 'PUT'], controller: answer })
      const origins = (origin: string) => origin === friend
      routes.add({
        name: 'open',
        path: '/open',
        controller: answer,
        defaults: { _cors: { origins, credentials: true } },
      })
      routes.add({ name: 'all', path: '/all', controller: answer, defaults: { _cors: { origins: '*' } } })
    },
  }
  const kernel = await createTestKernel({ bundles: [createFrameworkBundle(), shop] })
  t.teardown(kernel.close)
  const [one, other] = [await serveKernel(t, kernel), await serveKernel(t, kernel)]
  const befriend = (origin: string) => {
    friend = origin
  }
  return { reached, befriend, one: one.port, other: other.port }
}

/** Sends a form as a page does, and returns the status of the page that it leads to. */
async function sendForm(page: Page, action: string): Promise<number> {
  const leads = page.waitForResponse(response => response.url() === action && response.request().method() === 'POST')
  await page.evaluate(`
    const form = document.createElement('form')
    form.method = 'post'
    form.action = ${JSON.stringify(action)}
    document.body.append(form)
    form.submit()
  `)
  await page.waitForURL(action)
  return (await leads).status()
}

/** The text that a script reads, or the name of the error. */
function fetchText(page: Page, url: string, init: object = {}): Promise<string> {
  return page.evaluate(
    ([target, options]) =>
      fetch(target, options).then(
        response => response.text(),
        error => String(error.name),
      ),
    [url, init] as const,
  )
}

t.test('forms and scripts of other origins change nothing', needsBrowser, async t => {
  const { one, other, reached } = await serve(t)
  const page = await openPage(t)
  const here = `http://localhost:${one}`
  // Chromium sends Fetch Metadata to the own machine, and nothing but Origin to a host with plain HTTP.
  const plain = `http://shop.test:${one}`
  const rows: readonly (readonly [isAccepted: boolean, page: string, target: string])[] = [
    [true, `${here}/page`, here],
    [true, `${here}/silent`, here],
    [false, `${here}/sandbox`, here],
    [false, `http://localhost:${other}/page`, here],
    [false, `http://127.0.0.1:${other}/page`, here],
    [true, `http://a.shop.localhost:${one}/page`, `http://a.shop.localhost:${one}`],
    [false, `http://a.shop.localhost:${one}/page`, `http://b.shop.localhost:${one}`],
    [false, `http://shop.localhost:${one}/page`, `http://b.shop.localhost:${one}`],
    [true, `${plain}/page`, plain],
    [false, `http://shop.test:${other}/page`, plain],
    [false, `http://sub.shop.test:${one}/page`, plain],
    [false, `http://evil.test:${one}/page`, plain],
  ]
  for (const [isAccepted, from, target] of rows) {
    await page.goto(from)
    reached.length = 0
    const init = { method: 'POST', mode: 'no-cors', credentials: 'include' }
    const text = await fetchText(page, `${target}/write`, init)
    t.strictSame(reached, isAccepted ? ['POST /write without a cookie'] : [], `fetch: ${from} to ${target}, ${text}`)
    reached.length = 0
    t.equal(await sendForm(page, `${target}/write`), isAccepted ? 200 : 403, `form: ${from} to ${target}`)
    t.equal(reached.length, isAccepted ? 1 : 0)
  }

  // Over plain HTTP there is no other sign, and the Origin of a form is "null" on a page that sends no referrer.
  await page.goto(`${plain}/silent`)
  t.equal(await sendForm(page, `${plain}/write`), 403)
})

t.test('scripts of a policy read and send, all others do not', needsBrowser, async t => {
  const { befriend, one, other, reached } = await serve(t)
  const page = await openPage(t)
  const api = `http://localhost:${one}`
  const friend = `http://localhost:${other}`
  befriend(friend)
  await page.context().addCookies([{ name: 'user', value: 'ada', url: api }])
  const put = {
    method: 'PUT',
    credentials: 'include',
    headers: { 'content-type': 'application/json', 'x-own': '1' },
    body: '{}',
  }
  const use = async (target: string, init: object) => {
    reached.length = 0
    return [await fetchText(page, target, init), ...reached]
  }

  await page.goto(`${friend}/page`)
  t.strictSame(await use(`${api}/open`, { credentials: 'include' }), ['1', 'GET /open ada'])
  t.strictSame(await use(`${api}/open`, put), ['1', 'PUT /open ada'])
  t.strictSame(await use(`${api}/write`, put), ['TypeError'], 'without a policy the preflight request fails')
  t.strictSame(
    await use(`${api}/write`, {}),
    ['TypeError', 'GET /write without a cookie'],
    'a GET is sent, and cannot be read',
  )
  t.strictSame(await use(`${api}/nowhere`, put), ['TypeError'])

  await page.goto(`http://127.0.0.1:${other}/page`)
  t.strictSame(await use(`${api}/open`, put), ['TypeError'])
  t.strictSame(await use(`${api}/open`, { method: 'POST', credentials: 'include' }), ['TypeError'])
  t.strictSame(await use(`${api}/all`, {}), ['1', 'GET /all without a cookie'])
  t.strictSame(await use(`${api}/all`, { credentials: 'include' }), ['TypeError', 'GET /all without a cookie'])
  const [text, ...none] = await use(`${api}/all`, { method: 'POST' })
  t.match(text, '403', 'the script can read the refusal')
  t.strictSame(none, [])
})
