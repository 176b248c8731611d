import type { Page } from 'playwright-core'
import { type Test, t } from 'tap'
import type { Bundle } from '../../kernel/bundle.ts'
import { toController } from '../../kernel/controller/controller.ts'
import { RequestType } from '../../kernel/request-type.ts'
import { Event } from '../../lib/event-dispatcher/event.ts'
import type { Request } from '../../lib/http/request.ts'
import { Response } from '../../lib/http/response.ts'
import { needsBrowser, openBrowser } from '../support/browser.ts'
import { createProfiledKernel } from '../support/profiled-kernel.ts'
import { serveKernel } from '../support/test-server.ts'

t.setTimeout(180_000)

/** A collector whose data fills a table with what is hard to fit in. */
const demo: Bundle = {
  name: 'demo',
  register(app) {
    const collect = () => ({
      [`a-${'long-'.repeat(20)}name`]: 'value'.repeat(100),
      lines: { one: [1, 2], two: 'é'.repeat(300) },
    })
    app.collectors.push({ name: 'demo', collect })
  },
}

class DemoEvent extends Event {
  static readonly eventName = 'demo.happened'
}

/** A request that has something to tell to every panel. */
const rich: Bundle = {
  name: 'rich',
  register({ dispatcher, kernel, logger, routes, view }) {
    dispatcher.on(DemoEvent, function stopIt(event) {
      event.stopPropagation()
    })
    dispatcher.on(DemoEvent, function neverCalled() {}, -10)
    const answer = async (request: Request) => {
      const { session, stopwatch } = request
      await session.set('basket', { count: 2, [`long-${'x'.repeat(80)}`]: 'y'.repeat(200) })
      await session.flash('notice', 'saved')
      for (const level of ['debug', 'info', 'warning', 'error', 'critical'] as const) {
        logger.channel('demo')[level]('The {level} of {thing}.', { level, thing: 'z'.repeat(120), more: [1, { a: 2 }] })
      }
      await dispatcher.dispatch(new DemoEvent())
      stopwatch.measure('a name that is rather long, with words', 'database', () => undefined)
      const origin = `http://${request.headers.get('host')}`
      const bodies = [`/text?${'long='.repeat(60)}`, '/boom'].map(async path => (await fetch(origin + path)).text())
      await Promise.all(bodies)
      await kernel.handle(request.duplicate({ method: 'GET', target: '/item/5' }), RequestType.Sub, false)
      const page = await view.render('site/star-photo-booth', {}, request)
      return Response.html(page, { headers: { 'set-cookie': `theme=dark; Path=/${'p'.repeat(100)}; HttpOnly` } })
    }
    routes.add({ name: 'rich', path: '/rich', methods: ['POST'], controller: toController(answer) })
  },
}

/** What of a page is looked at; evaluated in the browser. */
interface Look {
  readonly title: string
  readonly overflow: number
  readonly rules: number
  readonly background: string
  /** Texts whose contrast is below 4.5, with that. */
  readonly pale: readonly string[]
}

const look = `(() => {
  const channels = color => color.match(/[\\d.]+/g).map(Number)
  const luminance = color => {
    const [r, g, b] = channels(color).map(value => value / 255).map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b
  }
  const backgroundOf = element => {
    for (let at = element; at; at = at.parentElement) {
      const color = getComputedStyle(at).backgroundColor
      if (channels(color)[3] !== 0) return color
    }
    return 'rgb(255, 255, 255)'
  }
  const pale = []
  for (const element of document.querySelectorAll('body *')) {
    const text = [...element.childNodes].filter(node => node.nodeType === 3).map(node => node.data.trim()).join('')
    if (text === '' || !element.checkVisibility()) continue
    const [a, b] = [luminance(getComputedStyle(element).color), luminance(backgroundOf(element))]
    const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05)
    if (contrast < 4.5) pale.push(text.slice(0, 30) + ' ' + contrast.toFixed(2))
  }
  return {
    title: document.title,
    overflow: document.documentElement.scrollWidth - document.documentElement.clientWidth,
    rules: [...document.styleSheets].reduce((sum, sheet) => sum + sheet.cssRules.length, 0),
    background: getComputedStyle(document.body).backgroundColor,
    pale,
  }
})()`

/** Tells what went wrong on the way to a page: messages, violated policies, and requests that leave the site. */
function watch(page: Page, url: string): () => string[] {
  const wrong: string[] = []
  page.on('pageerror', error => wrong.push(String(error)))
  page.on('console', message => {
    if (!message.text().startsWith('Failed to load resource')) wrong.push(`${message.type()}: ${message.text()}`)
  })
  page.on('request', request => {
    if (new URL(request.url()).origin !== url) wrong.push(`request to ${request.url()}`)
  })
  page.on('response', response => {
    const isPage = response.request().isNavigationRequest()
    if (!isPage && response.status() >= 400) wrong.push(`${response.status()} ${response.url()}`)
  })
  return () => wrong
}

interface Opened {
  readonly page: Page
  readonly url: string
  tokenOf(path: string, init?: RequestInit): Promise<string>
}

async function open(t: Test): Promise<Opened> {
  const browser = await openBrowser(t)
  const { url } = await serveKernel(t, await createProfiledKernel(t, { bundles: [demo, rich] }))
  const tokenOf = async (path: string, init?: RequestInit) =>
    String((await fetch(url + path, init)).headers.get('x-debug-token'))
  return { page: await browser.newPage(), url, tokenOf }
}

