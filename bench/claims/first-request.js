import path from 'node:path'
import { Child } from '../http/child.js'
import { within } from '../report.js'

/**
 * Many routes are read when the application boots, and not with its first request.
 *
 * @type {import('../report.js').Claim}
 */
export const firstRequest = {
  title: 'The first request to an application with 15,000 routes, without a socket',
  unit: 'CPU ms',
  comparisons: [within('first request / 5 ms', 'first request', 5)],
  measure: async ({ rounds }) => {
    /** @type {Map<string, number[]>} */
    const measured = new Map([
      ['first request', []],
      ['boot', []],
    ])
    for (let round = 0; round < rounds; round++) {
      const child = new Child(path.join(import.meta.dirname, '../first-request.js'))
      const times = await child.receive()
      for (const [name, values] of measured) values.push(Number(times[name]))
      await child.end()
    }
    return measured
  },
}
