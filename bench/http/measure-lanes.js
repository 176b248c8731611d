import path from 'node:path'
import { Child } from './child.js'
import { browserHeaders, host } from './work.js'

/**
 * One of the servers that a claim compares, and the request that it gets.
 *
 * @typedef {object} Lane
 * @property {string} name
 * @property {string} server a file in servers/
 * @property {string} [feature] passed to the server
 * @property {string} target
 * @property {string} [body] the text of a POST request; the default is a GET request
 * @property {number} [bytes] the length of a body of zeros, in place of a text
 * @property {string} [contentType] of the body; the default is that of JSON
 * @property {number} status expected
 * @property {boolean} [isVarying] whether the length of its responses is not always the same
 * @property {string} [accept] the Accept header; the default is that of a browser
 * @property {number} [processes] that answer, for which warm-up, requests and connections are
 * multiplied; the default is 1
 */

/** More than the load process needs to keep a server busy, fewer than would make it wait for memory. */
const connections = 24

/** @typedef {import('../report.js').Options & { hasSameBody?: boolean, requestsOfTurn?: number }} LaneOptions */

/** A turn is shorter than most changes of the machine's speed, which happen within seconds. */
const usualTurn = 1_250

/**
 * Measures the CPU time that servers use for a request. Each round starts a new process for each
 * server, because processes of the same program differ from one another by up to 10 %. The
 * processes of a round take short turns, in an order that rotates. The warm-up is taken in turns,
 * too: V8 reduces the memory of a process that is idle for seconds, which its next turns pay for.
 *
 * @param {readonly Lane[]} lanes
 * @param {LaneOptions} options with fewer requests in a turn if a request takes long
 * @returns {Promise<Map<string, number[]>>} microseconds per request, by lane and round
 */
export async function measureLanes(
  lanes,
  { rounds, requests, warmUp, hasSameBody = false, requestsOfTurn = usualTurn },
) {
  const measured = new Map(lanes.map(({ name }) => [name, /** @type {number[]} */ ([])]))
  const turns = Math.ceil(requests / requestsOfTurn)
  const perTurn = Math.ceil(requests / turns)
  const warmUpTurns = Math.ceil(warmUp / perTurn)
  const load = new Child(path.join(import.meta.dirname, 'load.js'))
  for (let round = 0; round < rounds; round++) {
    const runs = await Promise.all(lanes.map(lane => start(lane, load)))
    if (hasSameBody) checkBodies(runs)
    const costs = runs.map(() => 0)
    for (let turn = -warmUpTurns; turn < turns; turn++) {
      for (const index of runs.keys()) {
        const place = (index + turn + round + warmUpTurns) % runs.length
        const cost = await /** @type {Run} */ (runs[place]).measure(perTurn)
        if (turn >= 0) costs[place] = Number(costs[place]) + cost
      }
    }
    for (const [place, { name }] of runs.entries()) measured.get(name)?.push(Number(costs[place]) / turns)
    await Promise.all(runs.map(run => run.end()))
  }
  await load.end()
  return measured
}

/** @typedef {Awaited<ReturnType<typeof start>>} Run */

/**
 * @param {Lane} lane
 * @param {Child} load
 */
async function start(lane, load) {
  const { name, server, feature, target, body, bytes, status, isVarying, processes = 1 } = lane
  const { accept = browserHeaders.accept, contentType = 'application/json' } = lane
  const child = new Child(
    path.join(import.meta.dirname, 'serve.js'),
    feature === undefined ? [server] : [server, feature],
  )
  const port = Number((await child.receive()).port)
  const { connection: _, ...headers } = browserHeaders
  const content = bytes === undefined ? body : Buffer.alloc(bytes)
  const response = await fetch(`http://${host}:${port}${target}`, {
    headers: { ...headers, accept, ...(content !== undefined && { 'content-type': contentType }) },
    ...(content !== undefined && { method: 'POST', body: content }),
  })
  const expected = Buffer.from(await response.arrayBuffer())
  if (response.status !== status) throw new Error(`${name} answers ${target} with ${response.status}.`)
  const readCpu = async () => Number((await child.ask({})).cpu)
  const request = {
    port,
    target,
    body,
    bytes,
    contentType,
    status,
    accept,
    ...(!isVarying && { length: expected.length }),
  }
  return {
    name,
    body: expected,
    /** Microseconds of CPU time for each of some requests. */
    measure: async (/** @type {number} */ requests) => {
      const before = await readCpu()
      await load.ask({ ...request, requests: requests * processes, connections: connections * processes })
      return ((await readCpu()) - before) / (requests * processes)
    },
    end: () => child.end(),
  }
}

/** @param {readonly Run[]} runs */
function checkBodies(runs) {
  const differing = runs.find(({ body }) => !runs[0]?.body.equals(body))
  if (differing !== undefined) throw new Error(`${differing.name} does not answer the same as ${runs[0]?.name}.`)
}
