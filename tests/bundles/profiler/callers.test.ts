import http from 'node:http'
import { createRequire } from 'node:module'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { ResponseEvent } from 'sinfonietta'
import { type Test, t } from 'tap'
import { findFindings } from '#bundles/profiler/insight/findings/inspector.ts'
import { formatCaller } from '#bundles/profiler/profile/callers.ts'
import { readQueries } from '#bundles/profiler/subjects/queries/read.ts'
import { Response } from '#lib/http/response.ts'
import { createProfile, createQuery } from '#tests/support/create-profile.ts'
import { textOf } from '#tests/support/html.ts'
import { createProfiledKernel, type ProfiledKernel } from '#tests/support/profiled-kernel.ts'
import { serveKernel } from '#tests/support/test-server.ts'

const off = { headers: { 'x-profiler': 'off' } }
const ids = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]
const select = 'SELECT name FROM items WHERE id = $1'

/** An application whose pages make queries in different ways; the database answers in the next turn. */
async function createShop(t: Test): Promise<ProfiledKernel> {
  const kernel: ProfiledKernel = await createProfiledKernel(t, {
    handlers: {
      '/helper': async function list() {
        await q('SELECT id FROM items')
        for (const id of ids) await q(select, id)
        return Response.html('<body>list</body>')
      },
      '/once': async function once() {
        for (const id of ids) await q(select, id)
        return new Response('once')
      },
      '/layers': async function layers() {
        for (const id of ids) await findName(id)
        return new Response('layers')
      },
      '/inside': async function inside() {
        await loadAll()
        return new Response('inside')
      },
      '/parallel': async () => {
        await loadAllAtOnce()
        return new Response('parallel')
      },
      '/synchronous': () => {
        loadAllInProcess()
        return new Response('synchronous')
      },
      '/logs': function logs() {
        warn('first')
        warn('second')
        return new Response('logs')
      },
    },
  })
  const answer = async () => {
    await nextTurn()
    return []
  }
  function q(text: string, ...values: unknown[]) {
    return kernel.app.queries.measure('postgresql', text, values, answer)
  }
  async function findName(id: number) {
    const [name] = await q(select, id)
    return name
  }
  async function loadAll() {
    for (const id of ids) await kernel.app.queries.measure('postgresql', select, [id], answer)
  }
  function loadAllAtOnce() {
    const all: unknown[] = []
    for (const id of ids) all.push(kernel.app.queries.measure('postgresql', select, [id], answer))
    return Promise.all(all)
  }
  function loadAllInProcess() {
    for (const id of ids) kernel.app.queries.measure('sqlite', select, [id], () => [])
  }
  function warn(message: string) {
    kernel.app.logger.warning(message)
  }
  return kernel
}

/** The words for callers, each once, with `N` for each line. */
function wordsOf(works: readonly { readonly caller: Parameters<typeof formatCaller>[0] }[]): string[] {
  const words = works.map(({ caller }) => formatCaller(caller).replaceAll(/:\d+/g, ':N'))
  return [...new Set(words)].map(each => each.replace(/\S*callers\.test\.[jt]s/, 'FILE'))
}

t.test('the place of a query is the line that called the helper', async t => {
  const { client, profileOf } = await createShop(t)
  const expected = {
    '/helper': ['list:N via q:N'],
    '/once': ['once:N via q:N'],
    '/layers': ['layers:N via findName:N, q:N'],
    // The functions that loop are no helpers.
    '/inside': ['FILE:N'],
    '/parallel': ['FILE:N'],
    '/synchronous': ['FILE:N'],
  }
  const found = new Map<string, readonly string[]>()
  const names = new Map<string, unknown>()
  for (const path of Object.keys(expected)) {
    const { queries } = readQueries(await profileOf(await client.get(path)))
    found.set(path, wordsOf(queries))
    names.set(path, queries[0]?.caller.function)
  }
  t.strictSame(Object.fromEntries(found), expected)
  t.strictSame(
    ['/inside', '/parallel', '/synchronous'].map(path => names.get(path)),
    ['loadAll', 'loadAllAtOnce', 'loadAllInProcess'],
  )
})

t.test('pages, reports and findings name the same place', async t => {
  const { client, profileOf } = await createShop(t)
  const answer = await client.get('/helper')
  const profile = await profileOf(answer)
  const { queries } = readQueries(profile)
  const { column: _, file, line } = queries[1]?.caller ?? {}
  const words = formatCaller(queries[1]?.caller ?? {})
  t.match(words, /^list:\d+ via q:\d+$/)
  const [finding] = findFindings(profile).filter(({ rule }) => rule === 'repeated-queries')
  t.strictSame(finding?.code, { file, line }, 'the line of the loop is opened')

  const { token } = profile.summary
  const open = async (path: string) => textOf((await client.get(path, off)).text)
  const texts = {
    panel: await open(`/_profiler/${token}?panel=database`),
    findings: await open(`/_profiler/${token}?panel=findings`),
    toolbar: await open(`/_wdt/${token}`),
    markdown: (await client.get(`/_profiler/${token}.md`, off)).text,
  }
  const without = Object.entries(texts).filter(([, text]) => !text.includes(words))
  t.strictSame(
    without.map(([name]) => name),
    [],
  )
  const other = await profileOf(await client.get('/once'))
  const comparison = await open(`/_profiler/compare?a=${token}&b=${other.summary.token}`)
  t.match(comparison, `SELECT id FROM items only in A postgresql ${formatCaller(queries[0]?.caller ?? {})}`)
  const { data } = JSON.parse((await client.get(`/_profiler/${token}.json`, off)).text)
  t.match(data.queries.queries[1].caller, { function: 'q', callers: [{ function: /list/, line }] })
})

