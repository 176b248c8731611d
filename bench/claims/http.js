import path from 'node:path'
import { Child } from '../http/child.js'
import { measureLanes } from '../http/measure-lanes.js'
import { peers } from '../http/peers.js'
import { message, targets } from '../http/work.js'

/** @typedef {import('../report.js').Claim} Claim */

/**
 * A page of the site, rendered for each request.
 *
 * @type {Claim}
 */
export const page = {
  title: 'The star photo booth page, rendered for each request: the same bytes from all',
  unit: 'CPU µs/request',
  comparisons: compareWithPeers({ best: 1, 'bare node:http': 0.92 }),
  measure: options => measureLanes(lanesOf({ target: targets.page, status: 200 }), { ...options, hasSameBody: true }),
}

/**
 * What a framework itself costs.
 *
 * @type {Claim}
 */
export const json = {
  title: 'A JSON hello: the same bytes from all',
  unit: 'CPU µs/request',
  comparisons: compareWithPeers({ best: 1, 'bare node:http': 0.88 }),
  measure: options => measureLanes(lanesOf({ target: targets.json, status: 200 }), { ...options, hasSameBody: true }),
}

/**
 * A page beside a program that fights for the caches.
 *
 * @type {Claim}
 */
export const pageBusy = {
  ...page,
  title: 'The star photo booth page, beside a process that fights for the caches',
  comparisons: compareWithPeers({ best: 0.95 }),
  measure: options => besideBusyProcess(() => page.measure(options)),
}

/**
 * A JSON hello beside a program that fights for the caches.
 *
 * @type {Claim}
 */
export const jsonBusy = {
  ...json,
  title: 'A JSON hello, beside a process that fights for the caches',
  comparisons: compareWithPeers({ best: 0.95 }),
  measure: options => besideBusyProcess(() => json.measure(options)),
}

/**
 * A JSON body, read by the parser of each framework.
 *
 * @type {Claim}
 */
export const postJson = {
  title: 'A JSON body of 1,000 bytes, parsed and sent back: the same bytes from all',
  unit: 'CPU µs/request',
  comparisons: compareWithPeers({}),
  measure: options =>
    measureLanes(lanesOf({ target: targets.echo, body: message, status: 200 }), { ...options, hasSameBody: true }),
}

/**
 * Ours is a whole error page, made by a sub-request; the peers answer with a fixed text.
 *
 * @type {Claim}
 */
export const notFound = {
  title: '404: ours is an error page by sub-request; the peers send a fixed text',
  unit: 'CPU µs/request',
  comparisons: [
    { name: 'our page / our 404', numerator: 'our page', denominator: 'Sinfonietta', goal: { atLeast: 0.5 } },
    ...compareWithPeers({ Fastify: 0.75 }),
  ],
  measure: options => {
    const ourPage = { name: 'our page', server: 'sinfonietta', target: targets.page, status: 200 }
    return measureLanes([...lanesOf({ target: targets.notFound, status: 404 }), ourPage], options)
  },
}

export const accessLog = createFeatureClaim('The access log, which is on by default in production', 'access')

/** What it costs that code finds the request it works for, behind an `await` too (AsyncLocalStorage). */
export const requestContext = createFeatureClaim(
  'Following requests (AsyncLocalStorage), which is off until a bundle asks for it',
  'context',
)

/**
 * A page and a JSON response, each with and without a feature of the server.
 *
 * @param {string} title
 * @param {string} feature
 * @returns {Claim}
 */
function createFeatureClaim(title, feature) {
  return {
    title,
    unit: 'CPU µs/request',
    comparisons: [
      { name: 'page: with / without', numerator: 'page, with', denominator: 'page' },
      { name: 'JSON: with / without', numerator: 'JSON, with', denominator: 'JSON' },
    ],
    measure: options => {
      const ofPage = { server: 'sinfonietta', target: targets.page, status: 200 }
      const ofJson = { server: 'sinfonietta', target: targets.json, status: 200 }
      const lanes = [
        { ...ofPage, name: 'page' },
        { ...ofPage, name: 'page, with', feature },
        { ...ofJson, name: 'JSON' },
        { ...ofJson, name: 'JSON, with', feature },
      ]
      return measureLanes(lanes, options)
    },
  }
}

/** @param {{ target: string, body?: string, status: number }} request */
function lanesOf(request) {
  return [{ name: 'Sinfonietta', server: 'sinfonietta' }, ...peers].map(server => ({ ...server, ...request }))
}

/**
 * @param {Readonly<Record<string, number>>} goals by peer; `best` is the better one of Fastify and Hono
 * @returns {import('../report.js').Comparison[]}
 */
function compareWithPeers({ best, ...goals }) {
  const namesOf = (/** @type {string} */ form) => peers.filter(peer => peer.form === form).map(({ name }) => name)
  return [
    compare('best of Fastify and Hono', namesOf('documented'), best),
    compare('best of Fastify and Hono with our headers', namesOf('protected')),
    compare('best of the fastest forms', namesOf('fastest')),
    ...peers.map(({ name }) => compare(name, name, goals[name])),
  ]
}

/**
 * @param {string} name
 * @param {string | readonly string[]} numerator
 * @param {number} [atLeast]
 */
function compare(name, numerator, atLeast) {
  const goal = atLeast === undefined ? {} : { goal: { atLeast } }
  return { name: `${name} / Sinfonietta`, numerator, denominator: 'Sinfonietta', ...goal }
}

/** @param {() => Promise<Map<string, number[]>>} measure */
async function besideBusyProcess(measure) {
  const busy = new Child(path.join(import.meta.dirname, '../http/busy.js'))
  await busy.receive()
  try {
    return await measure()
  } finally {
    await busy.end()
  }
}
