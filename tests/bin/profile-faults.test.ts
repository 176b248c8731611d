import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { t } from 'tap'
import { lacksPostgres, startPostgres } from '#tests/support/start-postgres.ts'
import { createDependent, findProfile, type ProfileData, startProfiled } from '#tests/support/start-profiled.ts'
import { lacksRedis, startRedis } from '#tests/support/start-redis.ts'
import { until } from '#tests/support/until.ts'

type Findings = readonly {
  readonly rule: string
  readonly problem: string
  readonly advice: string
  readonly code: { readonly line: number } | null
}[]

/** Pages by their names: the rule that finds their fault, or none, and the code. */
const pages: Readonly<Record<string, readonly [rule: string, code: string]>> = {
  // An HTTP client call in a transaction.
  'tx-call': [
    'transaction-call',
    `await tx(async c => { await c.query('SELECT 1'); await call(); await c.query('SELECT 2') })`,
  ],
  'tx-call-begin': ['transaction-call', `await tx(call)`],
  'tx-calls': ['transaction-call', `await tx(async c => { await call(1); await call(2); await c.query('SELECT 1') })`],
  'tx-call-parallel': ['transaction-call', `await tx(c => Promise.all([call(1), call(2)]))`],
  'tx-call-savepoint': [
    'transaction-call',
    `await tx(async c => { await c.query('SAVEPOINT a'); await call(); await c.query('RELEASE a') })`,
  ],
  'tx-call-rollback': ['transaction-call', `await tx(async c => { await call(); throw 1 }).catch(() => {})`],
  'call-before': ['', `await call(); await tx(c => c.query('SELECT 1'))`],
  'call-after': ['', `await tx(c => c.query('SELECT 1')); await call()`],
  'call-between': ['', `await tx(c => c.query('SELECT 1')); await call(); await tx(c => c.query('SELECT 2'))`],
  'call-beside': ['', `await Promise.all([call(), tx(c => c.query('SELECT pg_sleep(0.03)'))])`],
  'call-beside-later': ['', `await Promise.all([sleep(5).then(call), tx(c => c.query('SELECT pg_sleep(0.06)'))])`],
  'call-without-tx': ['', `await pool.query('SELECT 1'); await call(); await pool.query('SELECT 2')`],
  'call-of-another': [
    '',
    `await Promise.all([fetch(self() + '/call-before').then(r => r.text()), tx(async c => { await c.query('SELECT pg_sleep(0.05)') })])`,
  ],
  // A wait in a transaction.
  'tx-timer': [
    'idle-transaction',
    `const c = await pool.connect(); await c.query('BEGIN'); await c.query('SELECT 1'); await sleep(150); await c.query('COMMIT'); c.release()`,
  ],
  'tx-timer-begin': ['idle-transaction', `await tx(() => sleep(150))`],
  'tx-timers': [
    'idle-transaction',
    `await tx(async c => { for (let i = 0; i < 4; i++) { await sleep(40); await c.query('SELECT $1::int', [i]) } })`,
  ],
  'tx-timer-after': ['', `await tx(c => c.query('SELECT 1')); await sleep(150); await tx(c => c.query('SELECT 2'))`],
  'tx-timer-beside': ['', `await Promise.all([sleep(150), tx(c => c.query('SELECT pg_sleep(0.05)'))])`],
  'tx-long-query': ['', `await tx(c => c.query('SELECT pg_sleep(0.09)'))`],
  'tx-short-timer': ['', `await tx(async c => { await c.query('SELECT 1'); await sleep(15) })`],
  // A connection that is never released.
  'leaked-left': ['starved-pool', `const p = leaked(0); await p.connect(); entered(); await p.connect()`],
  'leaked-timeout': ['starved-pool', `const p = leaked(1000); await p.connect(); await p.connect().catch(() => {})`],
  // Commands of a cache.
  gets: ['repeated-commands', `for (let i = 0; i < 12; i++) await redis.get('item:' + i)`],
  slugs: ['repeated-commands', `for (const a of 'abcdefghijkl') await redis.get('item:' + a)`],
  hgets: ['repeated-commands', `for (let i = 0; i < 12; i++) await redis.hgetall('hash:' + i)`],
  mget: ['', `await redis.mget(...Array.from({ length: 12 }, (_, i) => 'item:' + i))`],
  'parallel-gets': ['', `await Promise.all(Array.from({ length: 12 }, (_, i) => redis.get('item:' + i)))`],
  pipeline: ['', `const p = redis.pipeline(); for (let i = 0; i < 12; i++) p.get('item:' + i); await p.exec()`],
  'same-twice': ['', `await redis.get('item:1'); await redis.get('item:1')`],
  'nine-gets': ['', `for (let i = 0; i < 9; i++) await redis.get('item:' + i)`],
  fill: ['', `for (let i = 0; i < 12; i++) await redis.set('item:' + i, 'x')`],
  'fill-missing': [
    '',
    `for (let i = 0; i < 12; i++) if (await redis.get('new:' + i) === null) await redis.set('new:' + i, 'x')`,
  ],
  'other-keys': [
    '',
    `for (const name of ['menu', 'user:7', 'flags', 'basket:7:count', 'news', 'ads', 'theme', 'lang', 'rates', 'motd', 'quota', 'banner']) await redis.get(name)`,
  ],
  // Savepoints.
  savepoint: [
    '',
    `await tx(async c => { await c.query('SAVEPOINT a'); await c.query('SELECT nothing').catch(() => {}); await c.query('ROLLBACK TO a') })`,
  ],
  'savepoint-to': [
    '',
    `await tx(async c => { await c.query('SAVEPOINT a'); await c.query('SELECT nothing').catch(() => {}); await c.query('ROLLBACK TO SAVEPOINT a'); await c.query('SELECT 1') })`,
  ],
  'swallowed-in-tx': ['failed-query', `await tx(async c => { await c.query('SELECT nothing').catch(() => {}) })`],
  swallowed: ['failed-query', `await pool.query('SELECT nothing').catch(() => {})`],
  'swallowed-beside': ['failed-query', `await pool.query('SELECT nothing').catch(() => console.error('another'))`],
  printed: ['', `await pool.query('SELECT nothing').catch(e => console.error(e))`],
  'printed-warn': ['', `await pool.query('SELECT nothing').catch(e => console.warn('failed', e))`],
  'printed-message': ['', `await pool.query('SELECT $1::int', ['abc']).catch(e => console.error(e.message))`],
  'printed-log': ['', `await pool.query('SELECT nothing').catch(e => console.log(e))`],
  'printed-redis': ['', `await redis.call('NOTHING').catch(e => console.error('%s', e))`],
  'call-swallowed': ['failed-call', `await fetch('http://127.0.0.1:2').catch(() => console.error('another'))`],
  'call-printed': ['', `await fetch('http://127.0.0.1:2').catch(e => console.error(e))`],
  'call-printed-message': ['', `await fetch('http://localhost:2').catch(e => console.error(e.message))`],
  // A second response, and errors after the first one.
  twice: ['second-response', `reply.send('a'); reply.send('b')`],
  'twice-late': ['second-response', `reply.send('a'); await sleep(20); reply.send('b')`],
  'twice-json': ['second-response', `reply.json({ a: 1 }); reply.status(500).json({ error: 1 })`],
  'head-after-end': ['second-response', `reply.end('a'); try { reply.writeHead(200) } catch {}`],
  'head-late': ['second-response', `reply.end('a'); setTimeout(() => { try { reply.writeHead(200) } catch {} }, 20)`],
  'write-after-end': ['second-response', `reply.on('error', () => {}); reply.end('a'); reply.write('b')`],
  'field-after-end': ['second-response', `reply.end('a'); reply.setHeader('x', 'y')`],
  'end-twice': ['', `reply.end('a'); reply.end()`],
  'head-twice': ['', `reply.writeHead(200); reply.end('a')`],
  early: ['', `reply.writeEarlyHints({ link: '</a.css>; rel=preload; as=style' }); reply.send('a')`],
  streamed: ['', `reply.write('a'); await sleep(5); reply.write('b'); reply.end('c')`],
  asked: ['', `reply.send('a'); if (!reply.headersSent) reply.send('b')`],
  'rejection-late': ['late-error', `reply.send('a'); setTimeout(() => Promise.reject(new Error('too late')), 10)`],
  'throw-late': ['late-error', `reply.send('a'); setTimeout(() => { throw new Error('too late') }, 10)`],
  'rejection-caught': ['', `reply.send('a'); setTimeout(() => Promise.reject(new Error('x')).catch(() => {}), 10)`],
  left: ['', `entered(); await once(reply, 'close'); throw new Error('The client has left.')`],
  'error-late': ['late-error', `reply.send('a'); await sleep(20); throw new Error('too late')`],
  'error-caught': ['', `reply.send('a'); await sleep(5).then(() => { throw new Error('x') }).catch(() => {})`],
  // Work after the response.
  'late-query': ['late-work', `setTimeout(() => pool.query('SELECT 1'), 20)`],
  'late-call': ['late-work', `setTimeout(() => call(), 20)`],
  'call-end': ['', `await new Promise(end => get(up(), m => m.resume().on('end', () => reply.send('a') && end())))`],
  'call-end-alone': [
    '',
    `await new Promise(end => get(up(), { agent: false }, m => m.resume().on('end', () => reply.send('a') && end())))`,
  ],
  'call-end-paused': [
    '',
    `await new Promise(end => get(up(), m => setTimeout(() => m.resume().on('end', () => reply.send('a') && end()), 20)))`,
  ],
  'call-unread': ['', `await new Promise(end => get(up(), m => { m.resume(); reply.send('a'); end() }))`],
  'late-nothing': ['', `setTimeout(() => {}, 20)`],
  // Text.
  html: ['plain-page', `return reply.type('text/plain').send('<!DOCTYPE html>\\n<html><body>a page</body></html>\\n')`],
  'html-lower': ['plain-page', `return reply.type('text').send('<html lang=en><body>a page</body></html>')`],
  'html-right': ['', `return reply.send('<!doctype html><html><body>a page</body></html>')`],
  'html-example': ['', `return reply.type('text').send('Use <b>bold</b> and <html> tags: <html></html>, as here.')`],
  'html-part': ['', `return reply.type('text').send('<p>An example of a paragraph</p>')`],
  'page.txt': ['', `return reply.type('text').send('<!doctype html><html><body>a source</body></html>')`],
  saved: ['', `return reply.attachment('a').type('text').send('<!doctype html><html><body>a source</body></html>')`],
  // The console.
  flood: ['many-console-calls', `for (let i = 0; i < 101; i++) console.log('row', i)`],
  'flood-500': ['many-console-calls', `for (let i = 0; i < 500; i++) console.info('row', i)`],
  few: ['', `for (let i = 0; i < 100; i++) console.log('row', i)`],
  'one-table': ['', `console.table(Array.from({ length: 200 }, (_, i) => ({ i })))`],
}

