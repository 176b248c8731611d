import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'
import type { Application, Bundle } from '#kernel/bundle.ts'
import { ControllerEvent, TerminateEvent } from '#kernel/events.ts'
import { setCookie } from '#lib/http/cookies.ts'
import { Response } from '#lib/http/response.ts'
import type { RequestHandler } from '#lib/routing/route-collection.ts'

/** Starts a server for HTTP client calls: `/wait/<milliseconds>/…` answers after a delay, `/fail` with 503. */
export async function startUpstream(t: Test): Promise<string> {
  const server = createServer(async ({ url = '' }, response) => {
    await sleep(Number(/^\/wait\/(\d+)/.exec(url)?.[1] ?? 0))
    response.statusCode = url === '/fail' ? 503 : 200
    response.end(url)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** The templates of the bundle, by file. */
export const flawedTemplates: Readonly<Record<string, string>> = {
  'templates/flawed/list.hbs': '<body><ul>{{#each items}}{{> flawed/item}}{{/each}}</ul></body>',
  'templates/flawed/item.hbs': '<li>{{toil this}}</li>',
  'templates/flawed/stock.hbs': '<body>{{stock}}</body>',
  'templates/flawed/count.hbs': '<body>{{count}}</body>',
}

/** Uses CPU time: on a busy machine it takes longer than the given milliseconds. */
export function toil(milliseconds: number): void {
  const begin = process.cpuUsage()
  const spent = () => {
    const { system, user } = process.cpuUsage(begin)
    return (system + user) / 1000
  }
  while (spent() < milliseconds);
}

/** A route with exactly one flaw, and a similar route without it. */
export interface FlawedPair {
  readonly rule: string
  readonly flawed: string
  readonly twin: string
}

/** For each rule, routes with a finding and their twins without one. */
export const flawedPairs: readonly FlawedPair[] = [
  pair('repeated-calls', 'same-calls'),
  pair('repeated-calls', 'alike-calls'),
  pair('sequential-calls', 'sequence'),
  pair('repeated-queries', 'items'),
  pair('duplicate-queries', 'same-queries'),
  pair('sequential-queries', 'query-sequence'),
  pair('slow-query', 'slow-query'),
  pair('many-rows', 'rows'),
  pair('many-queries', 'many-queries'),
  pair('template-queries', 'stock'),
  pair('repeated-template', 'list'),
  pair('slow-listener', 'listener'),
  pair('blocked-loop', 'block'),
  pair('late-work', 'late-call'),
  pair('late-work', 'late-query'),
  pair('late-work', 'late-log'),
  pair('late-work', 'late-render'),
  pair('needless-session', 'session'),
  pair('uncacheable-response', 'no-store'),
  pair('uncacheable-response', 'shared-cookie'),
  pair('uncacheable-response', 'vary'),
  pair('uncompressed-response', 'long'),
  pair('insecure-cookie', 'cookie'),
  pair('insecure-cookie', 'foreign-cookie'),
]

function pair(rule: string, name: string): FlawedPair {
  return { rule, flawed: `/flawed/${name}`, twin: `/twin/${name}` }
}

/** Creates a bundle with all routes. It needs the templates and the upstream server. */
export function createFlawedBundle(upstream: string): Bundle {
  return {
    name: 'flawed',
    register(app) {
      const { dispatcher, logger, queries, routes, view } = app
      view.addHelper('toil', ({ positional: [time] }) => {
        toil(Number(time))
        return 'an item'
      })
      view.addHelper('stock', () => String(queries.measure('sqlite', 'SELECT count(*) FROM stock', [], () => [7])))
      const handlers = { ...createHandlers(app, upstream), ...createQueryHandlers(app) }
      for (const [path, controller] of Object.entries(handlers)) routes.add({ name: path, path, controller })
      dispatcher.on(ControllerEvent, ({ request }) => slowDown(request.path === '/flawed/listener'), 0, 'SlowListener')
      // Work in a listener of kernel.terminate is not late.
      dispatcher.on(TerminateEvent, async ({ request }) => {
        if (request.path === '/twin/listener') await sleep(150)
        if (request.path === '/twin/late-query')
          await queries.measure('sqlite', 'DELETE FROM stock', [], () => sleep(5))
        if (request.path === '/twin/late-log') logger.info('Logged in time.')
        if (request.path === '/twin/late-render') await view.render('flawed/list', { items: [0] }, request)
        if (request.path === '/twin/late-call') await ask(`${upstream}/after`)
      })
    },
  }
}

const page = (): Response => Response.html('<body>a page</body>')
const slowDown = (isSlow: boolean): Promise<void> | undefined => (isSlow ? sleep(150) : undefined)
const ask = async (url: string): Promise<string> => (await fetch(url)).text()

function createHandlers({ logger, view }: Application, upstream: string): Record<string, RequestHandler> {
  const list = async (length: number, time: number) => {
    const items = Array.from({ length }, () => time)
    return Response.html(await view.render('flawed/list', { items }))
  }
  const askAll = async (...paths: string[]) => {
    for (const path of paths) await ask(upstream + path)
    return page()
  }
  const askTogether = async (...paths: string[]) => {
    await Promise.all(paths.map(path => ask(upstream + path)))
    return page()
  }
  const later = (work: () => unknown) => {
    void sleep(30).then(work)
    return page()
  }
  return {
    '/flawed/same-calls': () => askAll('/a', '/a', '/a'),
    // The rule ignores two equal calls, retries after a failure, and writing calls.
    '/twin/same-calls': async () => {
      for (const method of ['POST', 'POST', 'POST']) await (await fetch(`${upstream}/a`, { method })).text()
      return askTogether('/a', '/a', '/fail', '/fail', '/fail')
    },
    '/flawed/alike-calls': () => askAll('/item/1', '/item/2', '/item/3', '/item/4', '/item/5'),
    '/twin/alike-calls': () => askTogether('/item/1', '/item/2', '/item/3', '/item/4', '/one', '/two'),
    '/flawed/sequence': () => askAll('/wait/70/user', '/wait/70/basket'),
    '/twin/sequence': () => askTogether('/wait/70/user', '/wait/70/basket'),
    '/flawed/list': () => list(60, 0.6),
    '/twin/list': () => list(40, 0.6),
    '/flawed/listener': page,
    '/twin/listener': page,
    '/flawed/block': () => {
      toil(350)
      return page()
    },
    '/twin/block': async () => {
      await sleep(350)
      return page()
    },
    '/flawed/late-call': () => later(() => ask(`${upstream}/wait/20/late`)),
    '/twin/late-call': page,
    '/flawed/late-log': () => later(() => logger.info('Logged too late.')),
    '/twin/late-log': page,
    '/flawed/late-render': () => later(() => list(3, 0)),
    '/twin/late-render': page,
    '/flawed/session': async ({ session }) => Response.html(String(await session.get('theme'))),
    '/twin/session': async ({ session }) => {
      await session.set('theme', (await session.get('theme')) ?? 'light')
      return page()
    },
    '/flawed/no-store': () => withHeader('cache-control', 'no-store'),
    '/twin/no-store': async ({ session }) => {
      await session.set('seen', true)
      return withHeader('cache-control', 'no-store')
    },
    '/flawed/shared-cookie': () => withCookie('theme', {}, 'public, max-age=60'),
    '/twin/shared-cookie': () => withCookie('theme', {}, 'private, max-age=60'),
    '/flawed/vary': () => withHeader('vary', '*', 'public, max-age=60'),
    '/twin/vary': () => withHeader('vary', 'accept-language', 'public, max-age=60'),
    '/flawed/long': () => long({ 'content-length': '40000' }),
    '/twin/long': () => long({}),
    '/flawed/cookie': () => withCookie('access_token', { httpOnly: false }),
    '/twin/cookie': () => withCookie('theme', { httpOnly: false }),
    '/flawed/foreign-cookie': () => withCookie('theme', { sameSite: 'none' }),
    '/twin/foreign-cookie': () => withCookie('theme', { sameSite: 'none', secure: true }),
  }
}

/** A table with a query by each column. */
function createQueryHandlers({ queries, view }: Application): Record<string, RequestHandler> {
  const run = (column: string, value: unknown, result: unknown = []) =>
    queries.measure('sqlite', `SELECT * FROM stock WHERE ${column} = ?`, [value], () => result)
  const runAll = async (count: number, query: (index: number) => unknown) => {
    for (let index = 0; index < count; index++) await query(index)
    return page()
  }
  const letters = (index: number) => `column_${'abcdefghijklmnopqrstuvwxyz'[index % 26]}${'x'.repeat(index / 26)}`
  return {
    '/flawed/items': () => runAll(10, index => run('id', index)),
    '/twin/items': () => runAll(9, index => run('id', index)),
    '/flawed/same-queries': () => runAll(3, () => run('id', 1)),
    // A repeated write is intended, and a retry after a failure is right.
    '/twin/same-queries': async () => {
      const write = () => queries.measure('sqlite', 'INSERT INTO hits VALUES (?)', [1], () => undefined)
      const fail = () => queries.measure('sqlite', 'SELECT busy', [], () => Promise.reject(new Error('busy')))
      await runAll(3, () => fail().catch(() => undefined))
      await runAll(3, write)
      return runAll(2, () => run('id', 1))
    },
    '/flawed/query-sequence': () => runAll(3, index => run(letters(index), 'open', sleep(60))),
    '/twin/query-sequence': async () => {
      await Promise.all([0, 1, 2].map(index => run(letters(index), 'open', sleep(60))))
      return page()
    },
    '/flawed/slow-query': () => runAll(1, () => run('state', 'open', sleep(120))),
    '/twin/slow-query': () => runAll(1, () => run('state', 'open', sleep(50))),
    '/flawed/rows': () => runAll(1, () => run('state', 'open', Array.from({ length: 1000 }))),
    '/twin/rows': () => runAll(1, () => run('state', 'open', Array.from({ length: 999 }))),
    '/flawed/many-queries': () => runAll(50, index => run(letters(index), 1)),
    '/twin/many-queries': () => runAll(49, index => run(letters(index), 1)),
    '/flawed/stock': async () => Response.html(await view.render('flawed/stock', {})),
    '/twin/stock': async () => {
      const count = String(queries.measure('sqlite', 'SELECT count(*) FROM stock', [], () => [7]))
      return Response.html(await view.render('flawed/count', { count }))
    },
    '/flawed/late-query': () => {
      void sleep(30).then(() => run('id', 1))
      return page()
    },
    '/twin/late-query': page,
  }
}

function withHeader(name: string, value: string, control?: string): Response {
  const response = page()
  response.headers.set(name, value)
  if (control !== undefined) response.headers.set('cache-control', control)
  return response
}

function withCookie(name: string, options: Parameters<typeof setCookie>[3], control = 'no-cache, private'): Response {
  const response = withHeader('cache-control', control)
  setCookie(response.headers, name, 'value', options)
  return response
}

/** A stream with a declared length is not compressed. */
function long(headers: Readonly<Record<string, string>>): Response {
  const type = { 'content-type': 'text/plain; charset=UTF-8' }
  return Response.stream(Readable.from(['text '.repeat(8000)]), { headers: { ...type, ...headers } })
}
