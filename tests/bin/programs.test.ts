import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import path from 'node:path'
import { t } from 'tap'
import { collectorSchemas } from '#bundles/profiler/subjects/schemas.ts'
import { hostileTexts } from '#tests/support/hostile-texts.ts'
import { createWorkspace, namesOf } from '#tests/support/program-workspace.ts'
import { findProfile, listProfiles, readProfile } from '#tests/support/start-profiled.ts'
import { until } from '#tests/support/until.ts'

const listTokens = async (viewer: string) => (await listProfiles(viewer)).map(({ token }) => token)

t.test('programs of a workspace are one list, and each keeps its own statistics and places', async t => {
  const { root, start } = createWorkspace(t)
  const [shop, stock] = [await start('shop'), await start('stock')]
  for (const { url, viewer } of [shop, stock, shop]) {
    await (await fetch(`${url}/health`)).text()
    await findProfile(viewer, '/health')
  }
  await (await fetch(`${stock.url}/error`)).text()
  await until(async () => (await namesOf(shop.viewer)).length === 4)
  const all = ['stock /error', 'shop /health', 'stock /health', 'shop /health']
  t.strictSame([await namesOf(shop.viewer), await namesOf(stock.viewer)], [all, all])

  const { routes } = (await (await fetch(`${shop.viewer}/_profiler/routes.json`)).json()) as {
    routes: { program: string; route: string; count: number }[]
  }
  const counts = routes.map(({ count, program, route }) => `${program} ${route} ${count}`).sort()
  t.strictSame(counts, ['shop GET /health 2', 'stock GET /error 1', 'stock GET /health 1'])

  const { summary } = await findProfile(shop.viewer, '/error')
  t.match(summary.token, /^[0-9a-f]{12}$/)
  const page = await (await fetch(`${shop.viewer}/_profiler/${summary.token}?panel=console`)).text()
  const [, at = ''] = /data-at="([^"]*app\.mjs:4[^"]*)"/.exec(page) ?? []
  const body = new URLSearchParams({ at, editor: 'vscode' })
  const opened = await fetch(`${shop.viewer}/_profiler/open-editor`, {
    method: 'POST',
    body,
    headers: { origin: shop.viewer },
  })
  const file = path.join(root, 'apps/stock/app.mjs')
  t.match(await opened.json(), { link: new RegExp(`^vscode://file${file}:4:`) }, at)

  await t.test('a replay goes to the program that answered, and is marked there', async t => {
    const replayed = await fetch(`${shop.viewer}/_profiler/${summary.token}/replay`, {
      method: 'POST',
      redirect: 'manual',
      headers: { origin: shop.viewer },
    })
    t.match(replayed.headers.get('location'), /^\/_profiler\/compare/)
    const [newest] = await listProfiles(shop.viewer)
    t.match(newest, { program: 'stock' })
    const { data } = await readProfile(shop.viewer, String(newest?.token))
    t.match(JSON.stringify(data.request?.attributes), `"_replay_of","${summary.token}"`)
  })

  await t.test('the profiles of a program that has ended stay', async t => {
    await stock.stop()
    t.ok((await namesOf(shop.viewer)).includes('stock /error'))
    t.equal((await fetch(`${shop.viewer}/_profiler/${summary.token}`)).status, 200)
  })
  await shop.stop()
})

