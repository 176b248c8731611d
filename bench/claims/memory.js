import { measureProcesses } from '../http/measure-processes.js'
import { peers } from '../http/peers.js'
import { targets } from '../http/work.js'

/** Each takes some seconds for each server, and memory varies little. */
const mostRounds = 5

const servers = [{ name: 'Sinfonietta', server: 'sinfonietta' }, ...peers]

/**
 * What a server process holds, each round in a new one.
 *
 * @type {import('../report.js').Claim}
 */
export const memory = {
  title: 'Resident memory of a process that has rendered pages, after a garbage collection',
  unit: 'MB',
  comparisons: [
    { name: 'Sinfonietta / Fastify', numerator: 'Sinfonietta', denominator: 'Fastify', goal: { atMost: 1.2 } },
    { name: 'Sinfonietta / bare node:http', numerator: 'Sinfonietta', denominator: 'bare node:http' },
    { name: 'Sinfonietta / Express', numerator: 'Sinfonietta', denominator: 'Express' },
  ],
  measure: ({ requests, rounds }) =>
    measureProcesses(servers, targets.page, Math.min(rounds, mostRounds), async (server, load) => {
      await load(requests)
      return Number((await server.ask({ wantsMemory: true })).memory) / 1e6
    }),
}
