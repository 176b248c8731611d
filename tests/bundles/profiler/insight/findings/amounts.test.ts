import { t } from 'tap'
import { describeAmounts } from '#bundles/profiler/insight/compare/judge-fix.ts'
import { Inspector } from '#bundles/profiler/insight/findings/inspector.ts'
import type { Profile } from '#bundles/profiler/profile/profile.ts'
import { readCalls } from '#bundles/profiler/subjects/http/read.ts'
import { createProfile, createQuery, type QueryData } from '#tests/support/create-profile.ts'

const times = <item>(count: number, create: (index: number) => item) =>
  Array.from({ length: count }, (_, index) => create(index))
const inQueries = (...queries: readonly QueryData[]) => ({ queries: { queries, omitted: 0 } })
const query = (text: string, start: number, time: number) => createQuery({ text, start, end: start + time })
const call = (url: string, time: number) => ({ ...{ method: 'GET', url, start: 0, end: time }, status: 200 })
const failed = (url: string) => ({ ...call(url, 1), status: 500 })
const mail = (start: number, time: number) => ({ subject: 'Order', to: ['ada'], start, end: start + time })
const unlimited = (...calls: readonly object[]) => ({
  http: { calls: calls.map(each => ({ ...each, isUnlimited: true })) },
})
const inSequence = (first: number, second: number) => ({
  http: { calls: [call('http://a/', first), { ...call('http://b/', 0), start: first, end: first + second }] },
})
const synchronous = (name: string, duration: number) => ({ name, start: 1, duration })
const inListener = (name: string, time: number) => ({
  events: {
    spans: [
      [null, 'kernel.request', 0, 300_000],
      [0, name, 0, time * 1000],
    ],
  },
})
const rendered = (count: number, name: string) =>
  times(count, index => ({ name, parent: -1, start: index, duration: 1 }))
const logged = (count: number, level: string) => times(count, at => ({ at, level, message: 'Sold.' }))
const command = (text: string, start: number) => createQuery({ system: 'redis', text, start, end: start + 1 })
const printed = (count: number) => ({ console: { entries: times(count, at => ({ at, method: 'log', values: [] })) } })
const waits = (...periods: readonly (readonly [start: number, duration: number])[]) => ({
  queries: { queries: [], omitted: 0, waits: periods.map(([start, duration]) => ({ system: 'x', start, duration })) },
})

