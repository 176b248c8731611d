import { brotliCompressSync } from 'node:zlib'
import { type Test, t } from 'tap'
import { keep } from '#tests/support/create-profile.ts'
import { findAssets } from '#tests/support/find-assets.ts'
import { askFor, heavyBundle } from '#tests/support/heavy-bundle.ts'
import { createProfiledKernel, waitForProfile } from '#tests/support/profiled-kernel.ts'
import { openScreens, type Screen } from '#tests/support/screens.ts'
import { serveKernel, startServer } from '#tests/support/test-server.ts'

const pageLimit = 100_000
/** Of a page with as much as the profiler records. */
const fullPageLimit = 300_000
const assetLimit = 60_000
/** Of all scripts and styles, uncompressed. */
const clientLimit = 232_000
const toolbarLimit = 1_000

t.test('pages with data for every panel', async t => {
  const { screens, url } = await openScreens(t)
  const ask = async (path: string) => (await fetch(url + path)).text()
  const pages = new Map<Screen, string>()
  for (const screen of screens) pages.set(screen, await ask(screen.path))
  await t.test('every panel of a profile with much data is displayed', t => testPanels(t, pages))
  await t.test('every page is small, and so are the shared assets', t => testSizes(t, pages, ask))
  await t.test('the toolbar adds only little to a page', t => testToolbar(t, url))
})

async function testPanels(t: Test, pages: ReadonlyMap<Screen, string>) {
  const panels = [...pages].filter(([{ path }]) => path.includes('?panel='))
  const failed = panels.filter(([, html]) => /cannot be displayed|No data for this panel/.test(html))
  t.ok(panels.length > 25, `${panels.length} panels`)
  t.strictSame(
    failed.map(([{ name }]) => name),
    [],
  )
}

