import path from 'node:path'
import { Child } from './child.js'

/**
 * Measures what a server process holds or allocates: each round asks each server in a new process, one after another.
 *
 * @param {readonly { name: string, server: string, feature?: string | undefined }[]} servers
 * @param {string} target
 * @param {number} rounds
 * @param {(server: Child, load: (requests: number) => Promise<unknown>) => Promise<number>} measure
 */
export async function measureProcesses(servers, target, rounds, measure) {
  const load = new Child(path.join(import.meta.dirname, 'load.js'))
  const measured = new Map(servers.map(({ name }) => [name, /** @type {number[]} */ ([])]))
  for (let round = 0; round < rounds; round++) {
    for (const { name, server, feature } of servers) {
      const parameters = feature === undefined ? [server] : [server, feature]
      const child = new Child(path.join(import.meta.dirname, 'serve.js'), parameters, ['--expose-gc'])
      const port = Number((await child.receive()).port)
      const request = { port, target, status: 200, connections: 24 }
      measured.get(name)?.push(await measure(child, requests => load.ask({ ...request, requests })))
      await child.end()
    }
  }
  await load.end()
  return measured
}
