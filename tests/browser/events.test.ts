import type { Page } from 'playwright-core'
import { type Bundle, ResponseEvent } from 'sinfonietta'
import { type Test, t } from 'tap'
import { Event } from '#lib/event-dispatcher/event-dispatcher.ts'
import { Response } from '#lib/http/response.ts'
import { needsBrowser, openPage } from '#tests/support/browser.ts'
import { createProfiledKernel } from '#tests/support/profiled-kernel.ts'
import { serveKernel } from '#tests/support/test-server.ts'

class Tick extends Event {
  static readonly eventName = 'clock.tick'
}

/** A page whose controller dispatches often, and whose headers are set twice. */
const busy: Bundle = {
  name: 'busy',
  register({ dispatcher, routes }) {
    dispatcher.on(Tick, () => undefined, 0, 'Clock.onTick')
    dispatcher.on(ResponseEvent, ({ response }) => response.headers.set('x-twice', '1'), 2, 'First.onResponse')
    dispatcher.on(ResponseEvent, ({ response }) => response.headers.set('x-twice', '2'), 1, 'Second.onResponse')
    const controller = async () => {
      const end = performance.now() + 3
      while (performance.now() < end);
      for (let at = 0; at < 30; at++) await dispatcher.dispatch(new Tick())
      return Response.html('<body>busy</body>')
    }
    routes.add({ name: 'busy', path: '/busy', controller })
  },
}

async function open(t: Test, javaScriptEnabled = true) {
  const { url } = await serveKernel(t, await createProfiledKernel(t, { bundles: [busy] }))
  const page = await openPage(t, { javaScriptEnabled })
  const wrong: string[] = []
  page.on('pageerror', error => wrong.push(String(error)))
  page.on('console', message => wrong.push(message.text()))
  const tokenOf = async (path: string) => String((await fetch(url + path)).headers.get('x-debug-token'))
  const recordOf = async (path: string) => `${url}/_profiler/${await tokenOf(path)}`
  return { page, recordOf, wrong }
}

/** The names of the rows that are seen. */
function seen(page: Page): Promise<string[]> {
  return page
    .locator('#event-tree .name:visible')
    .evaluateAll(names => names.map(name => String(name.firstChild?.textContent).trim()))
}

