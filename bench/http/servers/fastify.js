import { fastify } from 'fastify'
import { createPage } from '../page.js'
import { cacheControl, greeting, host, targets } from '../work.js'

const schema = { response: { 200: { type: 'object', properties: { hello: { type: 'string' } } } } }

/** Fastify as in production: it logs warnings, and its JSON has a schema. */
export async function start() {
  const renderPage = createPage()
  const app = fastify({ logger: { level: 'warn' } })
  app.get(targets.page, (_request, reply) => {
    reply.header('cache-control', cacheControl).type('text/html; charset=UTF-8').send(renderPage())
  })
  app.get(targets.json, { schema }, (_request, reply) => {
    reply.header('cache-control', cacheControl).send(greeting)
  })
  await app.listen({ port: 0, host })
  return Number(Object(app.addresses()[0]).port)
}
