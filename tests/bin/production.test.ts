import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { t } from 'tap'
import { until } from '#tests/support/until.ts'
import { startSite } from './site-process.ts'

t.test('in production there is no trace of the profiler', async t => {
  const coverage = t.testdir()
  const variables = {
    APP_ENV: 'prod',
    APP_SECRET: 'of one’s own, and long enough for production',
    NODE_V8_COVERAGE: coverage,
  }
  const site = startSite(t, ['--port=0'], variables)
  const url = await site.url()

  const unknown = await ask(`${url}/no/such/page`)
  for (const target of [
    '/_profiler',
    '/_profiler/',
    '/_profiler/latest',
    '/_profiler/abcdef?panel=request',
    '/_wdt/abcdef',
  ]) {
    t.strictSame(await ask(url + target), unknown, target)
  }
  t.strictSame(await ask(`${url}/_profiler/purge`, 'POST'), await ask(`${url}/no/such/page`, 'POST'))
  const page = await ask(`${url}/partnership`)
  t.notOk(page.headers.some(([name]) => name.startsWith('x-debug')))

  site.child.kill()
  t.equal(await site.end(), 0)
  const loaded = loadedFiles(coverage)
  t.ok(
    loaded.some(file => file.endsWith('/bundles/site/site-bundle.js')),
    'the coverage lists the loaded files',
  )
  // Node 26 has a module of its own with such a name.
  t.strictSame(
    loaded.filter(file => file.includes('profiler') && !file.startsWith('node:')),
    [],
  )
  // Each module takes a part of a millisecond of the start: what few applications need is loaded when it is needed.
  const modules = new Set(loaded.filter(file => !file.startsWith('node:')))
  t.ok(modules.size <= 179, `${modules.size} modules are loaded`)
})

t.test('a slow reader gets all log lines, also after the server has closed', async t => {
  const secret = 'of one’s own, and long enough for production'
  const site = startSite(t, ['--port=0'], { APP_ENV: 'prod', APP_SECRET: secret, LOG_LEVEL: 'debug' })
  const url = await site.url()
  const { stdout } = site.child
  stdout.pause()
  const missing = `${url}/${'x'.repeat(3_000)}`
  for (let request = 0; request < 100; request++) await (await fetch(missing)).text()
  site.child.kill()
  await until(async () => (await fetch(url).catch(() => undefined)) === undefined)
  stdout.resume()
  t.equal(await site.end(), 0)
  t.equal(site.stdout.match(/^\{.*Uncaught KERNEL_NO_ROUTE.*x{1000}.*\}$/gm)?.length, 100)
})

/** The parts of a response that must be equal. A production page contains no path. */
async function ask(url: string, method = 'GET') {
  const response = await fetch(url, { method, redirect: 'manual' })
  const headers = [...response.headers].filter(([name]) => name !== 'date' && name !== 'x-request-id')
  return { status: response.status, headers, text: await response.text() }
}

/** The files that Node has loaded, from its coverage. */
function loadedFiles(directory: string): string[] {
  return readdirSync(directory).flatMap(file => {
    const report: { result: { url: string }[] } = JSON.parse(readFileSync(path.join(directory, file), 'utf8'))
    return report.result.map(({ url }) => url)
  })
}
