import { once } from 'node:events'
import { createServer } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import type { Application, Request } from 'sinfonietta'
import { t } from 'tap'
import { Inspector } from '#bundles/profiler/insight/findings/inspector.ts'
import { showProfile } from '#bundles/profiler/insight/relatives.ts'
import { listClaims } from '#bundles/profiler/insight/since-edit.ts'
import { defineController } from '#kernel/controller.ts'
import { Response } from '#lib/http/response.ts'
import { createProfiledKernel, waitForProfile } from '#tests/support/profiled-kernel.ts'

type Page = (app: Application, replay: number, request: Request) => unknown

const item = 'SELECT * FROM prices WHERE id = ?'

/** Runs queries one after another. Those of a number are for as many items. */
const query = async ({ queries }: Application, text: string, count = 1, time = 0, system = 'postgresql') => {
  for (let id = 0; id < count; id++) await queries.measure(system, text, [id], () => delay(time).then(() => []))
}
const queries =
  (...all: readonly (readonly [text: string, count?: number, time?: number, system?: string])[]): Page =>
  async app => {
    for (const each of all) await query(app, ...each)
  }
const fail = (error: Error): Page => {
  return () => {
    throw error
  }
}
/** Does something else in the first request after the edit only. */
const first = (page: Page, others: Page): Page => {
  return (app, replay, request) => (replay === 0 ? page : others)(app, replay, request)
}
/** Begins after the response was sent. */
const later = (page: Page, time: number): Page => {
  return (app, replay, request) => void delay(time).then(() => page(app, replay, request))
}
/** Makes a sub-request that does the work. */
const forward = (page: Page): Page => {
  return (app, replay, request) =>
    app.kernel.forward(
      request,
      defineController('part', async () => {
        await page(app, replay, request)
        return Response.text('')
      }),
    )
}

/** Makes a request to the application itself, which does the work for it. */
const callItself = (page: Page): Page => {
  return async () => void (await (await fetch(`${address}/inner/${inner.indexOf(page)}`)).text())
}
let address = ''

const [many, join, nothing] = [queries([item, 30]), queries(['SELECT * FROM orders JOIN prices']), queries()]
const slow = queries(['SELECT report', 1, 600])
const inner: readonly Page[] = [many, join, slow]
const orders = ['id, name', 'name, id', 'id, name, 1', '1, name, id'].map(fields => item.replace('*', fields))
const [n1, sql, crash] = ['repeated-queries.0', 'slow-query.0', 'exception']

/**
 * Edits of an application, with what is true of the flaw after each: the state of *Fix and
 * verify*, and the beginning of what *Since your edit* says about the finding.
 */
