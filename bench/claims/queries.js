import { tracingChannel } from 'node:diagnostics_channel'
import { createProfilerBundle } from '../../dist/bundles/profiler/profiler-bundle.js'
import { MemoryProfileStorage } from '../../dist/bundles/profiler/store/memory-profile-storage.js'
import { createRequest } from '../../dist/kernel/testing/event-factories.js'
import { Response } from '../../dist/lib/http/response.js'
import { bootKernel } from '../boot-kernel.js'
import { measureLanes } from '../http/measure-lanes.js'
import { targets } from '../http/work.js'
import { measureFunctions } from '../measure-functions.js'
import { within } from '../report.js'

/** Queries of one request; more than 500 are only counted. */
const perRequest = 400
const many = '1,000 queries of a request'

/**
 * What a page with 20 queries costs with and without the profiler. The database costs nothing.
 *
 * @type {import('../report.js').Claim}
 */
export const queryPage = {
  title: 'A page with 20 queries: development with and without the profiler',
  unit: 'CPU µs/request',
  comparisons: [
    {
      name: 'profiled: with 20 queries / without',
      numerator: 'profiled, 20 queries',
      denominator: 'profiled',
      goal: { atMost: 1.5 },
    },
    { name: 'not profiled: with 20 queries / without', numerator: '20 queries', denominator: 'page' },
    within('a query / 8 µs', 'a query', 8),
  ],
  measure: async options => {
    const ofPage = { server: 'development', target: targets.page, status: 200 }
    const measured = await measureLanes(
      [
        { ...ofPage, name: 'page' },
        { ...ofPage, name: '20 queries', feature: 'queries' },
        { ...ofPage, name: 'profiled', feature: 'profiled' },
        { ...ofPage, name: 'profiled, 20 queries', feature: 'profiled-queries' },
      ],
      options,
    )
    const costOf = (/** @type {string} */ name, /** @type {number} */ round) => Number(measured.get(name)?.[round])
    const all = (measured.get('profiled, 20 queries') ?? []).map(
      (cost, round) => cost - costOf('profiled', round) - costOf('20 queries', round) + costOf('page', round),
    )
    return measured.set(
      'a query',
      all.map(cost => cost / 20),
    )
  },
}

/**
 * What each source adds to a query: with its profile, which is written to the memory, divided by the queries.
 *
 * @type {import('../report.js').Claim}
 */
export const queryCost = {
  title: 'Recording a query, by its source',
  unit: 'CPU µs/query',
  comparisons: [within('1,000 queries of a request / 10 ms', many, 10_000)],
  measure: async ({ rounds, requests }) => {
    const plain = await createRun(false)
    const profiled = await createRun(true)
    const names = Object.keys(sources)
    const functions = Object.fromEntries([
      ...names.map(name => [name, () => profiled(name)]),
      ['measure, without the profiler', () => plain('measure')],
      ['no query', () => profiled('none')],
      [many, () => profiled('measure', 1000)],
    ])
    const measured = await measureFunctions(functions, { rounds, calls: Math.ceil(requests / 200) })
    const base = measured.get('no query') ?? []
    const toQuery = (/** @type {number} */ cost, /** @type {number} */ round) =>
      (cost - Number(base[round])) / 1000 / perRequest
    const perQuery = new Map(
      [...measured]
        .filter(([name]) => name !== 'no query' && name !== 'none')
        .map(([name, costs]) => [
          name,
          name.endsWith('profiler') ? costs.map(cost => cost / 1000 / perRequest) : costs.map(toQuery),
        ]),
    )
    return perQuery.set(
      many,
      (measured.get(many) ?? []).map((cost, round) => toQuery(cost, round) * perRequest),
    )
  },
}

const rows = [{ id: 1 }]
const place = { serverAddress: 'db', serverPort: 1 }
const mysql = tracingChannel('mysql2:execute')
const mysqlQuery = tracingChannel('mysql2:query')
const redis = tracingChannel('ioredis:command')
const nodeRedis = tracingChannel('node-redis:command')

/** @type {Readonly<Record<string, (queries: import('../../dist/kernel/contracts/queries.js').Queries, number: number) => unknown>>} */
const sources = {
  none: () => undefined,
  measure: (queries, number) => queries.measure('postgresql', 'SELECT * FROM a WHERE b = $1', [number], () => rows),
  'measure, with literals': (queries, number) =>
    queries.measure('postgresql', `SELECT * FROM a WHERE b = ${number} AND c = 'tea'`, undefined, () => rows),
  'mysql2:execute': (_, number) =>
    mysql.traceCallback(
      finish,
      0,
      { ...place, database: 'a', query: 'SELECT * FROM a WHERE b = ?', values: [number] },
      null,
      nothing,
    ),
  'mysql2:query': (_, number) =>
    mysqlQuery.traceCallback(
      finish,
      0,
      { ...place, database: 'a', query: `SELECT * FROM a WHERE b = ${number}` },
      null,
      nothing,
    ),
  'ioredis:command': (_, number) =>
    redis.traceCallback(finish, 0, { ...place, database: 0, command: 'get', args: [`a:${number}`] }, null, nothing),
  'node-redis:command': (_, number) =>
    nodeRedis.traceCallback(
      finish,
      0,
      { ...place, database: 0, command: 'GET', args: ['GET', `a:${number}`] },
      null,
      nothing,
    ),
}

/** @param {(error: unknown, result: unknown) => void} done */
function finish(done) {
  done(null, rows)
}

function nothing() {}

/**
 * Creates a function that handles a request with queries of a source, to the end of its profile.
 *
 * @param {boolean} isProfiled
 */
async function createRun(isProfiled) {
  const profiler = createProfilerBundle({ storage: new MemoryProfileStorage() })
  const { app } = await bootKernel(isProfiled ? [profiler] : [], 'dev', { LOG_LEVEL: 'error' })
  app.signals.emit('kernel.booted', undefined)
  return async (/** @type {string} */ source, count = perRequest) => {
    const request = createRequest('/hello')
    request.attributes.set('_controller', () => {
      for (let number = 0; number < count; number++) sources[source]?.(app.queries, number)
      return new Response()
    })
    const response = await app.kernel.handle(request)
    await app.kernel.terminate(request, response)
  }
}
