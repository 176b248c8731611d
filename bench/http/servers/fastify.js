import { randomUUID } from 'node:crypto'
import { Readable } from 'node:stream'
import { openEvents, publish } from '../events.js'
import { createPage } from '../page.js'
import { cacheControl, createPieces, fileSize, greeting, host, protection, targets } from '../work.js'

const text = { type: 'string' }
const greetingSchema = { response: { 200: { type: 'object', properties: { hello: text } } } }
const messageSchema = {
  response: {
    200: {
      type: 'object',
      properties: { name: text, email: text, subject: text, tags: { type: 'array', items: text }, text },
    },
  },
}

const fastest = { routerOptions: { compile: true } }

/**
 * Fastify with schemas of the JSON that it sends. It logs warnings, as our server does.
 *
 * @param {string} [feature] `protected`: with the header fields that our kernel sends by default;
 *   `fastest`: with the compiled router and without a logger; `next`: the same with Fastify 6;
 *   `logs`: it logs each request, as its guide shows
 */
export async function start(feature) {
  const { fastify } = feature === 'next' ? await import('fastify-6') : await import('fastify')
  const renderPage = createPage()
  const logger = feature === 'logs' ? true : { level: 'warn' }
  const options = feature === 'fastest' || feature === 'next' ? fastest : { logger }
  const app = fastify({ ...options, ...(feature === 'protected' && { genReqId: () => randomUUID() }) })
  if (feature === 'protected') {
    app.addHook('onRequest', (request, reply, done) => {
      reply.headers({ ...protection, 'x-request-id': request.id })
      done()
    })
  }
  app.get(targets.page, (_request, reply) => {
    reply.header('cache-control', cacheControl).type('text/html; charset=UTF-8').send(renderPage())
  })
  app.get(targets.json, { schema: greetingSchema }, (_request, reply) => {
    reply.header('cache-control', cacheControl).send(greeting)
  })
  app.post(targets.echo, { schema: messageSchema, bodyLimit: 2_000_000 }, (request, reply) => {
    reply.header('cache-control', cacheControl).send(request.body)
  })
  app.get(targets.download, (_request, reply) => {
    reply.header('content-length', fileSize).type('application/octet-stream').send(Readable.from(createPieces()))
  })
  app.addContentTypeParser('application/octet-stream', (_request, payload, done) => done(null, payload))
  app.post(targets.upload, { bodyLimit: fileSize }, async request => {
    let bytes = 0
    for await (const chunk of /** @type {AsyncIterable<Buffer>} */ (request.body)) bytes += chunk.length
    return { bytes }
  })
  app.get(targets.events, (_request, reply) => {
    reply.hijack()
    openEvents(reply.raw)
  })
  app.get(targets.publish, (_request, reply) => {
    publish()
    reply.send(greeting)
  })
  await app.listen({ port: 0, host })
  return Number(Object(app.addresses()[0]).port)
}