const edits: readonly (readonly [
  edit: string,
  flaw: string,
  before: Page,
  after: Page,
  state: string,
  claim?: string,
])[] = [
  ['a join', n1, many, join, 'fixed', 'fixed: N+1 queries'],
  [
    'two queries',
    n1,
    many,
    queries(['SELECT * FROM prices WHERE id IN (?)', 1], ['SELECT count(*) FROM prices']),
    'fixed',
    'fixed: N+1',
  ],
  ['nothing is read', n1, many, nothing, 'fixed', 'fixed: N+1 queries'],
  ['a cache that is empty at first', n1, many, first(many, nothing), 'present', ''],
  ['half of it', n1, many, queries([item, 15]), 'present', ''],
  ['one less', n1, many, queries([item, 29]), 'present', ''],
  ['few items', n1, many, queries([item, 4]), 'fixed', 'fixed: N+1 queries'],
  [
    'four orders of the fields',
    n1,
    many,
    queries(...orders.map(text => [text, 8] as const)),
    'changed',
    'changed its form: N+1 queries',
  ],
  [
    'another alias',
    n1,
    many,
    queries(['SELECT p.* FROM prices p WHERE p.id = ?', 30]),
    'changed',
    'changed its form: N+1',
  ],
  [
    'half in another form',
    n1,
    many,
    queries(...[item, ...orders].slice(0, 4).map(text => [text, 4] as const)),
    'changed',
    'changed its form: N+1 queries',
  ],
  ['calls of a cache', n1, many, queries(['GET price', 30, 0, 'redis']), 'changed', 'changed its form: N+1 queries'],
  ['in a sub-request', n1, many, forward(many), 'changed', 'changed its form: N+1 queries'],
  ['in a sub-request of one', n1, many, forward(forward(many)), 'changed', 'changed its form: N+1 queries'],
  ['a join in a sub-request', n1, many, forward(join), 'fixed', 'fixed: N+1 queries'],
  ['a slow query in a sub-request', sql, slow, forward(slow), 'changed'],
  ['behind a call to itself', n1, many, callItself(many), 'changed', 'changed its form: N+1 queries'],
  ['a join behind a call to itself', n1, many, callItself(join), 'fixed', 'fixed: N+1 queries'],
  ['a slow query behind a call to itself', sql, slow, callItself(slow), 'changed'],
  ['not awaited', n1, many, app => void query(app, item, 30), 'moved', 'moved: N+1 queries'],
  ['after a timer', n1, many, later(many, 60), 'moved', 'moved: N+1 queries'],
  [
    'half after a timer',
    n1,
    many,
    async (app, _, request) => {
      later(queries([item, 15]), 50)(app, 0, request)
      await query(app, item, 15)
    },
    'moved',
    '',
  ],
  ['one slow query', n1, many, slow, 'changed', 'changed its form: N+1 queries'],
  ['one query that is not slow', n1, many, queries(['SELECT report', 1, 20]), 'fixed', 'fixed: N+1 queries'],
  [
    'another N+1 as well',
    n1,
    many,
    queries([item, 30], ['SELECT * FROM users WHERE id = ?', 12]),
    'present',
    'new: N+1 queries',
  ],
  [
    'other repeated queries',
    n1,
    many,
    async app => {
      for (let time = 0; time < 4; time++) await query(app, 'SELECT settings')
    },
    'changed',
    'changed its form: N+1',
  ],
  [
    'a caught error',
    n1,
    many,
    ({ queries }) =>
      queries.measure('postgresql', item, [1], () => Promise.reject(new Error('away'))).catch(() => undefined),
    'changed',
    'changed its form: N+1',
  ],
  ['an error', n1, many, fail(new TypeError('on purpose')), 'failing', '200 → 500 TypeError'],
  ['a refusal', n1, many, () => new Response('no', { status: 403 }), 'failing', '200 → 403'],
  ['a login', n1, many, () => Response.redirect('/login'), 'failing', '200 → 302'],
  ['an empty page', n1, many, () => Response.html('-'), 'doubtful', 'gone: N+1 queries'],
  [
    'a logged error',
    n1,
    many,
    ({ logger }) => logger.error('The prices are missing.'),
    'doubtful',
    'gone: N+1 queries',
  ],
  ['nothing about it', n1, many, many, 'present', ''],
  [
    'slower',
    n1,
    many,
    async (app, _, request) => {
      await delay(60)
      await many(app, 0, request)
    },
    'present',
    '',
  ],
  ['an error that is gone', crash, fail(new TypeError('x')), nothing, 'fixed', '500 TypeError → 200'],
  ['the same error', crash, fail(new TypeError('x')), fail(new TypeError('x')), 'present', ''],
  [
    'another error',
    crash,
    fail(new TypeError('x')),
    fail(new RangeError('x')),
    'failing',
    '500 TypeError → 500 RangeError',
  ],
  ['an error at first', crash, fail(new TypeError('x')), first(fail(new TypeError('x')), nothing), 'present', ''],
  ['an index', sql, slow, queries(['SELECT report']), 'fixed'],
  ['slow at first', sql, slow, first(slow, nothing), 'present'],
  ['two halves', sql, slow, queries(['SELECT report, 1', 1, 300], ['SELECT report, 2', 1, 300]), 'changed'],
  [
    'seven parts that are not slow',
    sql,
    slow,
    queries(...[1, 2, 3, 4, 5, 6, 7].map(part => [`SELECT part${part}`, 1, 85] as const)),
    'changed',
  ],
  ['a slow query for later', sql, slow, later(slow, 30), 'moved'],
  ['the same query', sql, slow, slow, 'present'],
  ['less data', sql, slow, queries(['SELECT report', 1, 400]), 'present'],
  ['a fix with work for later', n1, many, later(join, 30), 'changed', 'changed its form: N+1 queries'],
  [
    'one instead of four',
    'duplicate-queries.0',
    queries(...Array(4).fill(['SELECT settings'])),
    queries(['SELECT settings']),
    'fixed',
    'fixed: Query repeated',
  ],
  [
    'four other texts',
    'duplicate-queries.0',
    queries(...Array(4).fill(['SELECT settings'])),
    queries(...[1, 2, 3, 4].map(part => [`SELECT settings, ${part}`] as const)),
    'changed',
    'changed its form: Query repeated',
  ],
]