for (const scripts of ['on', 'off'] as const) {
  t.test(`with scripts ${scripts}, a click leads from a header to its listener`, needsBrowser, async t => {
    const { page, recordOf, wrong } = await open(t, scripts === 'on')
    await page.goto(`${await recordOf('/busy')}?panel=request`)
    const row = page.locator('#header-x-twice')
    t.match(
      await row.innerText(),
      /changed by Second.onResponse events\.test\.ts:\d+\s+before: 1 First.onResponse events\.test\.ts:\d+/,
    )
    await row.getByRole('link', { name: 'Second.onResponse' }).click()
    const target = page.locator('#event-tree li:target')
    t.match(await target.locator('.name').first().innerText(), /^Second.onResponse/)
    t.ok(await target.isVisible())
    // A script unfolds the row of the address.
    if (scripts === 'off') await target.locator('summary').click()
    await target.getByRole('link', { name: 'changed header x-twice' }).click()
    t.match(page.url(), /\?panel=request#header-x-twice$/, 'and back')
    t.strictSame(wrong, [])
  })

  t.test(`with scripts ${scripts}, rows are folded and chosen`, needsBrowser, async t => {
    const { page, recordOf } = await open(t, scripts === 'on')
    await page.goto(`${await recordOf('/busy')}?panel=events`)
    const ticks = page.locator('#event-tree details', { has: page.locator('> summary', { hasText: 'clock.tick × ' }) })
    // A tick that took long, on a busy machine, has a row of its own.
    t.match(await ticks.locator('summary').first().innerText(), /clock.tick × \d+/)
    const within = ticks.first().getByText('Clock.onTick').first()
    t.notOk(await within.isVisible())
    await ticks.locator('summary').first().click()
    t.ok(await within.isVisible())
    await page.getByText('with changes').click()
    const changed = await seen(page)
    t.ok(changed.includes('Second.onResponse') && changed.includes('kernel.response'))
    t.notOk(changed.includes('kernel.terminate'))
    await page.getByText('stopped or threw').click()
    t.strictSame(await seen(page), [])
    t.ok(await page.getByText('No event or listener matches the filter.').isVisible())
  })
}

t.test('typing leaves what has the text, with the way to it; an event keeps its listeners', needsBrowser, async t => {
  const { page, recordOf, wrong } = await open(t)
  await page.goto(`${await recordOf('/busy')}?panel=events`)
  const input = page.getByLabel('Filter events and listeners')
  await input.fill('SECOND.')
  t.strictSame(await seen(page), ['kernel.response', 'Second.onResponse'])
  await input.fill('x-robots')
  const found = await seen(page)
  t.strictSame(
    found.filter(name => !name.endsWith('listeners of the framework')),
    ['kernel.response', 'RobotsListener.onResponse'],
    'a folded listener is opened',
  )
  await input.fill('kernel.response')
  t.ok((await seen(page)).includes('First.onResponse'))
  await input.fill('')
  t.ok((await seen(page)).includes('kernel.request'))
  t.strictSame(wrong, [])
})

t.test('the events of a sub-request are opened in their place', needsBrowser, async t => {
  const { page, recordOf, wrong } = await open(t)
  await page.goto(`${await recordOf('/missing-x')}?panel=events`)
  const before = page.url()
  const row = page.locator('#event-tree .item', { hasText: /^Sub-Request/ }).locator('> details')
  await row.locator('summary').click()
  const inner = row.locator('.items')
  await inner.waitFor()
  t.match(await inner.innerText(), /error_controller/)
  t.equal(page.url(), before)
  await row.locator('> summary').click()
  t.notOk(await inner.isVisible())
  t.equal(await page.locator('#span-0').count(), 1, 'ids stay those of the page')
  t.equal(await page.locator('[style]').count(), 0)
  t.strictSame(wrong, [])
})

t.test('a request is copied as a command', needsBrowser, async t => {
  const { page, recordOf } = await open(t)
  await page.goto(`${await recordOf('/busy')}?panel=request`)
  await page.getByRole('button', { name: 'Copy as curl' }).click()
  await page.getByRole('button', { name: 'Copied' }).waitFor()
  t.match(await page.evaluate('navigator.clipboard.readText()'), /^curl http:\/\/127\.0\.0\.1:\d+\/busy/)
})

t.test('bars have the colours of the timeline, however long they are', needsBrowser, async t => {
  const { page, recordOf } = await open(t)
  const record = await recordOf('/busy')
  await page.goto(`${record}?panel=time`)
  const colour = (name: string) =>
    page.evaluate<string>(`{
      const probe = document.body.appendChild(document.createElement('i'))
      probe.style.color = 'var(--bar-${name})'
      getComputedStyle(probe).color
    }`)
  const [section, listener, controller] = await Promise.all(['section', 'listener', 'controller'].map(colour))
  await page.goto(`${record}?panel=events`)
  const bars = await page.evaluate<[string, string][]>(`
    Array.from(document.querySelectorAll('#event-tree li'), row => {
      const [bar, name] = ['rect', '.name'].map(part => row.querySelector(part))
      return [name.textContent, getComputedStyle(bar).fill]
    })
  `)
  t.ok(await page.locator('#event-tree [data-show~="lasts-1ms"]').count())
  const colourOf = new Map(bars)
  t.strictSame(
    ['kernel.response', 'Second.onResponse', 'busy'].map(name => colourOf.get(name)),
    [section, listener, controller],
  )
})

t.test('on paper the timeline stays, and the menu of exports goes', needsBrowser, async t => {
  const { page, recordOf } = await open(t)
  await page.goto(`${await recordOf('/busy')}?panel=time`)
  t.ok(await page.locator('.export > summary').isVisible())
  await page.emulateMedia({ media: 'print' })
  t.ok(await page.locator('#timeline table').isVisible())
  t.notOk(await page.locator('.timeline-tools').isVisible())
  t.notOk(await page.locator('.export').isVisible())
  t.notOk(await page.locator('.export ul').isVisible())
})
