import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import { createDebugPolicy, DebugGate } from '../../dist/kernel/debug/debug-gate.js'
import { readConfig } from '../../dist/lib/env/config.js'
import { Settings } from '../../dist/lib/env/settings.js'
import { Request } from '../../dist/lib/http/request.js'

/** Open connections; each has two sockets. Those that are looked up lie all over the table. */
const counts = [20, 1_000, 4_000]

/**
 * What it costs, in development, to ask Linux which user a new connection comes from, and to ask again.
 *
 * @type {import('../report.js').Claim}
 */
export const gate = {
  title: 'Debug output: the user of a connection, asked once, and each further request of it',
  unit: 'CPU µs',
  comparisons: [],
  measure: async ({ rounds }) => {
    const server = createServer(() => undefined).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
    const open = async () => {
      const client = connect(port, '127.0.0.1')
      const [[socket]] = await Promise.all([once(server, 'connection'), once(client, 'connect')])
      return { client, socket }
    }
    const policy = createDebugPolicy(
      readConfig(new Settings({ variables: { APP_ENV: 'dev', APP_SECRET: 'x'.repeat(32) } })),
    )
    const logger = /** @type {any} */ ({ warning: () => undefined })
    /** @param {import('node:net').Socket} connection */
    const ask = connection =>
      new DebugGate(policy, logger).allows(new Request({ target: '/', headers: { host: 'localhost' }, connection }))
    /** @type {Awaited<ReturnType<typeof open>>[]} */
    const opened = []
    const socketAt = (/** @type {number} */ turn) => /** @type {any} */ (opened[turn % opened.length]).socket
    const measured = new Map()
    for (const count of counts) {
      while (opened.length < count) opened.push(await open())
      measured.set(
        `new, ${count} connections`,
        measure(rounds, 20, turn => ask(socketAt(turn))),
      )
    }
    if (!ask(socketAt(0))) throw new Error('The gate is closed.')
    const kept = new DebugGate(policy, logger)
    const again = () =>
      kept.allows(new Request({ target: '/', headers: { host: 'localhost' }, connection: socketAt(0) }))
    measured.set('a further request, made and decided', measure(rounds, 20_000, again))
    for (const { client, socket } of opened) {
      client.destroy()
      socket.destroy()
    }
    server.close()
    return measured
  },
}

/**
 * @param {number} rounds
 * @param {number} calls
 * @param {(turn: number) => unknown} call
 */
function measure(rounds, calls, call) {
  return Array.from({ length: rounds }, () => {
    const before = process.cpuUsage()
    for (let turn = 0; turn < calls; turn++) call(turn)
    const { user, system } = process.cpuUsage(before)
    return (user + system) / calls
  })
}