t.test('the place of a log message or an HTTP client call is the line that called the helper', async t => {
  const kernel = await createShop(t)
  const logs = textOf(await kernel.show('logger', await kernel.profileOf(await kernel.client.get('/logs'))))
  t.equal(logs.match(/logs:\d+ via warn:\d+/g)?.length, 2)

  const { url } = await serveKernel(t, kernel)
  const caller = await createProfiledKernel(t, {
    handlers: {
      '/calls': async function calls() {
        for (const id of ids.slice(0, 3)) await load(`/logs?${id}`)
        return new Response('calls')
      },
    },
  })
  function load(path: string) {
    return fetch(url + path, off)
  }
  const calls = textOf(await caller.show('http', await caller.profileOf(await caller.client.get('/calls'))))
  t.equal(calls.match(/calls:\d+ via load:\d+/g)?.length, 3)
})

t.test('a place is stored once in a profile, and callers of earlier versions are read', async t => {
  const { client, profileOf, storage } = await createShop(t)
  const append = t.capture(storage, 'append', storage.append)
  await profileOf(await client.get('/helper'))
  const [{ text } = { text: '' }] = append().map(({ args: [stored] }) => stored)
  const { places, statements } = JSON.parse(text).data.queries
  t.strictSame(
    statements.map((statement: { caller: unknown }) => statement.caller),
    [
      [0, 1],
      [0, 2],
    ],
  )
  t.match(places, [{ function: 'q' }, { function: /list/ }, { function: /list/ }])
  const caller = { function: 'q', file: 'shop.ts', line: 7, column: 3 }
  const earlier = createProfile({ queries: { queries: [createQuery({ caller })], omitted: 0 } })
  t.match(readQueries(earlier).queries, [{ caller }])
})

t.test('a query or call without a frame of the application is in its controller or listener', async t => {
  const { url } = await serveKernel(t, await createShop(t))
  // As a library with a queue of its own, in a package of npm.
  const directory = t.testdir({ node_modules: { queue: { 'index.cjs': queueSource } } })
  const { Queue } = createRequire(import.meta.url)(`${directory}/node_modules/queue/index.cjs`)
  const queue = new Queue()
  const kernel: ProfiledKernel = await createProfiledKernel(t, {
    handlers: {
      '/later': async function later() {
        await Promise.all(ids.slice(0, 3).map(id => queue.query(kernel.app.queries, id)))
        await queue.get(url, http)
        return new Response('later')
      },
      '/listened': () => new Response('listened'),
    },
    register({ dispatcher }) {
      dispatcher.on(ResponseEvent, function count({ request }) {
        if (request.path === '/listened') return queue.query(kernel.app.queries, 1)
        return undefined
      })
    },
  })
  const later = await kernel.profileOf(await kernel.client.get('/later'))
  const listened = await kernel.profileOf(await kernel.client.get('/listened'))
  const { queries } = readQueries(later)
  t.equal(queries.length, 3)
  t.strictSame(wordsOf(queries), ['in later:N'])
  t.match(textOf(await kernel.show('http', later)), /in later:\d+/)
  t.strictSame(wordsOf(readQueries(listened).queries), ['in count:N'])
  const panel = await kernel.client.get(`/_profiler/${later.summary.token}?panel=database`, off)
  t.match(textOf(panel.text), /in later:\d+/)
})

/** A queue that works in timers: nothing of its caller is on the stack. */
const queueSource = `
const waiting = []
setImmediate(function work() {
  for (const run of waiting.splice(0)) run()
  setImmediate(work).unref()
}).unref()
const enqueue = run => new Promise((resolve, reject) => {
  const bound = require('node:async_hooks').AsyncResource.bind(() => run(resolve, reject))
  waiting.push(bound)
  setTimeout(() => {}, 20)
})
exports.Queue = class {
  query(queries, id) {
    return enqueue(resolve => resolve(queries.measure('postgresql', 'SELECT $1', [id], () => [])))
  }
  get(url, http) {
    return enqueue((resolve, reject) => http.get(url, response => response.resume().on('end', resolve)).on('error', reject))
  }
}
`

t.test('what a controller throws or returns in error is at the controller, also of a helper', async t => {
  const kernel = await createProfiledKernel(t, {
    register({ routes }) {
      const page = (name: string, show: () => unknown) => routes.get(name, `/${name}`, () => show() as Response)
      page('thrown', () => {
        throw 'a text'
      })
      page('returned', () => ({ not: 'a response' }))
      page('failed', () => {
        throw new TypeError('failed')
      })
    },
  })
  const files = new Map<string, string>()
  const logged = new Map<string, string>()
  for (const name of ['thrown', 'returned', 'failed']) {
    const answer = await kernel.client.get(`/${name}`, { headers: { accept: 'text/html' } })
    t.equal(answer.status, 500)
    files.set(name, decodeURIComponent(String(answer.headers.get('x-debug-exception-file'))))
    const profile = await kernel.profileOf(answer)
    t.match(profile.collectors.exception?.exceptions[0]?.frames[0], { file: /callers\.test\.[jt]s$/ })
    const message = profile.collectors.logger?.records.find(({ level }) => level === 'critical')
    logged.set(name, String(message?.message))
  }
  const lines = ['thrown', 'returned', 'failed'].map(name => {
    const [, line] = /callers\.test\.[jt]s:(\d+)$/.exec(String(files.get(name))) ?? []
    t.match(logged.get(name), ` line ${line}`)
    return Number(line)
  })
  const [thrown = 0, returned, failed] = lines
  t.strictSame([returned, failed], [thrown + 3, thrown + 5], 'the lines of the pages, and of the error')
})
