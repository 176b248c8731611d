import { serve } from '@hono/node-server'
import { Hono } from 'hono'
import { requestId } from 'hono/request-id'
import { secureHeaders } from 'hono/secure-headers'
import { createPage } from '../page.js'
import { cacheControl, greeting, host, targets } from '../work.js'

const ofPage = Object.freeze({ 'content-type': 'text/html; charset=UTF-8', 'cache-control': cacheControl })
const ofJson = Object.freeze({ 'content-type': 'application/json', 'cache-control': cacheControl })

/** Three of the headers that the middleware would send. */
const protectiveHeaders = {
  xFrameOptions: 'SAMEORIGIN',
  referrerPolicy: 'strict-origin-when-cross-origin',
  crossOriginEmbedderPolicy: false,
  crossOriginResourcePolicy: false,
  crossOriginOpenerPolicy: false,
  originAgentCluster: false,
  strictTransportSecurity: false,
  xDnsPrefetchControl: false,
  xDownloadOptions: false,
  xPermittedCrossDomainPolicies: false,
  xXssProtection: false,
}

/**
 * Hono on its own adapter for Node, with `context.html()` and `context.json()`.
 *
 * @param {string} [feature] `protected`: with the header fields that our kernel sends by default, by the middleware of Hono; `fastest`: a plain `Response`, which the adapter replaces by its own, is cheaper
 */
export async function start(feature) {
  const renderPage = createPage()
  const app = feature === 'fastest' ? createFastest(renderPage) : createDocumented(renderPage, feature === 'protected')
  return new Promise(resolve => serve({ fetch: app.fetch, port: 0, hostname: host }, ({ port }) => resolve(port)))
}

/**
 * @param {() => string} renderPage
 * @param {boolean} isProtected
 */
function createDocumented(renderPage, isProtected) {
  const headers = { 'cache-control': cacheControl }
  const app = new Hono()
  if (isProtected) app.use(requestId(), secureHeaders(protectiveHeaders))
  app.get(targets.page, context => context.html(renderPage(), 200, headers))
  app.get(targets.json, context => context.json(greeting, 200, headers))
  app.post(targets.echo, async context => context.json(await context.req.json(), 200, headers))
  return app
}

/** @param {() => string} renderPage */
function createFastest(renderPage) {
  const app = new Hono()
  app.get(targets.page, () => respond(renderPage(), ofPage))
  app.get(targets.json, () => respond(JSON.stringify(greeting), ofJson))
  app.post(targets.echo, async context => respond(JSON.stringify(await context.req.json()), ofJson))
  return app
}

/**
 * @param {string} body
 * @param {Readonly<Record<string, string>>} headers
 */
function respond(body, headers) {
  // biome-ignore lint/style/noRestrictedGlobals: the adapter replaces the global class by its own.
  return new Response(body, { headers })
}