const names = Object.keys(pages)

/** A call in the line of its page: a helper would be the place. */
const inline = (code: string) => code.replace(/\bcall\(\d?\)/g, 'fetch(up()).then(r => r.text())')

t.test(
  'each fault is found by its rule, at its line, and no page beside it',
  { skip: lacksPostgres || lacksRedis },
  async t => {
    const [postgres, redis] = await Promise.all([startPostgres(t), startRedis(t)])
    const program = `
import express from 'express'
import pg from 'pg'
import { Redis } from 'ioredis'
import { setTimeout as sleep } from 'node:timers/promises'
import { createServer, get } from 'node:http'
import { once } from 'node:events'
const pool = new pg.Pool(${JSON.stringify(postgres)})
const leaked = time => new pg.Pool({ ...${JSON.stringify(postgres)}, max: 1, connectionTimeoutMillis: time })
const entered = () => process.stdout.write('entered\\n')
const redis = new Redis(${JSON.stringify({ host: redis.host, port: redis.port })})
// Longer than a busy machine pauses this process: what a call took in such a pause is not its own time.
const upstream = createServer((request, response) => setTimeout(() => response.end('ok'), 80)).listen(0, '127.0.0.1')
const self = () => 'http://127.0.0.1:' + server.address().port
const up = () => 'http://127.0.0.1:' + upstream.address().port
const call = (at = 0) => fetch('http://127.0.0.1:' + upstream.address().port + '/' + at).then(r => r.text())
async function tx(work) {
  const client = await pool.connect()
  try {
    await client.query('BEGIN')
    await work(client)
    await client.query('COMMIT')
  } catch (error) {
    await client.query('ROLLBACK')
    throw error
  } finally {
    client.release()
  }
}
process.on('unhandledRejection', () => {}).on('uncaughtException', () => {})
const app = express()
for (const [path, page] of Object.entries({
${names.map(name => `  ${JSON.stringify(name)}: async reply => { ${inline(pages[name]?.[1] ?? '')} },`).join('\n')}
})) app.get('/' + path, async (request, response) => { await page(response); if (!response.headersSent) response.send('done') })
const server = app.listen(0, '127.0.0.1', async () => {
  await Promise.all([pool.query('SELECT 1'), call()])
  process.stdout.write(JSON.stringify([server.address().port]) + '\\n')
})
process.stdin.on('end', () => process.exit()).resume()
`
    const { output, stop, url, viewer } = await startProfiled(t, program, {}, createDependent(t, 'express'))
    await until(() => output.stdout.includes('\n'))
    const lines = program.split('\n')
    // Rules about time depend on the machine.
    const ofMachine = new Set([
      'blocked-loop',
      'slow-query',
      'slow-listener',
      'sequential-calls',
      'starved-pool',
      'synchronous-call',
    ])
    const wrong: string[] = []
    for (const name of names) {
      const [rule = ''] = pages[name] ?? []
      // A client that leaves is no fault of the server, and neither is what fails because of it.
      if (name.endsWith('left')) {
        const [client, before] = [new AbortController(), output.stdout.length]
        const left = fetch(`${url}/${name}`, { signal: client.signal }).catch(() => undefined)
        await until(() => output.stdout.length > before)
        // As long as the limit of the rule, and some time of a busy machine.
        if (rule === 'starved-pool') await sleep(500)
        client.abort()
        await left
      } else await (await fetch(`${url}/${name}`)).text()
      const read = async () =>
        (await findProfile(viewer, `/${name}`, name.endsWith('left') ? 'aborted' : 'complete')) as ProfileData & {
          readonly findings: Findings
        }
      let { findings } = await read()
      // Late work amends the profile.
      if (rule.startsWith('late') || rule === 'second-response')
        await until(async () => {
          findings = (await read()).findings
          return findings.some(each => each.rule === rule)
        })
      const found = findings.filter(each => each.rule === rule || !ofMachine.has(each.rule))
      const line = lines.findIndex(text => text.startsWith(`  ${JSON.stringify(name)}: async`)) + 1
      // What two functions have called may be named by either.
      const isPlaced =
        rule === 'plain-page' || found[0]?.code?.line === line || ['tx-call-begin', 'tx-calls'].includes(name)
      t.notMatch(found.map(({ advice }) => advice).join(' '), 'kernel.', `${name}: the words of Express`)
      const isRight = rule === '' ? found.length === 0 : found.length === 1 && found[0]?.rule === rule && isPlaced
      if (!isRight)
        wrong.push(
          `${name}: ${found.map(each => `${each.rule} at ${each.code?.line}, not ${line}: ${each.problem} ${each.advice}`).join(' ') || `nothing instead of ${rule}`}`,
        )
      t.comment(found.map(each => `${name}: ${each.rule}: ${each.problem} ${each.advice}`).join(' '))
    }
    t.strictSame(wrong, [])
    await stop()
  },
)

