import { setImmediate as nextTurn } from 'node:timers/promises'
import { type Test, t } from 'tap'
import { findFindings } from '#bundles/profiler/insight/findings/inspector.ts'
import { formatCaller } from '#bundles/profiler/profile/caller-places.ts'
import { readCalls } from '#bundles/profiler/profile/calls.ts'
import { readLogs } from '#bundles/profiler/profile/logs.ts'
import { readQueries } from '#bundles/profiler/profile/queries.ts'
import { Response } from '#lib/http/response.ts'
import type { Caller } from '#lib/stack/callers.ts'
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
function wordsOf(works: readonly { readonly caller: Caller }[]): string[] {
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
  const { logs } = readLogs(await kernel.profileOf(await kernel.client.get('/logs')))
  t.strictSame(wordsOf(logs.filter(({ level }) => level === 'warning')), ['logs:N via warn:N'])

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
  const { calls } = readCalls(await caller.profileOf(await caller.client.get('/calls')))
  t.strictSame(wordsOf(calls), ['calls:N via load:N'])
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
