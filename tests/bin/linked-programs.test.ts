import { once } from 'node:events'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { type Test, t } from 'tap'
import { findPort } from '#tests/support/find-port.ts'
import { textOf } from '#tests/support/html.ts'
import { createWorkspace, namesOf } from '#tests/support/program-workspace.ts'
import { startProcess } from '#tests/support/start-process.ts'
import { findProfile, listProfiles } from '#tests/support/start-profiled.ts'
import { lacksRedis, startRedis } from '#tests/support/start-redis.ts'
import { until } from '#tests/support/until.ts'
import { startSite } from './site-process.ts'

/** The command `sinfonietta view`. It ends with its input, so that its coverage is written. */
const viewer = `
process.stdin.on('end', () => process.exit()).resume()
const { viewProfiles } = await import('${pathToFileURL(path.resolve('dist/bin/profiling/view.js'))}')
process.exitCode = await viewProfiles(process.argv.slice(1), process.env)`

/** Runs the command for a while. Gives what is read at its address, or else its output. */
async function startViewer<result>(
  t: Test,
  cwd: string,
  stores: readonly string[],
  read: (address: string, readOutput: () => string) => Promise<result>,
): Promise<result | string> {
  const env = { ...process.env, PROFILER_ALONE: '', PROFILER_PORT: '0', TMPDIR: cwd }
  const command = [process.execPath, '--input-type=module', '-e', viewer, ...stores]
  const child = startProcess(t, command, { cwd, env, stdio: ['pipe', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', chunk => (output += chunk))
  await until(() => output.includes('\n'))
  const [, address] = /^Profiler: (http:\S+)\/_profiler\//.exec(output) ?? []
  const found = address === undefined ? output : await read(address, () => output)
  child.stdin?.end()
  await once(child, 'exit')
  return found
}

t.test('a call leads to the called profile over several programs, and back', async t => {
  const { start } = createWorkspace(t)
  const price = await start('price', { WAIT: '80' })
  const stock = await start('stock', { NEXT: price.url })
  const shop = await start('shop', { NEXT: stock.url })
  await (await fetch(`${shop.url}/chain?id=1`)).text()
  const tokens = new Map<unknown, string>()
  await until(async () => {
    for (const { program, token } of await listProfiles(shop.viewer)) tokens.set(program, token)
    return tokens.size === 3
  })
  const read = async (program: string, panel: string) =>
    textOf(await (await fetch(`${shop.viewer}/_profiler/${tokens.get(program)}?panel=${panel}`)).text())
  t.match(await read('shop', 'http'), /fetch · in stock/)
  const overview = await read('shop', 'overview')
  t.match(overview, /1 HTTP client call took [\d.]+ ms,(?: most of it)? in stock → price[.,:;]/)
  const timeline = await read('shop', 'time')
  t.match(timeline, /GET \/chain\?id=1 stock[\s\S]*GET \/chain\?id=1 price/, 'the parts are nested below their calls')
  t.match(timeline, /Slowest by own time.*GET \/chain\?id=1 price [\d.]+ ms [\d.]+ %/s, 'a slow part names its program')
  t.match(await read('stock', 'overview'), /Called by 200 GET \/chain\?id=1 shop · /)
  t.match(await read('stock', 'overview'), /Calls 200 GET \/chain\?id=1 price · /)
  t.notMatch(await read('price', 'overview'), /Calls \d{3} /)
  await Promise.all([shop, stock, price].map(({ stop }) => stop()))
})

t.test('the token of a response is a link only if method, path and time are those of the call', async t => {
  const { start } = createWorkspace(t)
  const stock = await start('stock', { PROFILER_ALONE: '1' })
  const victim = await start('price')
  await (await fetch(`${victim.url}/health`)).text()
  const { summary } = await findProfile(victim.viewer, '/health')
  await stock.stop()
  const forger = await start('forger', { FORGED: summary.token, PROFILER_IN_PRODUCTION: '', PROFILER_SAMPLE: '0' })
  const shop = await start('shop', { NEXT: forger.url.replace(/$/, '/forged?') })
  await (await fetch(`${shop.url}/chain`)).text()
  const { summary: own } = await findProfile(shop.viewer, '/chain')
  const html = await (await fetch(`${shop.viewer}/_profiler/${own.token}?panel=http`)).text()
  t.notMatch(html, summary.token)
  await Promise.all([shop, victim, forger].map(({ stop }) => stop()))
})

t.test('a call that was aborted leads to the called profile by its traceparent, if it has sent one', async t => {
  const { start } = createWorkspace(t)
  const stock = await start('stock')
  const shop = await start('shop', { NEXT: `${stock.url}/health` })
  const linkOf = async (query: string) => {
    await (await fetch(`${shop.url}/aborted?${query}`)).text()
    const { summary } = await findProfile(shop.viewer, `${shop.url}/aborted?${query}`)
    const url = `${stock.url}/health/aborted?${query}`
    const { summary: called } = await findProfile(shop.viewer, url, 'aborted')
    const html = await (await fetch(`${shop.viewer}/_profiler/${summary.token}?panel=http`)).text()
    return html.includes(`/_profiler/${called.token}"`)
  }
  t.strictSame([await linkOf('traced'), await linkOf('plain')], [true, false])
  await Promise.all([shop, stock].map(({ stop }) => stop()))
})

t.test('sinfonietta view names a Redis that does not answer at its start', async t => {
  const port = await findPort()
  await startViewer(t, t.testdir({ node_modules: {} }), [`redis://127.0.0.1:${port}`], (_address, readOutput) =>
    until(() => readOutput().includes(`Redis does not answer. Profiles wait in memory. Start it at 127.0.0.1:${port}`)),
  )
})

t.test('sinfonietta view shows programs that have ended: all of them, or those of some folders', async t => {
  const { list, root, start } = createWorkspace(t)
  for (const name of ['shop', 'stock']) {
    const { stop, url, viewer } = await start(name)
    await (await fetch(`${url}/health`)).text()
    await findProfile(viewer, '/health')
    await stop()
  }
  const view = (...folders: string[]) => startViewer(t, path.dirname(path.dirname(list)), folders, namesOf)
  const apps = path.join(root, 'apps')
  t.strictSame(await Promise.all([view(), view(path.join(apps, 'shop')), view(path.join(apps, 'price'))]), [
    ['stock /health', 'shop /health'],
    ['shop /health'],
    `The folder ${path.join(apps, 'price')} has no profiles: name that of a program that was profiled.\n`,
  ])
})

t.test('an application of our own is in the list, shows the others, and each replays its own requests', async t => {
  const { list, start } = createWorkspace(t)
  const temporary = path.dirname(path.dirname(list))
  const startOwn = async (env: Readonly<Record<string, string>>) => {
    const site = startSite(t, ['--port=0'], { APP_ENV: 'dev', PROFILER_ALONE: '', TMPDIR: temporary, ...env })
    const end = async () => {
      site.child.kill('SIGTERM')
      t.equal(await site.end(), 0)
    }
    return { url: await site.url(), end }
  }
  const [site, open] = [await startOwn({}), await startOwn({ DEBUG_ALLOWED_IPS: '10.9.8.7' })]
  const target = `${site.url}/partnership?of=programs`
  await (await fetch(target)).text()
  const { stop, url, viewer } = await start('shop')
  await (await fetch(`${url}/health`)).text()
  const replay = async (at: string, address: string) => {
    const { summary } = await findProfile(at, address)
    return fetch(`${at}/_profiler/${summary.token}/replay`, {
      method: 'POST',
      redirect: 'manual',
      headers: { origin: at },
    })
  }
  t.match(
    textOf(await (await replay(viewer, target)).text()),
    'The profile is of another application: its own profiler replays it.',
  )
  t.match((await replay(site.url, '/health')).headers.get('location'), /^\/_profiler\/compare/)
  const [newest] = await listProfiles(site.url)
  t.match([newest?.program, newest?.url], ['shop', /health$/], 'the program that has answered it answers its replay')
  t.notMatch(await namesOf(open.url), ['shop /health'], 'clients of others see only what the application has recorded')
  await stop()
  await Promise.all([site.end(), open.end()])
})

t.test(
  'programs with PROFILER_URL are one list in Redis, which is viewed without them',
  { skip: lacksRedis },
  async t => {
    const { host, port } = await startRedis(t)
    const redis = `redis://${host}:${port}`
    const { list, root, start } = createWorkspace(t)
    const env = { PROFILER_URL: redis }
    const stock = await start('stock', env)
    const shop = await start('shop', { ...env, NEXT: stock.url })
    await (await fetch(`${shop.url}/chain?id=1`)).text()
    await (await fetch(`${stock.url}/error`)).text()
    await findProfile(shop.viewer, '/error')
    t.strictSame((await namesOf(shop.viewer)).sort(), ['shop /chain', 'stock /chain', 'stock /error'])
    const { summary } = await findProfile(shop.viewer, '/error')
    const page = (viewer: string, token: string, panel: string) =>
      fetch(`${viewer}/_profiler/${token}?panel=${panel}`).then(response => response.text())
    const [at, own] = [/data-at="\d/, await page(stock.viewer, summary.token, 'console')]
    t.match(own, at)
    t.notMatch(await page(shop.viewer, summary.token, 'console'), at, 'the directory of another program is not known')
    const replayed = await fetch(`${shop.viewer}/_profiler/${summary.token}/replay`, {
      method: 'POST',
      headers: { origin: shop.viewer },
    })
    t.match(textOf(await replayed.text()), 'The profile is of another program or machine')
    await Promise.all([shop.stop(), stock.stop()])
    t.notOk(existsSync(list), 'its files have no profiles that others could show')

    const read = async (viewer: string) => {
      const caller = (await listProfiles(viewer)).find(({ program }) => program === 'shop')
      return textOf(await page(viewer, String(caller?.token), 'http'))
    }
    t.match(await startViewer(t, root, [redis], read), /fetch · in stock/)
    t.match(await startViewer(t, root, [redis, root], read), 'A URL of Redis is viewed alone')
  },
)

t.test(
  'two checkouts of a program in one Redis are two programs, and a place of one is not opened in the other',
  { skip: lacksRedis },
  async t => {
    const { host, port } = await startRedis(t)
    const PROFILER_URL = `redis://${host}:${port}`
    const { root, start } = createWorkspace(t)
    const fixed = path.join(root, 'fix/shop')
    mkdirSync(fixed, { recursive: true })
    writeFileSync(path.join(fixed, 'package.json'), JSON.stringify({ name: 'shop' }))
    const [shop, fix] = [await start('shop', { PROFILER_URL }), await start('../fix/shop', { PROFILER_URL })]
    for (const { url, viewer } of [shop, fix]) {
      await (await fetch(`${url}/error`)).text()
      await findProfile(viewer, `${url}/error`)
    }
    const all = ['shop (fix/shop) /error', 'shop (apps/shop) /error']
    t.strictSame([await namesOf(shop.viewer), await namesOf(fix.viewer)], [all, all])
    const { routes } = (await (await fetch(`${shop.viewer}/_profiler/routes.json`)).json()) as {
      routes: { program: string; count: number }[]
    }
    t.strictSame(routes.map(({ count, program }) => `${program} ${count}`).sort(), [
      'shop (apps/shop) 1',
      'shop (fix/shop) 1',
    ])
    const { summary } = await findProfile(fix.viewer, `${fix.url}/error`)
    const hasPlaces = async (viewer: string) =>
      (await (await fetch(`${viewer}/_profiler/${summary.token}?panel=console`)).text()).includes('data-at="')
    const view = (folder: string) => startViewer(t, folder, [PROFILER_URL], hasPlaces)
    t.strictSame([await hasPlaces(fix.viewer), await hasPlaces(shop.viewer)], [true, false])
    const replay = (viewer: string) =>
      fetch(`${viewer}/_profiler/${summary.token}/replay`, {
        method: 'POST',
        redirect: 'manual',
        headers: { origin: viewer },
      })
    t.match(textOf(await (await replay(shop.viewer)).text()), 'The profile is of another program or machine')
    t.match((await replay(fix.viewer)).headers.get('location'), /^\/_profiler\/compare/)
    await Promise.all([shop, fix].map(({ stop }) => stop()))
    t.strictSame(await Promise.all([fixed, path.join(root, 'apps/shop'), root].map(view)), [true, false, false])
  },
)

t.test('a program takes over the usual port of the pages when the one that has it ends', async t => {
  const other = createServer().listen(8100, '127.0.0.1')
  // Another program of this machine may have the port: then nothing is taken over while the test runs.
  const hasPort = await once(other, 'listening').then(
    () => true,
    () => false,
  )
  const { start } = createWorkspace(t)
  const shop = await start('shop', { PROFILER_PORT: '' })
  if (hasPort) {
    t.notMatch(shop.viewer, ':8100')
    other.close()
    await once(other, 'close')
    await (await fetch(`${shop.url}/health`)).text()
    await until(
      () =>
        fetch('http://127.0.0.1:8100/_profiler/').then(
          ({ ok }) => ok,
          () => false,
        ),
      50,
    )
    t.match(await namesOf('http://127.0.0.1:8100'), ['shop /health'])
  }
  await shop.stop()
})