/** The same small site: each redirect leads to the next one, and the page refers to files. */
const sites: Readonly<Record<string, string>> = {
  express: `
    import express from 'express'
    const app = express()
    app.get('/step/:left', (request, response) => response.redirect(target(request.params.left)))
    app.post('/form', (request, response) => response.redirect(303, '/page'))
    app.get('/page', (request, response) => response.send(page))
    const server = app.listen(0, '127.0.0.1', ready)`,
  fastify: `
    import Fastify from 'fastify'
    const app = Fastify()
    app.get('/step/:left', (request, reply) => reply.redirect(target(request.params.left)))
    app.post('/form', (request, reply) => reply.redirect('/page', 303))
    app.get('/page', (request, reply) => reply.type('text/html').send(page))
    const server = app.server
    app.listen({ port: 0, host: '127.0.0.1' }).then(ready)`,
  koa: `
    import Koa from 'koa'
    const app = new Koa()
    app.use(context => {
      const [, left] = /^\\/step\\/(\\d)$/.exec(context.path) ?? []
      if (left !== undefined) context.redirect(target(left))
      else if (context.path === '/form') context.redirect('/page')
      else if (context.path === '/page') context.body = page
    })
    const server = app.listen(0, '127.0.0.1', ready)`,
}

for (const [name, source] of Object.entries(sites)) {
  t.test(`${name}: chains of redirects and missing files are found`, async t => {
    const [imported = ''] = /import .*/.exec(source) ?? []
    const program = `${imported}
      const page = '<body><link rel=stylesheet href=/gone.css></body>'
      const target = left => (left === '0' ? '/page' : '/step/' + (left - 1))
      const ready = () => process.stdout.write(JSON.stringify([server.address().port]) + '\\n')
      process.stdin.on('end', () => process.exit()).resume()
      ${source.replace(imported, '')}`
    const packages = JSON.stringify({ dependencies: { [name]: '*' } })
    const { stop, url, viewer } = await startProfiled(
      t,
      program,
      {},
      t.testdir({ node_modules: {}, 'package.json': packages }),
    )
    const visit = async (path: string, init: RequestInit = {}) => {
      const response = await fetch(url + path, init)
      await response.text()
      return String(response.headers.get('x-debug-token'))
    }
    const findingsOf = async (token: string) => {
      const read = await (await fetch(`${viewer}/_profiler/${token}.json`)).json()
      return (read as { readonly findings: Findings }).findings.map(({ problem, rule }) => `${rule}: ${problem}`)
    }
    t.strictSame(await findingsOf(await visit('/page')), [])
    t.strictSame(await findingsOf(await visit('/step/0')), [], 'one redirect')
    t.strictSame(await findingsOf(await visit('/form', { method: 'POST' })), [], 'the redirect after a form')
    t.strictSame(await findingsOf(await visit('/step/1')), [
      'redirect-chain: The client sent 3 requests until it had this page: /step/1 → /step/0 → /page.',
    ])
    t.strictSame(await findingsOf(await visit('/page')), [], 'the next visit has no redirects')
    // A script may look for a file on purpose, and browsers ask for icons by themselves.
    const referer = `${url}/page`
    const token = await visit('/page')
    await visit('/looked-for.json', { headers: { referer, 'sec-fetch-dest': 'empty' } })
    await visit('/favicon.ico', { headers: { referer } })
    await visit('/gone.css', { headers: { referer } })
    await until(async () => (await findingsOf(token)).length > 0)
    t.strictSame(await findingsOf(token), ['missing-asset: The page refers to 1 file that does not exist: /gone.css.'])
    await stop()
  })
}

