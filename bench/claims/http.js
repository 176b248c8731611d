import { measureLanes } from '../http/measure-lanes.js'
import { documentedPeers, peers } from '../http/peers.js'
import { fileSize, largeMessage, message, targets } from '../http/work.js'

/** @typedef {import('../report.js').Claim} Claim */

/**
 * A page of the site, rendered for each request.
 *
 * @type {Claim}
 */
export const page = {
  title: 'The star photo booth page, rendered for each request: the same bytes from all',
  unit: 'CPU µs/request',
  comparisons: compareWithPeers({ best: 1.05, 'bare node:http': 0.9 }),
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
  comparisons: compareWithPeers({ best: 1, protected: 1.15, 'bare node:http': 0.88 }),
  measure: options => measureLanes(lanesOf({ target: targets.json, status: 200 }), { ...options, hasSameBody: true }),
}

/**
 * A JSON body, read by the parser of each framework.
 *
 * @type {Claim}
 */
export const postJson = {
  title: 'A JSON body of 1,000 bytes, parsed and sent back: the same bytes from all',
  unit: 'CPU µs/request',
  comparisons: compareWithPeers({ Fastify: 0.95 }),
  measure: options =>
    measureLanes(lanesOf({ target: targets.echo, body: message, status: 200 }), { ...options, hasSameBody: true }),
}

/**
 * The same with a body that comes in many pieces.
 *
 * @type {Claim}
 */
export const postLarge = {
  title: 'A JSON body of 900,000 bytes, parsed and sent back: the same bytes from all',
  unit: 'CPU µs/request',
  comparisons: [compare('Fastify', 'Fastify', 1), compare('Hono', 'Hono'), compare('bare node:http', 'bare node:http')],
  measure: options =>
    measureLanes(
      documentedLanesOf({ target: targets.echo, body: largeMessage, status: 200 }),
      forLongRequests({ ...options, hasSameBody: true }),
    ),
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
    ...compareWithPeers({ Fastify: 0.85 }),
  ],
  measure: options => {
    const ourPage = { name: 'our page', server: 'sinfonietta', target: targets.page, status: 200 }
    return measureLanes([...lanesOf({ target: targets.notFound, status: 404 }), ourPage], options)
  },
}

const ofJson = { server: 'sinfonietta', target: targets.json, status: 200 }

/**
 * What the lines cost, and what the peers need with their loggers. All write to /dev/null.
 *
 * @type {Claim}
 */
export const accessLog = {
  title: 'The access log, which is on by default in production',
  unit: 'CPU µs/request',
  comparisons: [
    { name: 'JSON: with / without', numerator: 'JSON, with', denominator: 'JSON', goal: { atMost: 1.08 } },
    { name: 'page: with / without', numerator: 'page, with', denominator: 'page' },
    { name: 'JSON: Fastify with pino / with', numerator: 'Fastify', denominator: 'JSON, with', goal: { atLeast: 1 } },
    { name: 'JSON: Hono with its logger / with', numerator: 'Hono', denominator: 'JSON, with' },
  ],
  measure: options => {
    const ofPage = { ...ofJson, target: targets.page }
    const lanes = [
      { ...ofJson, name: 'JSON' },
      { ...ofJson, name: 'JSON, with', feature: 'access' },
      { ...ofPage, name: 'page' },
      { ...ofPage, name: 'page, with', feature: 'access' },
      { ...ofJson, name: 'Fastify', server: 'fastify', feature: 'logs' },
      { ...ofJson, name: 'Hono', server: 'hono', feature: 'logs' },
    ]
    return measureLanes(lanes, options)
  },
}

/** What it costs that code finds the request it works for, behind an `await` too (AsyncLocalStorage). */
export const requestContext = {
  title: 'Following requests (AsyncLocalStorage), which is off until a bundle asks for it',
  unit: 'CPU µs/request',
  comparisons: [
    { name: 'page: with / without', numerator: 'page, with', denominator: 'page' },
    { name: 'JSON: with / without', numerator: 'JSON, with', denominator: 'JSON' },
  ],
  measure: (/** @type {import('../report.js').Options} */ options) => {
    const ofPage = { ...ofJson, target: targets.page }
    const lanes = [
      { ...ofPage, name: 'page' },
      { ...ofPage, name: 'page, with', feature: 'context' },
      { ...ofJson, name: 'JSON' },
      { ...ofJson, name: 'JSON, with', feature: 'context' },
    ]
    return measureLanes(lanes, options)
  },
}

const pieces = { status: 200, isVarying: false }

/**
 * Ten megabytes that are made and sent in pieces of 64 kB.
 *
 * @type {Claim}
 */
export const download = {
  title: 'A stream of 10 MB to the client',
  unit: 'CPU µs/request',
  comparisons: ['bare node:http', 'Fastify', 'Hono'].map(name => compare(name, name)),
  measure: options =>
    measureLanes(documentedLanesOf({ ...pieces, target: targets.download }), forLongRequests(options)),
}

/**
 * Ten megabytes that are read in pieces and counted.
 *
 * @type {Claim}
 */
export const upload = {
  title: 'A stream of 10 MB from the client',
  unit: 'CPU µs/request',
  comparisons: ['bare node:http', 'Fastify', 'Hono'].map(name => compare(name, name)),
  measure: options =>
    measureLanes(
      documentedLanesOf({
        ...pieces,
        target: targets.upload,
        bytes: fileSize,
        contentType: 'application/octet-stream',
      }),
      forLongRequests({ ...options, hasSameBody: true }),
    ),
}

/**
 * A request of a millisecond or more: a hundredth of the requests.
 *
 * @param {import('../http/measure-lanes.js').LaneOptions} options
 */
function forLongRequests({ requests, warmUp, ...options }) {
  return { ...options, requests: Math.ceil(requests / 100), warmUp: Math.ceil(warmUp / 100), requestsOfTurn: 10 }
}

const ours = { name: 'Sinfonietta', server: 'sinfonietta' }

/** @typedef {Pick<import('../http/measure-lanes.js').Lane, 'target' | 'body' | 'bytes' | 'contentType' | 'status' | 'isVarying'>} Request */

/** @param {Request} request */
function lanesOf(request) {
  return [ours, ...peers].map(server => ({ ...server, ...request }))
}

/**
 * Our kernel, and the peers as their guides show them.
 *
 * @param {Request} request
 */
function documentedLanesOf(request) {
  return [ours, ...documentedPeers].map(server => ({ ...server, ...request }))
}

/**
 * @param {Readonly<Record<string, number>>} goals by peer; `best` is the better one of Fastify and
 *   Hono, `protected` the same with our headers
 * @returns {import('../report.js').Comparison[]}
 */
function compareWithPeers({ best, protected: bestProtected, ...goals }) {
  const namesOf = (/** @type {string} */ form) => peers.filter(peer => peer.form === form).map(({ name }) => name)
  return [
    compare('best of Fastify and Hono', namesOf('documented'), best),
    compare('best of Fastify and Hono with our headers', namesOf('protected'), bestProtected),
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
