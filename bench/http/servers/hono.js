import { Readable } from 'node:stream'
import { serve } from '@hono/node-server'
import { Hono } from 'hono'
import { logger } from 'hono/logger'
import { requestId } from 'hono/request-id'
import { secureHeaders } from 'hono/secure-headers'
import { streamSSE } from 'hono/streaming'
import { createPage } from '../page.js'
import { cacheControl, createPieces, event, fileSize, greeting, host, targets } from '../work.js'

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
 * @param {string} [feature] `protected`: with the header fields that our kernel sends by default, by the middleware
 * of Hono; `logs`: with its logger; `fastest`: a plain `Response`, which the adapter replaces by its own, is cheaper
 */
export async function start(feature) {
  const renderPage = createPage()
  const app = feature === 'fastest' ? createFastest(renderPage) : createDocumented(renderPage, feature)
  return new Promise(resolve => serve({ fetch: app.fetch, port: 0, hostname: host }, ({ port }) => resolve(port)))
}

/**
 * @param {() => string} renderPage
 * @param {string | undefined} feature
 */
function createDocumented(renderPage, feature) {
  const headers = { 'cache-control': cacheControl }
  const app = new Hono()
  if (feature === 'protected') app.use(requestId(), secureHeaders(protectiveHeaders))
  if (feature === 'logs') app.use(logger())
  app.get(targets.page, context => context.html(renderPage(), 200, headers))
  app.get(targets.json, context => context.json(greeting, 200, headers))
  app.post(targets.echo, async context => context.json(await context.req.json(), 200, headers))
  app.get(targets.download, context => {
    const stream = Readable.toWeb(Readable.from(createPieces()))
    return context.body(/** @type {ReadableStream} */ (stream), 200, { 'content-length': String(fileSize) })
  })
  app.post(targets.upload, async context => {
    let bytes = 0
    for await (const chunk of context.req.raw.body ?? []) bytes += chunk.length
    return context.json({ bytes })
  })
  /** @type {Set<import('hono/streaming').SSEStreamingApi>} */
  const streams = new Set()
  app.get(targets.events, context =>
    streamSSE(context, async stream => {
      streams.add(stream)
      await stream.write(':\n\n')
      await new Promise(resolve => stream.onAbort(() => resolve(streams.delete(stream))))
    }),
  )
  app.get(targets.publish, async context => {
    await Promise.all(
      Array.from(streams, each => each.writeSSE({ event: event.event, data: JSON.stringify(event.data) })),
    )
    return context.json(greeting)
  })
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