t.test('pages of the profiler fit the window, can be read, and keep to their policy', needsBrowser, async t => {
  const { page, tokenOf, url } = await open(t)
  const complaints = watch(page, url)
  const empty = '/_profiler/empty/search/results?ip=9.9.9.9&start=nope&limit=x'
  await page.goto(url + empty)
  const missing = await tokenOf(`/missing-x/${'a-very-long-path/'.repeat(20)}`)
  const found = await tokenOf('/star-photo-booth')
  for (const [path, title] of [
    ['/_profiler/', /^\d+ results found · Profiler$/],
    [empty, /^No results found/],
    [`/_profiler/${missing}`, /^404 GET \/missing-x/],
    [`/_profiler/${found}?panel=demo`, /^200 GET \/star-photo-booth/],
    ['/_profiler/ffffff', /^Token not found/],
  ] as const) {
    await page.goto(url + path)
    const backgrounds = new Set<string>()
    for (const colorScheme of ['light', 'dark'] as const) {
      for (const width of [400, 800, 1400]) {
        await page.emulateMedia({ colorScheme })
        await page.setViewportSize({ width, height: 900 })
        const { background, overflow, pale, rules, title: shown } = await page.evaluate<Look>(look)
        t.match(shown, title)
        t.equal(overflow, 0, `${width} pixels are enough for ${path}`)
        t.ok(rules > 0, 'styles are there')
        t.strictSame(pale, [], `${colorScheme} has contrast`)
        backgrounds.add(background)
      }
    }
    t.equal(backgrounds.size, 2, 'light and dark differ')
  }
  t.strictSame(complaints(), [])
})

t.test(
  'every panel of a record that has much to tell fits the window, unfolded, in light and dark',
  needsBrowser,
  async t => {
    const { page, tokenOf, url } = await open(t)
    const complaints = watch(page, url)
    const form = new URLSearchParams({
      name: 'n'.repeat(300),
      [`field-${'f'.repeat(100)}`]: 'short',
      password: 'hunter2',
    })
    const full = await tokenOf(`/rich?page=2&${'q'.repeat(150)}=1`, { method: 'POST', body: form })
    const failed = await tokenOf('/boom')
    const missing = await tokenOf('/star-photo-boot')
    for (const [token, panels] of [
      [full, 'request time logger events router templates memory http config demo'],
      [failed, 'exception events'],
      [missing, 'exception router'],
    ] as const) {
      for (const panel of panels.split(' ')) {
        await page.goto(`${url}/_profiler/${token}?panel=${panel}`)
        await page.evaluate("document.querySelectorAll('.panel details').forEach(details => { details.open = true })")
        t.notMatch(await page.locator('.panel').innerText(), /cannot be shown|Nothing was recorded/, panel)
        t.equal(await page.locator('[style]').count(), 0, 'a strict policy has nothing to forbid')
        for (const colorScheme of ['light', 'dark'] as const) {
          for (const width of [400, 1400]) {
            await page.emulateMedia({ colorScheme })
            await page.setViewportSize({ width, height: 900 })
            const { overflow, pale } = await page.evaluate<Look>(look)
            t.equal(overflow, 0, `${width} pixels are enough for ${panel}`)
            t.strictSame(pale, [], `${panel} has contrast in ${colorScheme}`)
          }
        }
      }
    }
    t.strictSame(complaints(), [])
  },
)

t.test('the way from a cause opens its stack, which is folded otherwise', needsBrowser, async t => {
  const { page, tokenOf, url } = await open(t)
  await page.goto(`${url}/_profiler/${await tokenOf('/gone')}`)
  const cause = page.locator('details.exception').nth(1)
  t.equal(await cause.getAttribute('open'), null)
  await page.getByLabel('Exceptions, the cause first').getByRole('link').first().click()
  t.equal(await cause.getAttribute('open'), '')
  t.ok(await cause.locator('summary').first().isVisible())
})

t.test('records are searched, read, pinned and deleted without a script', needsBrowser, async t => {
  const { page, tokenOf, url } = await open(t)
  const complaints = watch(page, url)
  const missing = await tokenOf('/missing-x')
  const found = await tokenOf('/star-photo-booth')

  await page.goto(`${url}/_profiler`)
  await page.getByLabel('Status').fill('404')
  await page.getByRole('button', { name: 'Search' }).click()
  t.match(page.url(), `/_profiler/${missing}/search/results?status_code=404&limit=10&type=request`)
  t.equal(await page.getByRole('heading', { level: 1 }).textContent(), '2 results found')
  t.equal(await page.getByLabel('Status').inputValue(), '404')

  await page.getByRole('link', { name: '/missing-x' }).first().click()
  t.equal(page.url(), `${url}/_profiler/${missing}`)
  await page.getByRole('button', { name: 'Pin' }).click()
  t.match(page.url(), `${url}/_profiler/${missing}`)
  t.ok(await page.getByText('pinned', { exact: true }).isVisible())
  await page.getByRole('link', { name: 'Next' }).click()
  t.match(page.url(), `${url}/_profiler/${found}`)

  await page.getByRole('link', { name: 'All records' }).click()
  await page.getByText('Delete records').click()
  await page.getByRole('button', { name: 'Delete' }).click()
  t.equal(await page.getByRole('heading', { level: 1 }).textContent(), '1 results found', 'the pinned one is left')

  await page.getByRole('button', { name: 'Pause recording' }).click()
  t.equal(await tokenOf('/star-photo-booth'), 'null')
  await page.getByRole('button', { name: 'Resume' }).click()
  t.match(await tokenOf('/star-photo-booth'), /^[0-9a-f]{6}$/)
  t.strictSame(complaints(), [])
})
