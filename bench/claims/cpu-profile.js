import { measureLanes } from '../http/measure-lanes.js'
import { targets } from '../http/work.js'

/** @typedef {import('../report.js').Claim} Claim */

/**
 * What it costs to wait for a request that is to be sampled: two servers that record the same requests, of which one is
 * armed for a route that nobody asks for. Without the profiler's own price nobody could tell that from nothing.
 *
 * @type {Claim}
 */
export const cpuProfile = {
  title: 'Waiting for a request to sample its CPU, while others come',
  unit: 'CPU µs/request',
  comparisons: [
    {
      name: 'armed for another route / not armed',
      numerator: 'armed for another route',
      denominator: 'not armed',
      goal: { atMost: 1.03 },
    },
  ],
  measure: options => {
    const lane = { server: 'development', target: targets.page, status: 200 }
    return measureLanes(
      [
        { ...lane, name: 'not armed', feature: 'profiled' },
        { ...lane, name: 'armed for another route', feature: 'armed' },
      ],
      options,
    )
  },
}
