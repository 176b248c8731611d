import { Request } from '../../dist/lib/http/request.js'
import { RouteCollection } from '../../dist/lib/routing/route-collection.js'
import { RouteMatcher } from '../../dist/lib/routing/route-matcher.js'
import { measureFunctions } from '../measure-functions.js'

/** More calls than requests: one takes less than a microsecond. */
const callsPerRequest = 10

const few = 10
const many = 1000

/**
 * How paths of routes are made of a number. All have the same length: V8 needs longer for longer ones.
 *
 * @type {Readonly<Record<string, (number: string) => string>>}
 */
const paths = {
  'fixed, /api/v1/…': number => `/api/v1/resource-${number}/list`,
  'fixed, no common prefix': number => `/resource-${number}/list`,
  'pattern, /api/v1/…': number => `/api/v1/resource-${number}/:id/edit`,
  'pattern, no common prefix': number => `/resource-${number}/:id/edit`,
}

/** What both routers are asked: ten routes that both have, or paths that neither has. */
const kinds = Object.entries(paths).flatMap(([kind, toPath]) => [
  { kind, toPath, asked: numbersTo(few), outcome: 'match' },
  {
    kind: `${kind}, miss`,
    toPath,
    asked: numbersTo(many).map(number => number.replace('0', '9')),
    outcome: 'not-found',
  },
])

/**
 * The time of a match does not grow with the number of routes.
 *
 * @type {import('../report.js').Claim}
 */
export const router = {
  title: `Matching a request among ${many} routes and among ${few}`,
  unit: 'CPU ns/match',
  comparisons: [
    ...kinds.map(({ kind }) => ({
      name: `${kind}: ${many} / ${few}`,
      numerator: `${kind}: ${many}`,
      denominator: `${kind}: ${few}`,
      goal: { atMost: 1.1 },
    })),
    ...Object.keys(paths).map(kind => ({
      name: `${kind}: ${many}, all of them asked for / ${few}`,
      numerator: `${kind}: ${many}, all of them asked for`,
      denominator: `${kind}: ${few}`,
    })),
  ],
  async measure({ rounds, requests }) {
    const measured = new Map()
    for (const { kind, toPath, asked, outcome } of kinds) {
      const functions = {
        [`${kind}: ${few}`]: createCall(few, toPath, asked, outcome),
        [`${kind}: ${many}`]: createCall(many, toPath, asked, outcome),
        // Code and data of all routes do not fit into the processor's caches together.
        ...(outcome === 'match' && {
          [`${kind}: ${many}, all of them asked for`]: createCall(many, toPath, numbersTo(many), outcome),
        }),
      }
      const results = await measureFunctions(functions, { rounds, calls: requests * callsPerRequest })
      for (const [name, values] of results) measured.set(name, values)
    }
    return measured
  },
}

/**
 * Every side goes through the same number of requests: what differs is the router alone.
 *
 * @param {number} size
 * @param {(number: string) => string} toPath
 * @param {readonly string[]} asked
 * @param {string} outcome
 */
function createCall(size, toPath, asked, outcome) {
  const routes = new RouteCollection()
  for (const number of numbersTo(size)) {
    routes.add({ name: number, path: toPath(number), methods: ['GET'], controller: undefined })
  }
  const requests = Array.from({ length: many }, (_, index) => {
    const target = toPath(String(asked[index % asked.length])).replace(':id', '12345')
    return new Request({ target, headers: { host: 'localhost' } })
  })
  const matcher = new RouteMatcher(routes)
  return (/** @type {number} */ turn) => {
    const request = requests[turn % many]
    if (request === undefined || matcher.match(request).outcome !== outcome) throw new Error('The router is wrong.')
  }
}

/** @param {number} count */
function numbersTo(count) {
  return Array.from({ length: count }, (_, number) => String(number).padStart(4, '0'))
}