async function testSizes(t: Test, pages: ReadonlyMap<Screen, string>, ask: (path: string) => Promise<string>) {
  const sizes = Array.from(pages, ([{ name }, html]) => ({ name, size: Buffer.byteLength(html) }))
  t.strictSame(
    sizes.filter(({ size }) => size > pageLimit),
    [],
  )
  const assets = await findAssets([...pages.values()], ask)
  const shared = [...assets].filter(([path]) => !path.startsWith('/assets/site/'))
  const scripts = shared.map(([path]) => path.replace(/.*\//, '')).filter(name => name.endsWith('.js'))
  t.strictSame(scripts.toSorted(), ['browser-errors.js', 'profiler.js', 'toolbar.js'], 'no script loads another one')
  const code = shared.filter(([path]) => /\.(?:js|css)$/.test(path)).map(([, text]) => Buffer.byteLength(text))
  const length = code.reduce((sum, bytes) => sum + bytes, 0)
  t.ok(length <= clientLimit, `scripts and styles of ${length} bytes`)
  const size = shared.reduce((sum, [, text]) => sum + brotliCompressSync(text).length, 0)
  t.ok(size <= assetLimit, `${shared.length} files of ${size} bytes, compressed`)
}

async function testToolbar(t: Test, url: string) {
  const bare = await startServer(t)
  const lengthOf = async (address: string) => Buffer.byteLength(await (await fetch(address)).text())
  for (const path of ['/star-photo-booth', '/partnership']) {
    const added = (await lengthOf(url + path)) - (await lengthOf(bare.url + path))
    t.ok(added >= 0 && added <= toolbarLimit, `${path}: ${added} bytes`)
  }
}

t.test('a page of many recorded values is bounded, and has pages of rows', async t => {
  const kernel = await createProfiledKernel(t, { bundles: [heavyBundle] })
  const { url } = await serveKernel(t, kernel)
  const { token } = await askFor(url, 'many')
  await waitForProfile(kernel.storage, token)
  const pages = await Promise.all(
    ['logger', 'request', 'database'].map(async panel =>
      (await fetch(`${url}/_profiler/${token}?panel=${panel}`)).text(),
    ),
  )
  t.strictSame(
    pages.map(html => Buffer.byteLength(html)).filter(size => size > fullPageLimit),
    [],
  )
  t.match(pages[0], 'Next rows')
  t.match(pages[2], /1–\d+ of 450/)
})

t.test('a log of 500 messages, a flame graph of 168 frames and a list of 100 requests are light', async t => {
  const kernel = await createProfiledKernel(t)
  const { url } = await serveKernel(t, kernel)
  const site = { file: 'bundles/shop/orders.ts', line: 12, column: 5, function: 'handleOrder' }
  const records = Array.from({ length: 500 }, (_, order) => {
    const template = `Order {order} was ${['priced', 'checked', 'sent'][order % 3]}.`
    const message = template.replace('{order}', String(order))
    return { at: order * 800, level: 'info', channel: 'shop', message, template, context: { order }, site }
  })
  const many = Array.from({ length: 100 }, (_, index) => ({ token: String(200_000 + index), queries: 3, queryTime: 2 }))
  keep(kernel.storage, ...many, { token: 'abc123', data: { logger: { records, dropped: 0 } } })
  const sizeOf = async (path: string) => Buffer.byteLength(await (await fetch(`${url}/_profiler/${path}`)).text())
  const log = await sizeOf('abc123?panel=logger')
  t.ok(log <= 60_000, `the log: ${log} bytes`)
  const frames = Array.from({ length: 168 }, (_, index) => index)
  const file = 'node_modules/shop-server/lib/handle-orders.js'
  const measured = { file, origin: 'vendor', package: 'shop-server', self: 1000, total: 1000 } as const
  const functions = frames.map(index => ({ name: `handleOrder${index}`, line: index, ...measured }))
  const calls = frames.map((index): [number, number, number, number] => [index, -1, 1000, 1000])
  const times = { samples: 900, busy: 168_000, idle: 0, startup: 6000, others: 0, isCut: false, omitted: 0 }
  keep(kernel.storage, { token: 'abc124', data: { cpu: { ...times, functions, calls, excerpts: [] } } })
  const flame = await sizeOf('abc124?panel=cpu')
  t.ok(flame <= 60_000, `the flame graph: ${flame} bytes`)
  const [few, all] = [await sizeOf('empty/search/results?limit=10'), await sizeOf('empty/search/results?limit=100')]
  const routes = Array.from({ length: 300 }, (_, index) => ({ token: String(300_000 + index), route: `item_${index}` }))
  keep(
    kernel.storage,
    ...routes.flatMap(route => [route, { ...route, token: `4${route.token.slice(1)}`, duration: 90 }]),
  )
  const ofRoutes = await (await fetch(`${url}/_profiler/routes?sort=route&route-rows=2`)).text()
  t.ok(Buffer.byteLength(ofRoutes) <= 60_000, `300 routes: ${Buffer.byteLength(ofRoutes)} bytes`)
  t.match(ofRoutes, /51–100 of 301.*\?sort&#x3D;route&amp;route-rows&#x3D;3#route-rows">Next rows/s)
  t.notMatch(
    ofRoutes.slice(0, ofRoutes.indexOf('</thead>')),
    'route-rows&#x3D;',
    'another order begins with its first rows',
  )
  t.ok((all - few) / 90 <= 1150, `a row of the list: ${(all - few) / 90} bytes`)
})

t.test('a page of many calls with long bodies is bounded, and leads to all of a body', async t => {
  const kernel = await createProfiledKernel(t)
  const { url } = await serveKernel(t, kernel)
  const long = (length: number) => ({ type: 'text/plain', length, text: '"'.repeat(length) })
  const message = (length: number) => ({ headers: [['x-kind', 'long']], content: long(length) })
  const calls = Array.from({ length: 50 }, (_, index) => ({
    ...{ client: 'fetch', method: 'POST', url: 'http://localhost/', start: index, end: index + 1, status: 200 },
    ...{ request: message(5_000), response: message(10_000) },
  }))
  keep(kernel.storage, { token: 'abc123', data: { http: { calls, omitted: 0 } } })
  const html = await (await fetch(`${url}/_profiler/abc123?panel=http`)).text()
  t.ok(Buffer.byteLength(html) <= fullPageLimit, `${Buffer.byteLength(html)} bytes`)
  t.match(html, 'Next rows')
  t.match(html, 'The first 4,000 characters are shown. <a href="/_profiler/abc123.json">All of it, as JSON</a>')
  const rows = html.split(/<li class="item[^"]*" id="call-/).slice(1)
  t.ok(rows.length > 1 && rows.every(row => row.split('<h3>Response').length === 2), 'each call has its messages')
})