/** What a rule finds in one request, what another one still has of it, beside what does not count, and both amounts. */
const amounts: readonly (readonly [rule: string, before: Profile['data'], after: Profile['data'], amounts: string])[] =
  [
    [
      'repeated-queries',
      inQueries(...times(51, () => query('SELECT 1', 0, 1))),
      inQueries(query('SELECT 1', 0, 1), query('SELECT 1', 1, 1), query('SELECT 2', 2, 1)),
      '51 queries → 2',
    ],
    [
      'duplicate-queries',
      inQueries(...times(9, index => createQuery(index > 0 ? { twin: 0 } : {}))),
      inQueries(createQuery(), createQuery({ twin: 0 }), createQuery(), query('SELECT 2', 0, 1)),
      '9 queries → 2',
    ],
    [
      'repeated-commands',
      inQueries(...times(12, index => command(`GET item:${index}`, index))),
      inQueries(...times(3, index => command(`GET item:${index}`, index))),
      '12 cache calls → 0',
    ],
    [
      'transaction-call',
      {
        ...inQueries(query('BEGIN', 0, 1), query('COMMIT', 30, 1)),
        http: { calls: [{ ...call('http://a/', 20), start: 5, end: 25 }] },
      },
      {
        ...inQueries(query('BEGIN', 0, 1), query('COMMIT', 1, 1)),
        http: { calls: [{ ...call('http://a/', 20), start: 5, end: 25 }] },
      },
      '1 HTTP client calls → 0',
    ],
    [
      'idle-transaction',
      inQueries(query('BEGIN', 0, 1), query('COMMIT', 301, 1)),
      inQueries(query('BEGIN', 0, 1), query('SELECT 1', 1, 1), query('COMMIT', 2, 1), query('SELECT 2', 400, 1)),
      '300 ms → 0 ms',
    ],
    [
      'transaction-mail',
      { ...inQueries(query('BEGIN', 0, 1), query('COMMIT', 30, 1)), mails: { mails: [mail(5, 20)] } },
      { ...inQueries(query('BEGIN', 0, 1), query('COMMIT', 1, 1)), mails: { mails: [mail(5, 20)] } },
      '1 mails → 0',
    ],
    ['slow-mail', { mails: { mails: [mail(0, 4000)] } }, { mails: { mails: [mail(0, 4)] } }, '4.0 s → 4.0 ms'],
    ['many-console-calls', printed(120), printed(3), '120 console calls → 3'],
    [
      'many-queries',
      inQueries(...times(60, index => query(`SELECT ${'a'.repeat(index + 1)}`, 0, 1))),
      inQueries(query('SELECT 1', 0, 1)),
      '60 queries → 1',
    ],
    [
      'slow-query',
      inQueries(query('SELECT 1', 0, 120), query('SELECT 1', 120, 150)),
      inQueries(query('SELECT 1', 0, 20), query('SELECT 2', 20, 300)),
      '150 ms → 20 ms',
    ],
    [
      'many-rows',
      inQueries(createQuery({ rows: 5000 })),
      inQueries(createQuery({ rows: 20 }), createQuery({ rows: 5, text: 'SELECT 2' })),
      '5,000 rows → 20',
    ],
    [
      'sequential-queries',
      inQueries(query('SELECT 1', 0, 80), query('SELECT 2', 80, 90), query('SELECT 3', 170, 80)),
      inQueries(query('SELECT 1', 0, 10), query('SELECT 2', 10, 15)),
      '160 ms → 10 ms',
    ],
    ['starved-pool', waits([0, 90], [50, 70]), waits([0, 11]), '120 ms → 11 ms'],
    [
      'repeated-calls',
      { http: { calls: times(5, () => call('http://a/', 1)) } },
      { http: { calls: [call('http://a/', 1), call('http://b/', 1)] } },
      '5 HTTP client calls → 1',
    ],
    ['sequential-calls', inSequence(90, 80), inSequence(90, 10), '80 ms → 10 ms'],
    [
      'unlimited-call',
      unlimited(call('http://a/', 3000)),
      {
        http: {
          calls: [...unlimited(call('http://a/', 300), call('http://b/', 900)).http.calls, call('http://a/', 700)],
        },
      },
      '3.0 s → 300 ms',
    ],
    [
      'called-error',
      { http: { calls: [...times(3, () => failed('http://a/')), failed('http://b/')] } },
      { http: { calls: [call('http://a/', 1), failed('http://a/'), failed('http://b/')] } },
      '3 failed calls → 1',
    ],
    ['slow-listener', inListener('Geo', 150), inListener('Geo', 12), '150 ms → 12 ms'],
    [
      'blocked-loop',
      { memory: { blocks: [{ by: 'abc123', duration: 250, cpu: 250 }] } },
      { memory: { blocks: [{ by: 'abc123', duration: 60, cpu: 60 }] } },
      '250 ms → 60 ms',
    ],
    [
      'synchronous-call',
      { memory: { syncCalls: [synchronous('execSync', 40), synchronous('execSync', 50)] } },
      { memory: { syncCalls: [synchronous('execSync', 11), synchronous('fs.readFileSync', 50)] } },
      '90 ms → 11 ms',
    ],
    [
      'repeated-template',
      { templates: { renders: rendered(60, 'item') } },
      { templates: { renders: [...rendered(2, 'item'), ...rendered(5, 'other')] } },
      '60 renders → 2',
    ],
    [
      'many-logs',
      { logger: { records: logged(150, 'info') } },
      { logger: { records: [...logged(8, 'info'), ...logged(200, 'debug')] } },
      '150 log messages → 8',
    ],
  ]

t.test('a rule measures its finding before and after a change, also if it finds no more', async t => {
  const judge = new Inspector([])
  const create = (data: Profile['data']) => {
    const queries = createProfile(data).collectors.queries?.queries.length ?? 0
    const dumps = createProfile(data).collectors.console?.entries.length ?? 0
    const profile = createProfile(data, { duration: 5000, queries, dumps })
    const called = readCalls(profile).calls.flatMap(({ index, status }) =>
      status < 500 ? [] : [{ index, summary: { ...profile.summary, status }, profile: undefined, called: [] }],
    )
    return { ...profile, called }
  }
  const offenders = amounts.flatMap(([rule, before, after, expected]) => {
    const original = create(before)
    const finding = judge.inspect(original).find(found => found.rule === rule)
    const measured = finding && describeAmounts(finding, [original], [create(after)], judge)?.join(' → ')
    return measured === expected ? [] : [`${rule}: ${measured}, not ${expected}`]
  })
  t.strictSame(offenders, [])
})
