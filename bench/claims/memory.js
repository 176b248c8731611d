import path from 'node:path'
import { Child } from '../http/child.js'
import { peers } from '../http/peers.js'
import { targets } from '../http/work.js'

const http = path.join(import.meta.dirname, '../http')

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
  measure: async ({ requests, rounds }) => {
    const load = new Child(path.join(http, 'load.js'))
    const measured = new Map(servers.map(({ name }) => [name, /** @type {number[]} */ ([])]))
    for (let round = 0; round < Math.min(rounds, mostRounds); round++) {
      for (const { name, server, feature } of servers) {
        const parameters = feature === undefined ? [server] : [server, feature]
        const child = new Child(path.join(http, 'serve.js'), parameters, ['--expose-gc'])
        const port = Number((await child.receive()).port)
        await load.ask({ port, target: targets.page, status: 200, requests, connections: 24 })
        measured.get(name)?.push(Number((await child.ask({ wantsMemory: true })).memory) / 1e6)
        await child.end()
      }
    }
    await load.end()
    return measured
  },
}
