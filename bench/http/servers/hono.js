import { serve } from '@hono/node-server'
import { Hono } from 'hono'
import { createPage } from '../page.js'
import { cacheControl, greeting, host, targets } from '../work.js'

/** Hono on its own adapter for Node. */
export async function start() {
  const renderPage = createPage()
  const app = new Hono()
  app.get(targets.page, context => context.html(renderPage(), 200, { 'cache-control': cacheControl }))
  app.get(targets.json, context => context.json(greeting, 200, { 'cache-control': cacheControl }))
  return new Promise(resolve => serve({ fetch: app.fetch, port: 0, hostname: host }, ({ port }) => resolve(port)))
}
