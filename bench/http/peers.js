/**
 * A framework to compare with, or bare `node:http`.
 *
 * @typedef {object} Peer
 * @property {string} name
 * @property {string} server a file in servers/
 * @property {string} [feature] passed to the server
 * @property {boolean} [isRival] whether it is one of the fast frameworks, of which the best is compared
 * @property {number} [fromNode] the first major version of Node.js that it supports
 */

/** @type {readonly Peer[]} */
const all = [
  { name: 'bare node:http', server: 'node' },
  { name: 'Fastify', server: 'fastify', isRival: true },
  { name: 'Fastify 6', server: 'fastify', feature: 'next', fromNode: 24, isRival: true },
  { name: 'Hono', server: 'hono', isRival: true },
  { name: 'h3', server: 'h3', isRival: true },
  { name: 'Express', server: 'express' },
]

const nodeVersion = Number.parseInt(process.versions.node, 10)

/** The peers that this version of Node.js can run. */
export const peers = all.filter(({ fromNode = 0 }) => nodeVersion >= fromNode)

/** The other peers. */
export const peersLeftOut = all.filter(peer => !peers.includes(peer))
