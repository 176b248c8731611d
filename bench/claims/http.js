import { measureLanes } from '../http/measure-lanes.js'
import { targets } from '../http/work.js'

/** @typedef {import('../report.js').Claim} Claim */

const peers = { 'bare node:http': 'node', Fastify: 'fastify', Hono: 'hono', Express: 'express' }

/**
 * A page of the site, rendered for each request.
 *
 * @type {Claim}
 */
export const page = {
  title: 'The star photo booth page, rendered for each request: the same bytes from all',
  unit: 'CPU µs/request',
  comparisons: compareWithPeers({ 'bare node:http': 0.9, Fastify: 1 }),
  measure: options => measureLanes(againstPeers(targets.page, 200), { ...options, hasSameBody: true }),
}

/**
 * What a framework itself costs.
 *
 * @type {Claim}
 */
export const json = {
  title: 'A JSON hello: the same bytes from all',
  unit: 'CPU µs/request',
  comparisons: compareWithPeers({}),
  measure: options => measureLanes(againstPeers(targets.json, 200), { ...options, hasSameBody: true }),
}

/**
 * Ours is a whole error page, made by a sub-request; the peers answer with a constant text.
 *
 * @type {Claim}
 */
export const notFound = {
  title: '404: ours is an error page by sub-request; the peers send a fixed text',
  unit: 'CPU µs/request',
  comparisons: [
    { name: 'our page / our 404', numerator: 'our page', denominator: 'Sinfonietta', goal: { atLeast: 0.5 } },
    ...compareWithPeers({}),
  ],
  measure: options => {
    const ourPage = { name: 'our page', server: 'sinfonietta', target: targets.page, status: 200 }
    return measureLanes([...againstPeers(targets.notFound, 404), ourPage], options)
  },
}

/**
 * What it costs that code finds the request it works for, behind an `await` too (AsyncLocalStorage).
 *
 * @type {Claim}
 */
export const requestContext = {
  title: 'Following requests (AsyncLocalStorage), which is off until a bundle asks for it',
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
      { ...ofPage, name: 'page, with', feature: 'context' },
      { ...ofJson, name: 'JSON' },
      { ...ofJson, name: 'JSON, with', feature: 'context' },
    ]
    return measureLanes(lanes, options)
  },
}

/**
 * @param {string} target
 * @param {number} status
 */
function againstPeers(target, status) {
  const servers = Object.entries({ Sinfonietta: 'sinfonietta', ...peers })
  return servers.map(([name, server]) => ({ name, server, target, status }))
}

/**
 * @param {Readonly<Record<string, number>>} goals
 * @returns {import('../report.js').Comparison[]}
 */
function compareWithPeers(goals) {
  return Object.keys(peers).map(name => {
    const comparison = { name: `${name} / Sinfonietta`, numerator: name, denominator: 'Sinfonietta' }
    return goals[name] === undefined ? comparison : { ...comparison, goal: { atLeast: goals[name] } }
  })
}
