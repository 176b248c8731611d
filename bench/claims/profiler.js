import path from 'node:path'
import { Child } from '../http/child.js'
import { measureLanes } from '../http/measure-lanes.js'
import { targets } from '../http/work.js'
import { within } from '../report.js'

/** @typedef {import('../report.js').Claim} Claim */

/** Microseconds of CPU time that recording may add to a page. */
const budget = 110

/**
 * What it costs to record requests: development with and without the profiler. A 404 is asked for
 * by a program, which gets the same problem details from both, so that what is added is recording
 * alone. A browser gets an error page that only the profiler has, and that says much more than the
 * plain one: what that costs beyond recording stands in a row of its own.
 *
 * @type {Claim}
 */
export const profiler = {
  title: 'Recording requests: development with and without the profiler',
  unit: 'CPU µs/request',
  comparisons: [
    within(`added to a page / ${budget} µs`, 'added to a page', budget),
    {
      name: 'added to a 404 (two profiles) / added to a page',
      numerator: 'added to a 404',
      denominator: 'added to a page',
      goal: { atMost: 2.5 },
    },
    { name: 'page: profiled / not', numerator: 'page, profiled', denominator: 'page' },
    { name: '404: profiled / not', numerator: '404, profiled', denominator: '404' },
  ],
  measure: async options => {
    const ofPage = { server: 'development', target: targets.page, status: 200 }
    const ofErrorPage = { server: 'development', target: targets.notFound, status: 404 }
    const ofMiss = { ...ofErrorPage, accept: 'application/problem+json' }
    const measured = await measureLanes(
      [
        { ...ofPage, name: 'page' },
        { ...ofPage, name: 'page, profiled', feature: 'profiled' },
        { ...ofMiss, name: '404' },
        { ...ofMiss, name: '404, profiled', feature: 'profiled' },
        { ...ofErrorPage, name: 'error page' },
        // It contains durations.
        { ...ofErrorPage, name: 'error page, profiled', feature: 'profiled', isVarying: true },
      ],
      options,
    )
    const added = (/** @type {string} */ name) => {
      const plain = measured.get(name) ?? []
      return (measured.get(`${name}, profiled`) ?? []).map((cost, round) => cost - Number(plain[round]))
    }
    measured.set('added to a page', added('page'))
    measured.set('added to a 404', added('404'))
    const addedToErrorPage = added('error page')
    measured.set(
      'the rich error page itself',
      added('404').map((recording, round) => Number(addedToErrorPage[round]) - recording),
    )
    return measured
  },
}

/** Microseconds of CPU time that recording may add to a query. */
const queryBudget = 8

/** Microseconds of CPU time that recording may add to a line of the log. */
const lineBudget = 4

/** Requests between two readings of the CPU time. */
const requestsOfTurn = 500

/**
 * What it costs to record a page, and each of 20 queries and of 20 lines of the log, under a steady load without HTTP. Each process has
 * one application, and its figure is the least of its turns: the others have what the machine did beside it.
 *
 * @type {Claim}
 */
export const recording = {
  title: 'Recording a page, its queries and its log under a steady load',
  unit: 'CPU µs',
  comparisons: [
    within(`added to a page / ${budget} µs`, 'added to a page', budget),
    within(`added to a query / ${queryBudget} µs`, 'added to a query', queryBudget),
    within(`added to a line / ${lineBudget} µs`, 'added to a line', lineBudget),
  ],
  measure: async ({ requests, rounds, warmUp }) => {
    const forms = [
      ['page', 'plain'],
      ['page, profiled', 'profiled'],
      ['20 queries', 'queries'],
      ['20 queries, profiled', 'profiled-queries'],
      ['20 lines', 'lines'],
      ['20 lines, profiled', 'profiled-lines'],
    ]
    const turns = Math.ceil(requests / requestsOfTurn)
    const measured = new Map(forms.map(([name = '']) => [name, /** @type {number[]} */ ([])]))
    for (let round = 0; round < rounds; round++) {
      for (const index of forms.keys()) {
        const [name = '', feature = ''] = forms[(index + round) % forms.length] ?? []
        const values = [feature, `${requestsOfTurn}`, `${turns}`, `${Math.ceil(warmUp / 2)}`]
        const child = new Child(path.join(import.meta.dirname, '../recording.js'), values)
        const { costs } = await child.receive()
        measured.get(name)?.push(Math.min(.../** @type {number[]} */ (costs)))
        await child.end()
      }
    }
    const costOf = (/** @type {string} */ name, /** @type {number} */ round) => Number(measured.get(name)?.[round])
    const added = (/** @type {string} */ name) =>
      (measured.get(name) ?? []).map((cost, round) => costOf(`${name}, profiled`, round) - cost)
    const page = added('page')
    const each = (/** @type {string} */ name) => added(name).map((cost, round) => (cost - Number(page[round])) / 20)
    measured.set('added to a page', page)
    return measured.set('added to a query', each('20 queries')).set('added to a line', each('20 lines'))
  },
}

/**
 * Whether memory grows with the number of recorded requests. Its one round is long: 200,000 requests.
 *
 * @type {Claim}
 */
export const profilerMemory = {
  title: 'Resident memory of a profiled server, after a garbage collection',
  unit: 'MB',
  comparisons: [
    {
      name: 'after 200,000 requests / after 100,000',
      numerator: 'after 200,000 requests',
      denominator: 'after 100,000 requests',
      goal: { atMost: 1.05 },
    },
  ],
  measure: async () => {
    const http = path.join(import.meta.dirname, '../http')
    const load = new Child(path.join(http, 'load.js'))
    const server = new Child(path.join(http, 'serve.js'), ['development', 'profiled'], ['--expose-gc'])
    const port = Number((await server.receive()).port)
    const length = (await (await fetch(`http://127.0.0.1:${port}${targets.page}`)).arrayBuffer()).byteLength
    const measured = new Map()
    for (const name of ['after 100,000 requests', 'after 200,000 requests']) {
      await load.ask({ port, target: targets.page, status: 200, requests: 100_000, connections: 24, length })
      measured.set(name, [Number((await server.ask({ wantsMemory: true })).memory) / 1e6])
    }
    await Promise.all([load.end(), server.end()])
    return measured
  },
}
