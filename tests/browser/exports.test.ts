import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { t } from 'tap'
import { needsBrowser, openPage } from '#tests/support/browser.ts'
import { lookAt } from '#tests/support/page-checks.ts'
import { createProfiledKernel } from '#tests/support/profiled-kernel.ts'
import { provenSample } from '#tests/support/sample.ts'
import { openScreens } from '#tests/support/screens.ts'
import { serveKernel } from '#tests/support/test-server.ts'

t.test('Playwright replays the HAR of a record', needsBrowser, async t => {
  const { url, server } = await serveKernel(t, await createProfiledKernel(t))
  const folder = t.testdir()
  const save = async (name: string, path_: string, init: RequestInit = {}) => {
    const response = await fetch(url + path_, { redirect: 'manual', ...init })
    const har = await (await fetch(`${url}/_profiler/${response.headers.get('x-debug-token')}/export/har`)).text()
    const file = path.join(folder, `${name}.har`)
    writeFileSync(file, har)
    return file
  }
  const json = { method: 'POST', body: '{"a":1}', headers: { 'content-type': 'application/json' } }
  const files = [
    await save('page', '/star-photo-booth?a=1'),
    await save('teapot', '/teapot'),
    await save('json', '/ok', json),
  ]
  const page = await openPage(t)
  for (const file of files) await page.routeFromHAR(file, { notFound: 'fallback' })
  // No other server can have responded.
  await server.close({ deadline: 100 })
  const shown = await page.goto(`${url}/star-photo-booth?a=1`)
  t.equal(shown?.status(), 200)
  t.match(await shown?.allHeaders(), { 'content-type': 'text/html; charset=UTF-8', 'x-robots-tag': 'noindex' })
  const teapot = await page.evaluate(ask, [`${url}/teapot`, {}] as const)
  t.match(teapot, { status: 418, tea: 'green' })
  t.match(await page.evaluate(ask, [`${url}/ok`, json] as const), { status: 200 })
  t.equal((await page.evaluate(ask, [`${url}/ok`, { ...json, body: '{"a":2}' }] as const)).status, 0, 'another body')
})

/** In the page. */
async function ask([url, init]: readonly [string, RequestInit]): Promise<{ status: number; tea: string | null }> {
  try {
    const { headers, status } = await fetch(url, init)
    return { status, tea: headers.get('x-tea') }
  } catch {
    return { status: 0, tea: null }
  }
}

t.test('the HTML file stands alone: styled, not too wide, without a request or a message', needsBrowser, async t => {
  const { url, tokens } = await openScreens(t)
  const page = await openPage(t)
  const wrong: string[] = []
  page.on('console', message => wrong.push(message.text()))
  page.on('pageerror', error => wrong.push(String(error)))
  for (const [name, token] of provenSample(Object.entries(tokens), 2)) {
    const file = path.join(t.testdir(), `${name}.html`)
    writeFileSync(file, await (await fetch(`${url}/_profiler/${token}/export/html`)).text())
    const requests: string[] = []
    page.on('request', request => requests.push(request.url()))
    await page.goto(`file://${file}`)
    for (const width of [400, 1400]) {
      await page.setViewportSize({ width, height: 900 })
      const look = await lookAt(page)
      t.equal(look.overflow, 0, `${name} at ${width}`)
      t.ok(look.rules > 100)
      t.strictSame(look.pale, [])
    }
    page.removeAllListeners('request')
    t.strictSame(requests, [`file://${file}`])
  }
  t.strictSame(wrong, [])
})
