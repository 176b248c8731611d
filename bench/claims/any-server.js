import { measureLanes } from '../http/measure-lanes.js'
import { measureProcesses } from '../http/measure-processes.js'
import { targets } from '../http/work.js'
import { within } from '../report.js'

const servers = [
  { name: 'our own', server: 'development', feature: 'json' },
  { name: 'our own, profiled', server: 'development', feature: 'profiled-json' },
  { name: 'Express', server: 'express-json' },
  { name: 'Express, profiled', server: 'express-json', feature: 'profiled' },
]

/**
 * What it costs to record a JSON route of Express, and the same route of an application of our own.
 *
 * @type {import('../report.js').Claim}
 */
export const anyServer = {
  title: 'Recording a JSON route: Express and an application of our own',
  unit: 'CPU µs/request',
  comparisons: [
    {
      name: 'added to Express / added to our own',
      numerator: 'added to Express',
      denominator: 'added to our own',
      goal: { atMost: 1.15 },
    },
    within('added to Express / 150 µs', 'added to Express', 150),
    { name: 'Express: profiled / not', numerator: 'Express, profiled', denominator: 'Express' },
  ],
  measure: async options => {
    const route = { target: targets.json, status: 200 }
    return withAdded(
      await measureLanes(
        servers.map(server => ({ ...route, ...server })),
        options,
      ),
    )
  },
}

/** @param {Map<string, number[]>} measured */
function withAdded(measured) {
  for (const name of ['our own', 'Express']) {
    const plain = measured.get(name) ?? []
    const added = (measured.get(`${name}, profiled`) ?? []).map((cost, round) => cost - Number(plain[round]))
    measured.set(`added to ${name}`, added)
  }
  return measured
}

/** Enough for the memory of 10,000 profiles and their segments. */
const manyRequests = 60_000

/** Bytes differ by less than a percent from process to process. */
const mostRounds = 3

/**
 * Asks each server for its JSON route.
 *
 * @param {Parameters<typeof measureProcesses>[3]} measure
 * @param {number} rounds
 */
async function measureServers(measure, rounds) {
  return withAdded(await measureProcesses(servers, targets.json, Math.min(rounds, mostRounds), measure))
}

/** @type {import('../report.js').Claim} */
export const recordingBytes = {
  title: 'Bytes that are allocated to record a JSON route',
  unit: 'kB/request',
  comparisons: [within('added to Express / 12 kB', 'added to Express', 12)],
  measure: ({ requests, rounds, warmUp }) =>
    measureServers(async (server, load) => {
      await load(warmUp)
      await server.ask({ wantsBytes: true })
      await load(requests)
      return Number((await server.ask({ wantsBytes: true })).bytes) / requests / 1000
    }, rounds),
}

/** @type {import('../report.js').Claim} */
export const recordingMemory = {
  title: `Resident memory after ${manyRequests} recorded requests, after a garbage collection`,
  unit: 'MB',
  comparisons: [within('added to Express / 45 MB', 'added to Express', 45)],
  measure: ({ rounds }) =>
    measureServers(async (server, load) => {
      await load(manyRequests)
      return Number((await server.ask({ wantsMemory: true })).memory) / 1e6
    }, rounds),
}