t.test('two checkouts of a program are distinguished by their folders, and each keeps its own statistics', async t => {
  const { root, start } = createWorkspace(t)
  mkdirSync(path.join(root, 'fix/shop'), { recursive: true })
  writeFileSync(path.join(root, 'fix/shop/package.json'), JSON.stringify({ name: 'shop' }))
  const [shop, stock] = [await start('shop'), await start('stock')]
  await (await fetch(`${shop.url}/health`)).text()
  await until(async () => (await namesOf(shop.viewer)).includes('shop /health'))
  const fix = await start('../fix/shop')
  for (const { url } of [shop, stock, fix]) await (await fetch(`${url}/error`)).text()
  await until(async () => (await namesOf(shop.viewer)).length === 4)
  const all = ['shop (fix/shop) /error', 'stock /error', 'shop (apps/shop) /error', 'shop (apps/shop) /health']
  t.strictSame([await namesOf(shop.viewer), await namesOf(fix.viewer), await namesOf(stock.viewer)], [all, all, all])

  const query = new URLSearchParams({ program: 'shop (fix/shop)' })
  const { records } = (await (await fetch(`${stock.viewer}/_profiler/search.json?${query}`)).json()) as {
    records: { summary: { program: string } }[]
  }
  t.strictSame(
    records.map(({ summary }) => summary.program),
    ['shop (fix/shop)'],
  )
  const page = await (await fetch(`${shop.viewer}/_profiler/empty/search/results?limit=10`)).text()
  t.match(page, /<option value="shop \(fix\/shop\)"/)
  t.match(page, 'those of shop (apps/shop)', 'what is deleted')
  t.match(await (await fetch(`${shop.viewer}/_profiler/cpu`)).text(), />shop \(fix\/shop\)</)
  const { summary } = await findProfile(fix.viewer, `${fix.url}/error`)
  const panel = await (await fetch(`${shop.viewer}/_profiler/${summary.token}?panel=console`)).text()
  t.match(panel, `${path.join(root, 'fix/shop')}`, 'its places are in its folder')
  await Promise.all([shop, stock, fix].map(({ stop }) => stop()))
})

t.test('the CPU profile of a request is ordered from the program that answers it', async t => {
  const { start } = createWorkspace(t)
  const [shop, stock] = [await start('shop'), await start('stock')]
  await (await fetch(`${stock.url}/health`)).text()
  await findProfile(shop.viewer, '/health')
  const read = async () => (await fetch(`${shop.viewer}/_profiler/cpu`)).text()
  const [, id = ''] = /<option value="([0-9a-f]{6})"[^>]*>stock</.exec(await read()) ?? []
  const order = async (fields: Record<string, string>) => {
    const body = new URLSearchParams({ method: 'GET', path: '/error', ...fields })
    await fetch(`${shop.viewer}/_profiler/cpu/arm`, { method: 'POST', body, headers: { origin: shop.viewer } })
  }
  await order({ program: id })
  t.match(await read(), /the next GET \/error in stock/)
  for (const { url } of [shop, stock]) {
    await (await fetch(`${url}/error`)).text()
    await findProfile(shop.viewer, `${url}/error`)
  }
  const sampled = await Promise.all(
    [shop, stock].map(async ({ url }) => (await findProfile(shop.viewer, `${url}/error`)).data.cpu !== undefined),
  )
  t.strictSame(sampled, [false, true])
  t.notMatch(await read(), 'in stock.')
  const { summary } = await findProfile(shop.viewer, `${stock.url}/error`)
  const panel = await (await fetch(`${shop.viewer}/_profiler/${summary.token}?panel=cpu`)).text()
  t.match(panel, 'Profile the next GET /error</button>')
  await order({ token: summary.token })
  t.match(await read(), /the next GET \/error in stock/, 'the panel of a profile orders in its program')
  await Promise.all([shop.stop(), stock.stop()])
})

t.test('new profiles of another program are events of a live list', async t => {
  const { start } = createWorkspace(t)
  const shop = await start('shop')
  const end = new AbortController()
  // The fetch of Node cancels the body of a response that nothing refers to any more.
  const live = await fetch(`${shop.viewer}/_profiler/live`, { signal: end.signal })
  const stock = await start('stock')
  await (await fetch(`${stock.url}/health`)).text()
  const { summary } = await findProfile(stock.viewer, '/health')
  let text = ''
  for await (const chunk of live.body ?? []) {
    text += new TextDecoder().decode(chunk)
    if (text.includes(summary.token)) break
  }
  t.match(text, summary.token)
  t.equal(live.status, 200)
  end.abort()
  await Promise.all([shop.stop(), stock.stop()])
})

t.test('a viewer deletes the profiles of its own program, and names it before', async t => {
  const { start } = createWorkspace(t)
  const [shop, stock] = [await start('shop'), await start('stock')]
  for (const { url } of [shop, stock]) {
    await (await fetch(`${url}/health`)).text()
    await findProfile(shop.viewer, `${url}/health`)
  }
  const list = await (await fetch(`${shop.viewer}/_profiler/empty/search/results`)).text()
  t.match(list, 'Delete those of shop except pinned?')
  const purged = await fetch(`${shop.viewer}/_profiler/purge`, { method: 'POST', headers: { origin: shop.viewer } })
  t.equal(purged.status, 200)
  t.strictSame([await namesOf(shop.viewer), await namesOf(stock.viewer)], [['stock /health'], ['stock /health']])
  await Promise.all([shop.stop(), stock.stop()])
})