t.test('the verdicts after all edits are true, and "Since your edit" says nothing else', async t => {
  const pages = edits.map(([, , before]) => before)
  const replays = edits.map(() => 0)
  const { app, client, storage } = await createProfiledKernel(t, {
    register: app =>
      edits.forEach((_, index) => {
        const controller = async (request: Request) => {
          const replay = replays[index] ?? 0
          replays[index] = replay + 1
          const answer = await pages[index]?.(app, replay, request)
          return answer instanceof Response && answer.body !== '' ? answer : Response.html('x'.repeat(20_000))
        }
        app.routes.add({ name: `page-${index}`, path: `/${index}`, controller })
      }),
    handlers: Object.fromEntries(
      inner.map((page, index) => [
        `/inner/${index}`,
        async (request: Request) => {
          await page(app, 0, request)
          return Response.text('')
        },
      ]),
    ),
  })
  const server = createServer(async ({ url = '' }, reply) => {
    const { headers, text } = await client.get(url)
    reply.setHeader('x-debug-token', headers.get('x-debug-token') ?? '').end(text)
  }).listen(0, '127.0.0.1')
  t.teardown(() => server.close())
  await once(server, 'listening')
  address = `http://127.0.0.1:${Object(server.address()).port}`
  const inspector = new Inspector(app.findingRules)
  const tokenOf = async (index: number) => String((await client.get(`/${index}`)).headers.get('x-debug-token'))
  // On a busy machine, more would delay one another.
  const inGroups = async (work: (index: number) => Promise<unknown>) => {
    const left = [...edits.keys()]
    while (left.length > 0) await Promise.all(left.splice(0, 5).map(work))
  }
  const originals: string[] = []
  await inGroups(async index => {
    originals[index] = await tokenOf(index)
  })
  app.signals.emit('files.changed', { files: ['templates/shop.hbs'] })
  const mistakes: string[] = []
  await inGroups(async index => {
    const [edit, flaw, , after, state, claim] = edits[index] as (typeof edits)[number]
    pages[index] = after
    replays[index] = 0
    const answer = await client.post(`/_profiler/${originals[index]}/verify`, {
      headers: { origin: 'http://localhost' },
      form: { flaw },
    })
    const verdict = JSON.parse(answer.text)
    if (verdict.state !== state) mistakes.push(`${edit}: ${verdict.state}, ${verdict.text}, not ${state}`)
    if (claim === undefined) return
    const stored = await waitForProfile(storage, await tokenOf(index))
    const { sinceEdit } = await showProfile({ profile: stored, isPinned: false }, storage, inspector)
    const texts = sinceEdit === undefined ? [] : listClaims(sinceEdit).map(({ text }) => text)
    const isTrue =
      claim === '' ? !texts.some(text => /fixed|gone|→/.test(text)) : texts.some(text => text.startsWith(claim))
    if (!isTrue) mistakes.push(`${edit}, since the edit: ${texts.join('; ')}, not "${claim}"`)
  })
  t.strictSame(mistakes, [])
})