t.test('a rejection ends the process as it does without the profiler, unless the application listens', async t => {
  const program = `
import { createServer } from 'node:http'
const listen = () => {}
const pages = {
  '/add': () => process.on('unhandledRejection', listen),
  '/once': () => process.once('unhandledRejection', listen),
  '/remove': () => process.off('unhandledRejection', listen),
  '/clear': () => process.removeAllListeners('unhandledRejection'),
  '/reject': () => void Promise.reject(new TypeError('not awaited')),
}
const server = createServer((request, response) => {
  pages[request.url]?.()
  setImmediate(() => response.end(String(process.listenerCount('unhandledRejection') > 0)))
}).listen(0, '127.0.0.1', () => process.stdout.write(JSON.stringify([server.address().port]) + '\\n'))
process.stdin.on('end', () => process.exit()).resume()
`
  const { child, url, viewer } = await startProfiled(t, program)
  const visit = async (path: string) => (await fetch(url + path)).text()
  t.equal(await visit('/'), 'false')
  t.equal(await visit('/add'), 'true')
  t.equal(await visit('/reject'), 'true')
  t.match((await findProfile(viewer, '/reject')).summary, { exception: 'TypeError' })
  t.equal(await visit('/remove'), 'false')
  t.equal(await visit('/add'), 'true')
  t.equal(await visit('/clear'), 'false')
  t.equal(await visit('/once'), 'true')
  t.equal(await visit('/reject'), 'false', 'a listener for one rejection')
  const exited = once(child, 'exit')
  await visit('/reject').catch(() => undefined)
  t.strictSame(await exited, [1, null])
})
