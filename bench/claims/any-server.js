import { measureLanes } from '../http/measure-lanes.js'
import { targets } from '../http/work.js'

/**
 * What it costs to record a JSON route of Express, and the same route of an application of our own.
 *
 * @type {import('../report.js').Claim}
 */
export const anyServer = {
  title: 'Recording a JSON route: Express and an application of our own',
  unit: 'CPU µs/request',
  comparisons: [
    {
      name: 'added to Express / added to our own',
      numerator: 'added to Express',
      denominator: 'added to our own',
      goal: { atMost: 1.15 },
    },
    { name: 'Express: profiled / not', numerator: 'Express, profiled', denominator: 'Express' },
  ],
  measure: async options => {
    const route = { target: targets.json, status: 200 }
    const measured = await measureLanes(
      [
        { ...route, name: 'our own', server: 'development', feature: 'json' },
        { ...route, name: 'our own, profiled', server: 'development', feature: 'profiled-json' },
        { ...route, name: 'Express', server: 'express-json' },
        { ...route, name: 'Express, profiled', server: 'express-json', feature: 'profiled' },
      ],
      options,
    )
    for (const name of ['our own', 'Express']) {
      const plain = measured.get(name) ?? []
      const added = (measured.get(`${name}, profiled`) ?? []).map((cost, round) => cost - Number(plain[round]))
      measured.set(`added to ${name}`, added)
    }
    return measured
  },
}
