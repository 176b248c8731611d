import path from 'node:path'
import type { Page } from 'playwright-core'
import { type Test, t } from 'tap'
import { CpuSampler } from '#bundles/profiler/subjects/cpu/cpu-sampler.ts'
import { busyBundle } from '#tests/fixtures/busy-bundle.ts'
import { needsBrowser, openPage } from '#tests/support/browser.ts'
import { watch } from '#tests/support/page-checks.ts'
import { createProfiledKernel } from '#tests/support/profiled-kernel.ts'
import { provenSample } from '#tests/support/sample.ts'
import { serveKernel } from '#tests/support/test-server.ts'
import { until } from '#tests/support/until.ts'

async function open(t: Test) {
  const armFile = path.join(t.testdir(), 'armed.json')
  const { url } = await serveKernel(
    t,
    await createProfiledKernel(t, { bundles: [busyBundle], armFile, cpuSampler: new CpuSampler() }),
  )
  const ask = async (target: string) => {
    const response = await fetch(url + target)
    await response.text()
    return `${url}/_profiler/${response.headers.get('x-debug-token')}?panel=cpu`
  }
  return { ask, url }
}

/** Arms by the buttons of the pages, and gives the address of the record that came of it. */
async function sample(page: Page, ask: (target: string) => Promise<string>, hasScripts = true): Promise<string> {
  await page.goto(await ask('/primes'))
  await page.getByRole('button', { name: 'Profile the next request of this route' }).click()
  await page.getByText('Waiting for the next request of the route "primes".').waitFor()
  const link = await ask('/primes')
  if (hasScripts) await page.waitForURL(link)
  else {
    const sampled = page.getByText('Last sampled request').getByRole('link')
    // The profile is stored after the response.
    await until(async () => {
      await page.reload()
      return (await sampled.count()) > 0
    })
    await sampled.click()
  }
  return link
}

for (const scripts of provenSample(['on', 'off'], 1)) {
  t.test(`with scripts ${scripts}, a CPU profile is asked for, and read`, needsBrowser, async t => {
    const { ask, url } = await open(t)
    const page = await openPage(t, { javaScriptEnabled: scripts === 'on' })
    const wrong = watch(page, url)
    const record = await sample(page, ask, scripts === 'on')
    t.equal(record, page.url())
    if (scripts === 'on') await t.test('the arrow keys lead through the flame graph', t => testArrows(t, page))
    else await t.test('every call can be reached with the Tab key', t => testTab(t, page))
    await page.goto(record)
    const guilty = page.locator('svg.flame a', { hasText: 'countPrimes' }).first()
    const whole = await page.locator('svg.flame').boundingBox()
    await guilty.click()
    t.match(page.url(), /&frame=\d+#flame$/)
    const first = await page.locator('svg.flame a rect').first().boundingBox()
    t.ok(Math.abs(Number(first?.width) - Number(whole?.width)) < 6, 'it has the whole width')
    t.match(await page.locator('.crumbs').innerText(), /All frames[\s\S]*controller[\s\S]*countPrimes/)
    await page.getByRole('link', { name: 'All frames' }).click()
    await page.getByRole('link', { name: 'expand all' }).click()
    t.match(page.url(), /&calls=all#flame$/)
    t.match(await page.locator('svg.flame a title').first().textContent(), /^\S.+: [\d.]+ m?s, /)
    t.strictSame(wrong(), [])
  })
}

/** The graph is one stop of the Tab key. */
async function testArrows(t: Test, page: Page) {
  t.equal(await page.locator('svg.flame a[tabindex="0"]').count(), 1)
  await page.locator('svg.flame a').first().focus()
  const detail = page.locator('.flame-detail')
  const here = () => page.evaluate<string>('document.activeElement.querySelector("title").textContent')
  const seen = [await here()]
  for (let step = 0; step < 40 && !seen.at(-1)?.startsWith('countPrimes'); step++) {
    await page.keyboard.press('ArrowDown')
    seen.push(await here())
    t.equal(await detail.innerText(), seen.at(-1))
  }
  t.match(seen.at(-1), /^countPrimes: /, 'down, along what took longest')
  await page.keyboard.press('ArrowUp')
  t.match(await here(), /^controller primes: /)
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('ArrowLeft')
  t.match(await here(), /^countPrimes: /, 'there is nothing to its left')
  await page.keyboard.press('Enter')
  await page.waitForURL(/&frame=\d+#flame$/)
  t.pass('Enter shows it in the whole width')
}

async function testTab(t: Test, page: Page) {
  const count = await page.locator('svg.flame a').count()
  t.ok(count > 2)
  await page.locator('svg.flame a').first().focus()
  for (let step = 1; step < count; step++) await page.keyboard.press('Tab')
  const last = await page.locator('svg.flame a').last().getAttribute('href')
  t.equal(await page.locator('svg.flame a:focus').getAttribute('href'), last)
}

t.test('what is waited for is cancelled, and another path is asked for', needsBrowser, async t => {
  const { url } = await open(t)
  const page = await openPage(t)
  await page.goto(`${url}/_profiler/cpu`)
  await page.getByLabel('The next request for a path').fill('/quiet')
  await page.keyboard.press('Enter')
  await page.getByText('Waiting for the next GET /quiet.').waitFor()
  t.equal(await page.getByRole('link', { name: 'Open it' }).getAttribute('href'), '/quiet')
  await page.getByRole('button', { name: 'Cancel' }).click()
  await page.getByText('No CPU profile scheduled.').waitFor()
  t.pass()
})
