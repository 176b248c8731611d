import { once } from 'node:events'
import { createServer } from 'node:http'
import { measureLanes } from '../http/measure-lanes.js'
import { host, targets } from '../http/work.js'

/**
 * What traces for OpenTelemetry cost: without the bundle, with the bundle and no endpoint, and
 * with spans that are sent. An application without an endpoint does not even have the bundle. The
 * back end, which takes the spans, is in this process.
 *
 * @type {import('../report.js').Claim}
 */
export const tracing = {
  title: 'Traces for OpenTelemetry: off, and on with a span for each request and controller',
  unit: 'CPU µs/request',
  comparisons: [
    { name: 'JSON: off / without the bundle', numerator: 'JSON, off', denominator: 'JSON', goal: { atMost: 1.01 } },
    { name: 'JSON: on / without the bundle', numerator: 'JSON, on', denominator: 'JSON' },
    { name: 'page: on / without the bundle', numerator: 'page, on', denominator: 'page' },
  ],
  measure: async options => {
    const backEnd = createServer((request, response) => request.resume().on('end', () => response.end())).listen(
      0,
      host,
    )
    await once(backEnd, 'listening')
    const { port } = /** @type {import('node:net').AddressInfo} */ (backEnd.address())
    const ofPage = { server: 'sinfonietta', target: targets.page, status: 200 }
    const ofJson = { server: 'sinfonietta', target: targets.json, status: 200 }
    const measured = await measureLanes(
      [
        { ...ofJson, name: 'JSON' },
        { ...ofJson, name: 'JSON, off', feature: 'traces' },
        { ...ofJson, name: 'JSON, on', feature: `traces:http://${host}:${port}` },
        { ...ofPage, name: 'page' },
        { ...ofPage, name: 'page, on', feature: `traces:http://${host}:${port}` },
      ],
      options,
    )
    backEnd.close()
    backEnd.closeAllConnections()
    return measured
  },
}
