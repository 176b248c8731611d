import { once } from 'node:events'
import { connect } from 'node:net'
import path from 'node:path'
import { Child } from '../http/child.js'
import { documentedPeers } from '../http/peers.js'
import { browserHeaders, host, targets } from '../http/work.js'

/** @typedef {import('../report.js').Claim} Claim */

const http = path.join(import.meta.dirname, '../http')
const servers = [{ name: 'Sinfonietta', server: 'sinfonietta' }, ...documentedPeers]

/** Each takes some seconds for each server. */
const mostRounds = 5

/**
 * The servers in the order of a round: the first one of a run meets a load process that is not warm yet.
 *
 * @param {number} round
 */
const inTurn = round => {
  const first = round % servers.length
  return [...servers.slice(first), ...servers.slice(0, first)]
}

const comparisons = ['bare node:http', 'Fastify', 'Hono'].map(name => ({
  name: `Sinfonietta / ${name}`,
  numerator: 'Sinfonietta',
  denominator: name,
}))

/**
 * What a kept connection holds between two requests.
 *
 * @type {Claim}
 */
export const connectionMemory = {
  title: 'Memory of an idle connection: objects and buffers, 2,000 connections after a request of each',
  unit: 'kB/connection',
  comparisons,
  measure: options =>
    measureServers(options, ['--expose-gc'], async (child, port) => {
      const count = 2_000
      const readMemory = async () => Number((await child.ask({ wantsMemory: true })).objects)
      await closeAll(await openAll(port, 100, targets.json))
      const before = await readMemory()
      const sockets = await openAll(port, count, targets.json)
      const memory = ((await readMemory()) - before) / count / 1000
      await closeAll(sockets)
      return memory
    }),
}

/**
 * What a process holds after much work.
 *
 * @type {Claim}
 */
export const requestMemory = {
  title: 'Resident memory after 100,000 JSON requests, after a garbage collection',
  unit: 'MB',
  comparisons,
  measure: async options => {
    const load = new Child(path.join(http, 'load.js'))
    const measured = await measureServers(options, ['--expose-gc'], async (child, port) => {
      await load.ask({ port, target: targets.json, status: 200, requests: 100_000, connections: 24 })
      return Number((await child.ask({ wantsMemory: true })).memory) / 1e6
    })
    await load.end()
    return measured
  },
}

/**
 * Each client waits for events, and all get each event. Fastify has no form of its own for them:
 * it is bare `node:http` behind its router.
 *
 * @type {Claim}
 */
export const events = {
  title: 'Server-sent events: 1,000 clients, each gets each event',
  unit: 'CPU µs/event of a client',
  comparisons: ['bare node:http', 'Fastify', 'Hono'].map(name => ({
    name: `${name} / Sinfonietta`,
    numerator: name,
    denominator: 'Sinfonietta',
  })),
  measure: options =>
    measureServers(options, [], async (child, port) => {
      const count = 1_000
      const turns = Math.ceil(options.requests / 250)
      const sockets = await openAll(port, count, targets.events)
      let bytes = 0
      for (const socket of sockets)
        socket.on('data', chunk => {
          bytes += chunk.length
        })
      const publish = async () => {
        bytes = 0
        await fetch(`http://${host}:${port}${targets.publish}`).then(response => response.text())
        const least = count * eventLength
        while (bytes < least) await new Promise(setImmediate)
      }
      for (let turn = 0; turn < turns / 2; turn++) await publish()
      const before = Number((await child.ask({})).cpu)
      for (let turn = 0; turn < turns; turn++) await publish()
      const cost = (Number((await child.ask({})).cpu) - before) / turns / count
      await closeAll(sockets)
      return cost
    }),
}

/** The least bytes of an event: `data: {"id":7,"price":12.5}`, its type, and what Hono or HTTP adds, which varies. */
const eventLength = 'event: price\ndata: {"id":7,"price":12.5}\n\n'.length

const counts = [1, 16, 64]

/**
 * The time of a request as its client sees it. Server and client have a processor each, so the machine needs two.
 *
 * @type {Claim}
 */
export const latency = {
  title: 'Latency of a JSON request at 1, 16 and 64 connections, server and client on separate processors',
  unit: 'µs',
  comparisons: counts.flatMap(count =>
    ['p50', 'p99'].flatMap(part =>
      ['bare node:http', 'Fastify', 'Hono'].map(name => ({
        name: `${count}, ${part}: ${name} / Sinfonietta`,
        numerator: `${name}, ${count}, ${part}`,
        denominator: `Sinfonietta, ${count}, ${part}`,
      })),
    ),
  ),
  measure: async ({ requests, rounds, warmUp }) => {
    /** @type {Map<string, number[]>} */
    const measured = new Map()
    const load = new Child(path.join(http, 'load.js'), [], [], 1)
    for (let round = 0; round < rounds; round++) {
      for (const { name, server } of inTurn(round)) {
        const child = new Child(path.join(http, 'serve.js'), [server], [], 0)
        const request = { port: Number((await child.receive()).port), target: targets.json, status: 200 }
        await load.ask({ ...request, requests: warmUp, connections: 64 })
        for (const connections of counts) {
          const { times } = await load.ask({ ...request, requests, connections, wantsTimes: true })
          const sorted = /** @type {number[]} */ (times).toSorted((one, other) => one - other)
          for (const percent of [50, 99]) {
            const key = `${name}, ${connections}, p${percent}`
            const time = Number(sorted[Math.floor((sorted.length * percent) / 100)])
            measured.set(key, [...(measured.get(key) ?? []), time])
          }
        }
        await child.end()
      }
    }
    await load.end()
    return measured
  },
}

/**
 * Measures each server in a new process in each round.
 *
 * @param {import('../report.js').Options} options
 * @param {string[]} execArgv
 * @param {(child: Child, port: number) => Promise<number>} measure
 */
async function measureServers({ rounds }, execArgv, measure) {
  const measured = new Map(servers.map(({ name }) => [name, /** @type {number[]} */ ([])]))
  for (let round = 0; round < Math.min(rounds, mostRounds); round++) {
    for (const { name, server } of inTurn(round)) {
      const child = new Child(path.join(http, 'serve.js'), [server], execArgv)
      measured.get(name)?.push(await measure(child, Number((await child.receive()).port)))
      await child.end()
    }
  }
  return measured
}

/**
 * Opens connections, and waits for the first bytes of a response on each.
 *
 * @param {number} port
 * @param {number} count
 * @param {string} target
 */
async function openAll(port, count, target) {
  const fields = Object.entries({ host: `${host}:${port}`, ...browserHeaders, accept: '*/*' })
  const request = `GET ${target} HTTP/1.1\r\n${fields.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`
  const sockets = []
  for (let at = 0; at < count; at++) {
    const socket = connect({ port, host, noDelay: true })
    socket.write(request)
    await once(socket, 'data')
    sockets.push(socket)
  }
  return sockets
}

/** @param {import('node:net').Socket[]} sockets */
async function closeAll(sockets) {
  const closed = sockets.map(socket => once(socket, 'close'))
  for (const socket of sockets) socket.destroy()
  await Promise.all(closed)
}