/** The folder of the profiles of a program of the workspace. */
const storeOf = (root: string, name: string) =>
  path.join(root, 'node_modules/.cache/sinfonietta/programs/apps', name, 'profiler')

t.test(
  'a store that is removed while it is shown is left out, and its program is shown when it begins again',
  async t => {
    const { root, start } = createWorkspace(t)
    const stock = await start('stock')
    const shop = await start('shop', { NEXT: stock.url })
    await (await fetch(`${shop.url}/chain`)).text()
    const [called, { summary }] = [
      await findProfile(shop.viewer, `${stock.url}/chain`),
      await findProfile(shop.viewer, `${shop.url}/chain`),
    ]
    const page = async () => (await fetch(`${shop.viewer}/_profiler/${summary.token}?panel=http`)).text()
    t.match(await page(), called.summary.token)
    await stock.stop()
    rmSync(storeOf(root, 'stock'), { recursive: true })
    t.strictSame(await namesOf(shop.viewer), ['shop /chain'])
    t.equal((await fetch(`${shop.viewer}/_profiler/${called.summary.token}`)).status, 404)
    const text = await page()
    t.match(text, '/chain')
    t.notMatch(text, / in <a[^>]* href="\/_profiler\//)
    const again = await start('stock')
    await (await fetch(`${again.url}/health`)).text()
    await until(async () => (await namesOf(shop.viewer)).length === 2)
    t.strictSame((await namesOf(shop.viewer)).sort(), ['shop /chain', 'stock /health'])
    await Promise.all([shop.stop(), again.stop()])
  },
)

t.test('profiles of a later version of the package are shown if they fit, and else harm nothing', async t => {
  const { list, root, start } = createWorkspace(t)
  const stock = await start('stock')
  const targets = ['/later', '/schema', '/type', '/outcome']
  for (const target of targets) {
    await (await fetch(`${stock.url}${target}`)).text()
    await findProfile(stock.viewer, target)
  }
  await stock.stop()
  const folder = storeOf(root, 'stock')
  const changes: Readonly<Record<string, readonly [string, string]>> = {
    '/later': ['"summary":{', '"later":{"of":1},"summary":{"later":["x"],'],
    '/schema': ['"schemaVersion":', '"schemaVersion":9'],
    '/type': ['"type":"request"', '"type":"dream"'],
    '/outcome': ['"outcome":"complete"', '"outcome":"dissolved"'],
  }
  for (const name of readdirSync(folder)) {
    const file = path.join(folder, name)
    // Without its index, the file of the profiles is read.
    if (name.endsWith('.index')) rmSync(file)
    if (!name.endsWith('.jsonl')) continue
    const lines = readFileSync(file, 'utf8').split('\n')
    const changed = lines.map(line => {
      const [, change] = Object.entries(changes).find(([target]) => line.includes(`${target}"`)) ?? []
      return change === undefined ? line : line.replaceAll(...change)
    })
    t.notSame(changed, lines)
    writeFileSync(file, changed.join('\n'))
  }
  for (const name of readdirSync(list)) {
    const entry = JSON.parse(readFileSync(path.join(list, name), 'utf8'))
    writeFileSync(path.join(list, name), JSON.stringify({ ...entry, version: 9 }))
  }
  const shop = await start('shop')
  await (await fetch(`${shop.url}/health`)).text()
  await findProfile(shop.viewer, '/health')
  t.strictSame(await namesOf(shop.viewer), ['shop /health', 'stock /later'])
  await shop.stop()
})

t.test('a program with PROFILER_ALONE=1 neither shows others nor is shown', async t => {
  const { start } = createWorkspace(t)
  const [shop, stock] = [await start('shop'), await start('stock', { PROFILER_ALONE: '1' })]
  for (const { url, viewer } of [shop, stock]) {
    await (await fetch(`${url}/health`)).text()
    await findProfile(viewer, '/health')
  }
  t.strictSame([await namesOf(shop.viewer), await namesOf(stock.viewer)], [['shop /health'], ['stock /health']])
  await Promise.all([shop.stop(), stock.stop()])
})

t.test('a hostile store of a second program harms neither the list nor the first program', async t => {
  const { root, start } = createWorkspace(t)
  const stock = await start('stock')
  await (await fetch(`${stock.url}/health`)).text()
  const { summary } = await findProfile(stock.viewer, '/health')
  await stock.stop()
  const store = path.join(root, 'node_modules/.cache/sinfonietta/programs/apps/stock/profiler')
  const [segment = ''] = readdirSync(store).filter(name => name.endsWith('.jsonl'))
  const text = readFileSync(path.join(store, segment), 'utf8')
  const textOf = (number: number) => text.replaceAll(summary.token, number.toString(16).padStart(12, '0'))
  // Each is a segment of its own, with the names that the store gives.
  const add = (number: number, write: (file: string) => void) =>
    write(
      path.join(
        store,
        segment.replace(/^\d+/, time => String(Number(time) + number).padStart(time.length, '0')),
      ),
    )
  for (const [index, hostile] of hostileTexts.entries()) {
    const escaped = JSON.stringify(hostile).slice(1, -1)
    add(index + 1, file =>
      writeFileSync(
        file,
        textOf(index + 1).replaceAll('stock', () => escaped),
      ),
    )
  }
  const values = ['null', '7', '[]', '{}', '"../.."', '{"__proto__":{"program":"x"}}', '1e999', '['.repeat(9999)]
  const fields = /"(program|time|token|url)":(?:"[^"]*"|\d+)/g
  for (const [index, value] of values.entries())
    add(index + 100, file => writeFileSync(file, textOf(index + 100).replace(fields, `"$1":${value}`)))
  add(200, file => symlinkSync('/etc/passwd', file))
  add(201, file => mkdirSync(file))
  add(202, file => execFileSync('mkfifo', [file]))
  add(203, file => writeFileSync(file, Buffer.alloc(100_000, 0xff)))
  const index = readFileSync(path.join(store, segment.replace('.jsonl', '.index')), 'utf8')
  const [ownFacts = '', ownProfile = ''] = text.split('\n')
  for (const [number, value] of values.entries()) {
    // Entries of the index name wrong spans of segments that are not damaged.
    const spans = [value, `[${value},7]`, '[-9,9]', '[0,9e15]', '[9e15,9]', '[0.5,0.5]']
    const token = (400 + number).toString(16).padStart(12, '0')
    const own = index.replaceAll(summary.token, (300 + number).toString(16).padStart(12, '0'))
    const entries = spans.map(span => own.replace(/"record":\[[^\]]*\]/, `"record":${span}`))
    add(300 + number, file => {
      writeFileSync(file, textOf(300 + number))
      writeFileSync(
        file.replace('.jsonl', '.index'),
        [value, own.replace(/"kept":\d+/, `"kept":${value}`), ...entries].join('\n'),
      )
    })
    // Each part of a profile, such as its CPU profile, and of the facts of its process.
    const parts = Object.keys(collectorSchemas).map(name => `"${name}":${value}`)
    const profile = JSON.stringify({ ...JSON.parse(ownProfile), data: 'parts' }).replace('"parts"', `{${parts}}`)
    add(400 + number, file => writeFileSync(file, `${ownFacts}\n${profile.replaceAll(summary.token, token)}\n`))
    add(500 + number, file => writeFileSync(file, `{"facts":{${parts}}}\n${textOf(500 + number).split('\n')[1]}\n`))
    mkdirSync(path.join(store, 'pinned'), { recursive: true })
    const pinned = path.join(
      store,
      `pinned/${(700 + number).toString(16).padStart(12, '0')}-9-0123abcd-0123abc${number}.json`,
    )
    writeFileSync(pinned, number % 2 === 0 ? value : textOf(700 + number).replace(fields, `"$1":${value}`))
  }
  add(600, file => writeFileSync(file, text.slice(0, -40)))
  for (const name of ['000000000601-9-0123abcd-0123abcd.json', '../../x.json', 'x']) {
    const pinned = path.join(store, 'pinned', path.basename(name))
    execFileSync('mkfifo', [pinned])
  }
  for (const [name, value] of [
    ['cpu-profile.json', '{"target":{"path":7,"method":{}},"until":1e999}'],
    ['replay-secret', 'of\r\nx-injected: 1'],
  ] as const)
    writeFileSync(path.join(store, '..', name), value)
  const names = [7, null, {}, ...hostileTexts, 'shop']
  writeFileSync(path.join(store, '../program-names.json'), JSON.stringify({ names }))
  const shop = await start('shop')
  await (await fetch(`${shop.url}/health`)).text()
  await findProfile(shop.viewer, '/health')
  t.ok((await namesOf(shop.viewer)).includes('shop (shop) /health'), 'the name of another program is not its own')
  const tokens = await listTokens(shop.viewer)
  t.ok(tokens.length > hostileTexts.length, 'the hostile profiles are in the list')
  for (const address of ['empty/search/results', 'routes', 'latest', 'cpu', ...tokens]) {
    const page = await fetch(`${shop.viewer}/_profiler/${address}`)
    t.equal(page.status, 200, address)
    const html = await page.text()
    t.notMatch(html, /<script>|<svg\/onload|<img src=x|href="(?:javascript|data):/, address)
  }
  const post = (address: string, body?: URLSearchParams) =>
    fetch(`${shop.viewer}/_profiler/${address}`, {
      method: 'POST',
      body: body ?? null,
      headers: { origin: shop.viewer },
    })
  const places = [
    '/etc/passwd',
    '../../../../../../../etc/passwd',
    `${root}/node_modules/../../../etc/passwd:1`,
    `${store}:1`,
  ]
  for (const at of places)
    t.equal((await post('open-editor', new URLSearchParams({ at, editor: 'vscode' }))).status, 404, at)
  for (const token of tokens.filter(token => /^0/.test(token))) {
    for (const address of [`${token}/replay`, `${token}/pin`, `${token}/unpin`])
      t.not((await post(address)).status, 500, address)
  }
  const armed = await post('cpu/arm', new URLSearchParams({ path: '/health', method: 'GET' }))
  t.equal(armed.status, 200)
  t.equal(await (await fetch(`${shop.url}/health`)).text(), 'shop')
  await shop.stop()
})

t.test('what the list of programs says is data: wrong, foreign and missing entries are left out', async t => {
  const { list, root, start } = createWorkspace(t)
  const shop = await start('shop')
  await (await fetch(`${shop.url}/health`)).text()
  await findProfile(shop.viewer, '/health')
  const entry = (name: string, value: unknown) => writeFileSync(path.join(list, name), JSON.stringify(value))
  const gone = { directory: root, files: path.join(root, 'gone') }
  entry('0123456789abcdef.json', gone)
  entry('0123456789abcde0.json', { directory: 7, files: null })
  entry('0123456789abcde1.json', { directory: '../..', files: '../..' })
  entry('0123456789abcde2.json', 'no object')
  writeFileSync(path.join(list, '0123456789abcde3.json'), '{"directory":')
  symlinkSync('/etc/passwd', path.join(list, '0123456789abcde4.json'))
  mkdirSync(path.join(list, '0123456789abcde5.json'))
  execFileSync('mkfifo', [path.join(list, '0123456789abcde6.json')])
  writeFileSync(path.join(list, '0123456789abcde7.json'), `{"directory":"/","files":"/${'x'.repeat(2_000_000)}"}`)
  t.strictSame(await namesOf(shop.viewer), ['shop /health'])
  t.notOk(existsSync(path.join(list, '0123456789abcdef.json')), 'a program without files is removed')
  await shop.stop()
  t.equal(readdirSync(list).filter(name => /\.json$/.test(name)).length > 0, true)

  chmodSync(path.dirname(list), 0o777)
  const stock = await start('stock')
  await (await fetch(`${stock.url}/health`)).text()
  await findProfile(stock.viewer, '/health')
  t.strictSame(await namesOf(stock.viewer), ['stock /health'], 'nor is a folder used that others can write')
  await stock.stop()
})
