/**
 * A framework to compare with, or bare `node:http`.
 *
 * @typedef {object} Peer
 * @property {string} name
 * @property {string} server a file in servers/
 * @property {string} [feature] passed to the server
 * @property {'documented' | 'protected' | 'fastest'} [form] of a fast framework: written as its guide
 *   shows, the same with the header fields that our kernel sends by default, or for speed alone
 * @property {number} [fromNode] the first major version of Node.js that it supports
 */

/** @type {readonly Peer[]} */
const all = [
  { name: 'bare node:http', server: 'node' },
  { name: 'Fastify', server: 'fastify', form: 'documented' },
  { name: 'Hono', server: 'hono', form: 'documented' },
  { name: 'bare node:http, our headers', server: 'node', feature: 'protected' },
  { name: 'Fastify, our headers', server: 'fastify', feature: 'protected', form: 'protected' },
  { name: 'Hono, our headers', server: 'hono', feature: 'protected', form: 'protected' },
  { name: 'Fastify, fastest', server: 'fastify', feature: 'fastest', form: 'fastest' },
  { name: 'Fastify 6, fastest', server: 'fastify', feature: 'next', fromNode: 24, form: 'fastest' },
  { name: 'Hono, fastest', server: 'hono', feature: 'fastest', form: 'fastest' },
  { name: 'h3, fastest', server: 'h3', form: 'fastest' },
  { name: 'Express', server: 'express' },
]

const nodeVersion = Number.parseInt(process.versions.node, 10)

/** The peers that this version of Node.js can run. */
export const peers = all.filter(({ fromNode = 0 }) => nodeVersion >= fromNode)

/** Bare `node:http`, Fastify and Hono, as their guides show them. */
export const documentedPeers = all.filter(({ name }) => ['bare node:http', 'Fastify', 'Hono'].includes(name))

/** The other peers. */
export const peersLeftOut = all.filter(peer => !peers.includes(peer))
