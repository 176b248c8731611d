import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { t } from 'tap'
import { startApplication } from '#tests/bin/site-process.ts'
import { needsBrowser, openPage } from '#tests/support/browser.ts'
import { createSmallApplication } from '#tests/support/create-small-application.ts'
import { findPort } from '#tests/support/find-port.ts'

const route = `
    app.routes.add({
      name: 'products',
      path: '/products',
      controller: () => {
        for (let id = 0; id < 30; id++) app.queries.measure('sqlite', 'SELECT * FROM prices WHERE id = ?', [id], () => [])
        return Response.html('<body>products</body>')
      },
    })
`

t.test('a finding is fixed in the file, and verified by the page', needsBrowser, async t => {
  const directory = t.testdir()
  createSmallApplication(directory)
  const file = path.join(directory, 'bundles/home/home-bundle.ts')
  const write = (change: (text: string) => string) => writeFileSync(file, change(readFileSync(file, 'utf8')))
  write(text => text.replace('register(app: Application) {\n', found => found + route))
  // The page connects again to the same port.
  const port = await findPort()
  const site = startApplication(t, directory, [`--port=${port}`])
  const url = await site.url()
  const page = await openPage(t)
  const mistakes: string[] = []
  page.on('pageerror', ({ message }) => mistakes.push(message))

  await page.goto(`${url}/products`)
  await page.goto(`${url}/_profiler/latest?panel=findings`)
  // On a busy machine there are findings of slow work, too.
  const finding = page.locator('[id^="finding-"]', { hasText: 'N+1' })
  await finding.getByRole('button', { name: 'Fix and verify' }).click()
  const status = page.locator('.verify-status')
  await status.getByText('Save the fix').waitFor()
  const picker = page.getByRole('button', { name: 'Close' })
  await picker.waitFor()
  const first = "throw new TypeError('on purpose')"
  write(text => text.replace('for (let id', `${first}\n        for (let id`))
  await status.getByText('The page now fails: TypeError: on purpose, status 500 instead of status 200').waitFor()
  t.equal(await picker.count(), 0, 'the choice of an editor does not cover the verdict')
  write(text => text.replace(first, '').replace('id < 30', 'id < 20'))
  await status.getByText('Less, but still there: 30 queries → 20').waitFor()
  write(text => text.replace('id < 20', 'id < 1'))
  await status.getByText('Fixed: 30 queries → 1').waitFor()
  t.match(
    await status.locator('pre').innerText(),
    /^SELECT \* FROM prices WHERE id = \?\nBefore +30 queries +.*\nReplay 1 +1 queries .*\nReplay 2 +1 queries .*\nReplay 3 +1 queries /,
  )

  await page.setViewportSize({ width: 400, height: 800 })
  const proof = await status.locator('pre').boundingBox()
  t.ok(proof !== null && proof.x + proof.width <= 400, 'the measurements fit')
  await page.setViewportSize({ width: 1280, height: 720 })

  await status.getByRole('link', { name: 'New profile' }).click()
  const section = await page.locator('#since-edit').innerText()
  t.match(section, /bundles\/home\/home-bundle\.ts/)
  t.match(section, /Queries\s+20\s+1\n/)
  await page.goto(`${url}/products`)
  await page.evaluate("localStorage.setItem('profiler-toolbar', 'open')")
  await page.reload()
  const item = page.locator('.toolbar-item-edit > a')
  t.match(await item.innerText(), /fixed: N\+1 queries, 19 queries fewer/)
  t.strictSame(mistakes, [])
})
