import path from 'node:path'
import { Child } from '../http/child.js'
import { targets } from '../http/work.js'

const http = path.join(import.meta.dirname, '../http')

/** Each takes some seconds for each server, and memory varies little. */
const mostRounds = 5

/** By its name, the file in servers/. */
const servers = {
  Sinfonietta: 'sinfonietta',
  'bare node:http': 'node',
  Fastify: 'fastify',
  Hono: 'hono',
  Express: 'express',
}

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
    const measured = new Map(Object.keys(servers).map(name => [name, /** @type {number[]} */ ([])]))
    for (let round = 0; round < Math.min(rounds, mostRounds); round++) {
      for (const [name, file] of Object.entries(servers)) {
        const server = new Child(path.join(http, 'serve.js'), [file], ['--expose-gc'])
        const port = Number((await server.receive()).port)
        await load.ask({ port, target: targets.page, status: 200, requests, connections: 24 })
        measured.get(name)?.push(Number((await server.ask({ wantsMemory: true })).memory) / 1e6)
        await server.end()
      }
    }
    await load.end()
    return measured
  },
}
