import { measureLanes } from '../http/measure-lanes.js'
import { targets } from '../http/work.js'

/** @typedef {import('../report.js').Claim} Claim */

/**
 * The cost of waiting for a request to sample: two servers record the same requests, and one of them is
 * armed for an unused route. Both have the cost of the profiler, so that only this difference remains.
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
