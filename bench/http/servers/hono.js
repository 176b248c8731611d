import { serve } from '@hono/node-server'
import { Hono } from 'hono'
import { createPage } from '../page.js'
import { cacheControl, greeting, host, targets } from '../work.js'

const ofPage = Object.freeze({ 'content-type': 'text/html; charset=UTF-8', 'cache-control': cacheControl })
const ofJson = Object.freeze({ 'content-type': 'application/json', 'cache-control': cacheControl })

/** Hono on its own adapter for Node. A `Response` of the adapter is cheaper than `context.html()` and `context.json()`. */
export async function start() {
  const renderPage = createPage()
  const app = new Hono()
  app.get(targets.page, () => respond(renderPage(), ofPage))
  app.get(targets.json, () => respond(JSON.stringify(greeting), ofJson))
  app.post(targets.echo, async context => respond(JSON.stringify(await context.req.json()), ofJson))
  return new Promise(resolve => serve({ fetch: app.fetch, port: 0, hostname: host }, ({ port }) => resolve(port)))
}

/**
 * @param {string} body
 * @param {Readonly<Record<string, string>>} headers
 */
function respond(body, headers) {
  // biome-ignore lint/style/noRestrictedGlobals: the adapter replaces the global class by its own.
  return new Response(body, { headers })
}
