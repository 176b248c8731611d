import { t } from 'tap'
import { needsBrowser, openPage } from '#tests/support/browser.ts'
import { watch } from '#tests/support/page-checks.ts'
import { openScreens } from '#tests/support/screens.ts'

t.test('the palette finds panels, values and actions by keyboard only', needsBrowser, async t => {
  const { screens, tokens, url } = await openScreens(t)
  const page = await openPage(t)
  const complaints = watch(page, url)
  const palette = page.getByRole('dialog', { name: 'Search' })
  const active = page.locator('.palette [aria-selected="true"]')
  const ask = async (text: string, first: RegExp) => {
    await page.keyboard.press('Control+k')
    await page.locator('.palette [role="option"]').first().waitFor()
    t.ok(await page.getByRole('combobox', { name: 'Search' }).evaluate(input => input.matches(':focus')))
    await page.keyboard.type(text)
    t.match(await active.innerText(), first)
  }
  const plain = await openPage(t, { javaScriptEnabled: false })
  for (const { name, path } of screens.filter(({ name }) => ['error page of a failure', 'welcome'].includes(name))) {
    await page.goto(url + path)
    await ask('latest', /^Latest profile/)
    await plain.goto(url + path)
    t.equal(await plain.locator('[data-palette]:visible').count(), 0, `without scripts, no button of ${name}`)
  }
  await page.goto(`${url}/_profiler/${tokens.form}`)
  await ask('log', /^Logs/)
  await page.keyboard.press('Enter')
  await page.waitForURL(/panel=logger/)

  await ask('content-type text/html', /^content-type/)
  await page.keyboard.press('Enter')
  await page.waitForURL(/panel=request#header-content-type/)
  t.ok(await page.locator('#header-content-type').evaluate(row => row.matches(':target')))

  await ask('curl', /^Copy as curl/)
  await page.keyboard.press('Enter')
  await palette.waitFor({ state: 'detached' })
  t.match(await page.evaluate('navigator.clipboard.readText()'), /^curl /)

  await ask('pin', /^Pin/)
  await page.keyboard.press('Enter')
  await page.waitForURL(url => url.search === '' && url.hash === '')

  await ask('unpin', /^Unpin/)
  await page.keyboard.press('Escape')
  await palette.waitFor({ state: 'detached' })

  await ask('', /^Pin|^Copy as curl/)
  await page.keyboard.type('routes page')
  t.match(await active.innerText(), /^Routes/)
  const opened = page.context().waitForEvent('page')
  await page.keyboard.press('Control+Enter')
  const other = await opened
  t.match(other.url(), '/_profiler/routes')
  await other.close()

  await ask('theme dark', /^Theme: dark/)
  await page.keyboard.press('Enter')
  t.equal(await page.evaluate('document.documentElement.dataset.theme'), 'dark')
  await page.keyboard.press('Control+k')
  await palette.waitFor()
  await page.keyboard.press('Escape')
  await palette.waitFor({ state: 'detached' })
  t.strictSame(complaints(), [])
})
