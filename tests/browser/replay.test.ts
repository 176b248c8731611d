import { t } from 'tap'
import { Response } from '#lib/http/response.ts'
import { needsBrowser, openPage } from '#tests/support/browser.ts'
import { createProfiledKernel } from '#tests/support/profiled-kernel.ts'
import { serveKernel } from '#tests/support/test-server.ts'

t.test('a developer without scripts replays what their browser has asked for', needsBrowser, async t => {
  const sent: string[] = []
  const kernel = await createProfiledKernel(t, {
    handlers: {
      '/form': ({ method }) =>
        Response.html(`<body><p>${method}</p><form method="post"><input name="word" value="one"><button>Send`),
      '/take': async ({ body, cookies }) => {
        sent.push(`${cookies.get('theme')} ${await body.text()}`)
        return Response.html('<body>taken')
      },
    },
  })
  const { url } = await serveKernel(t, kernel)
  const page = await openPage(t, { javaScriptEnabled: false })
  await page.setViewportSize({ width: 400, height: 800 })

  await page.goto(`${url}/form`)
  await page.goto(`${url}/_profiler/latest`)
  await page.locator('summary[title="Actions"]').click()
  await page.getByRole('button', { name: 'Replay' }).click()
  t.match(page.url(), /compare\?a=[0-9a-f]{6}&b=[0-9a-f]{6}$/)
  t.match(await page.locator('.verdict-title').innerText(), /^Only timings changed/)
  t.equal(await page.locator('.asked-otherwise').count(), 0)

  await page.context().addCookies([{ name: 'theme', value: 'dark', url }])
  await page.goto(`${url}/form`)
  await page.locator('form').evaluate(form => form.setAttribute('action', '/take'))
  await page.getByRole('button', { name: 'Send' }).click()
  await page.goto(`${url}/_profiler/latest`)
  await page.locator('summary[title="Actions"]').click()
  await page.getByRole('link', { name: 'Replay …' }).click()
  await page.getByRole('button', { name: 'Replay and compare' }).click()
  t.match(page.url(), /\/replay$/, 'it waits for a yes')
  await page.getByLabel('I understand, run it').check()
  await page.getByLabel('Use my cookies').check()
  await page.getByRole('button', { name: 'Replay and compare' }).click()
  t.match(await page.locator('.verdict-title').innerText(), /^Only timings changed/)
  t.strictSame(sent, ['dark word=one', 'dark word=one'])
  await page.getByRole('link', { name: 'Routes' }).click()
  t.match(await page.locator('.by-route').innerText(), '/take')
})
