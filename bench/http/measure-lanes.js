import path from 'node:path'
import { Child } from './child.js'
import { browserHeaders, host } from './work.js'

/**
 * One of the competitors of a claim: a server in a process of its own, and what it is asked for.
 *
 * @typedef {object} Lane
 * @property {string} name
 * @property {string} server a file in servers/
 * @property {string} [feature] handed to the server
 * @property {string} target
 * @property {number} status expected
 * @property {boolean} [isVarying] whether the length of its answers is not always the same
 * @property {string} [accept] the Accept header; the default is that of a browser
 */

/** More than the load process needs to keep a server busy, fewer than would make it wait for memory. */
const connections = 24

/** Rounds after which all processes are started anew, so that the luck of one (memory, JIT) is not taken for a result. */
const roundsOfProcess = 10

/** Requests before anything is measured, until the JIT compiler has done its work. */
const warmUp = 10_000

/**
 * Measures the CPU time that servers use for a request. Lanes take turns within each round, in an order that rotates.
 *
 * @param {readonly Lane[]} lanes
 * @param {{ rounds: number, requests: number, hasSameBody?: boolean }} options
 * @returns {Promise<Map<string, number[]>>} microseconds per request, by lane and round
 */
export async function measureLanes(lanes, { rounds, requests, hasSameBody = false }) {
  const measured = new Map(lanes.map(({ name }) => [name, /** @type {number[]} */ ([])]))
  for (let done = 0; done < rounds; done += roundsOfProcess) {
    const load = new Child(path.join(import.meta.dirname, 'load.js'))
    const runs = await Promise.all(lanes.map(lane => start(lane, load)))
    if (hasSameBody) checkBodies(runs)
    for (const run of runs) await run.send(warmUp)
    for (let round = done; round < Math.min(rounds, done + roundsOfProcess); round++) {
      for (const index of runs.keys()) {
        const run = /** @type {Run} */ (runs[(index + round) % runs.length])
        const before = await run.cpu()
        await run.send(requests)
        measured.get(run.name)?.push(((await run.cpu()) - before) / requests)
      }
    }
    await Promise.all([load, ...runs].map(child => child.end()))
  }
  return measured
}

/** @typedef {Awaited<ReturnType<typeof start>>} Run */

/**
 * @param {Lane} lane
 * @param {Child} load
 */
async function start({ name, server, feature, target, status, isVarying, accept = browserHeaders.accept }, load) {
  const child = new Child(
    path.join(import.meta.dirname, 'serve.js'),
    feature === undefined ? [server] : [server, feature],
  )
  const port = Number((await child.receive()).port)
  const { connection: _, ...headers } = browserHeaders
  const response = await fetch(`http://${host}:${port}${target}`, { headers: { ...headers, accept } })
  const body = Buffer.from(await response.arrayBuffer())
  if (response.status !== status) throw new Error(`${name} answers ${target} with ${response.status}.`)
  return {
    name,
    body,
    cpu: async () => Number((await child.ask({})).cpu),
    send: (/** @type {number} */ requests) =>
      load.ask({ port, target, status, accept, requests, connections, ...(!isVarying && { length: body.length }) }),
    end: () => child.end(),
  }
}

/** @param {readonly Run[]} runs */
function checkBodies(runs) {
  const differing = runs.find(({ body }) => !runs[0]?.body.equals(body))
  if (differing !== undefined) throw new Error(`${differing.name} does not answer what ${runs[0]?.name} answers.`)
}
