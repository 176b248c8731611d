import path from 'node:path'
import { Child } from '../http/child.js'
import { measureLanes } from '../http/measure-lanes.js'
import { targets } from '../http/work.js'

/** @typedef {import('../report.js').Claim} Claim */

const ofPage = { server: 'workers', target: targets.page, status: 200 }

/**
 * What it costs to serve with several processes: that of their supervisor, which hands out connections, included.
 *
 * @type {Claim}
 */
export const workerCost = {
  title: 'Two workers and one, each with a supervisor: the CPU time of all processes',
  unit: 'CPU µs/request',
  comparisons: [
    { name: 'two workers / one worker', numerator: 'two workers', denominator: 'one worker', goal: { atMost: 1.05 } },
    {
      name: 'bare node:http: two workers / one worker',
      numerator: 'bare, two workers',
      denominator: 'bare, one worker',
    },
    { name: 'one worker / no workers', numerator: 'one worker', denominator: 'no workers' },
  ],
  measure: options => {
    const lanes = [
      { ...ofPage, name: 'one worker', feature: '1' },
      // Each worker gets as many requests and connections as the only one: otherwise it would be
      // less warm, and would find fewer requests in each turn of its event loop.
      { ...ofPage, name: 'two workers', feature: '2', processes: 2 },
      { ...ofPage, name: 'no workers', server: 'sinfonietta' },
      // The part of the ratio that two busy processes on one machine cost by themselves.
      { ...ofPage, name: 'bare, one worker', feature: '1 node' },
      { ...ofPage, name: 'bare, two workers', feature: '2 node', processes: 2 },
    ]
    return measureLanes(lanes, options)
  },
}

/**
 * How evenly two workers are used: connections are handed out in turn, and each asks as fast as it is answered.
 *
 * @type {Claim}
 */
export const workerShares = {
  title: 'Requests that the busier of two workers serves (that the other serves at least 40 % means: at most 60 %)',
  unit: 'requests/round',
  comparisons: [
    { name: 'the busier / both', numerator: 'the busier worker', denominator: 'both workers', goal: { atMost: 0.6 } },
  ],
  measure: async ({ requests, rounds, warmUp }) => {
    const http = path.join(import.meta.dirname, '../http')
    /** @type {Map<string, number[]>} */
    const measured = new Map([
      ['the busier worker', []],
      ['both workers', []],
    ])
    for (let round = 0; round < rounds; round++) {
      const load = new Child(path.join(http, 'load.js'))
      const server = new Child(path.join(http, 'serve.js'), ['workers', '2'])
      const request = {
        port: Number((await server.receive()).port),
        target: targets.page,
        status: 200,
        connections: 24,
      }
      const readCounts = async () => /** @type {number[]} */ ((await server.ask({})).requests)
      await load.ask({ ...request, requests: warmUp })
      const before = await readCounts()
      await load.ask({ ...request, requests })
      const served = (await readCounts()).map((count, worker) => count - Number(before[worker]))
      measured.get('the busier worker')?.push(Math.max(...served))
      measured.get('both workers')?.push(served.reduce((sum, count) => sum + count))
      await Promise.all([load.end(), server.end()])
    }
    return measured
  },
}
