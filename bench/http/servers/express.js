import express from 'express'
import { createPage } from '../page.js'
import { cacheControl, greeting, host, targets } from '../work.js'

/** Express in production (NODE_ENV), without the headers that no other server sends. */
export async function start() {
  const renderPage = createPage()
  const app = express().disable('x-powered-by').disable('etag')
  app.get(targets.page, (_request, response) => {
    response.set('cache-control', cacheControl).send(renderPage())
  })
  app.get(targets.json, (_request, response) => {
    response.set('cache-control', cacheControl).json(greeting)
  })
  app.post(targets.echo, express.json(), (request, response) => {
    response.set('cache-control', cacheControl).json(request.body)
  })
  return new Promise(resolve => {
    const server = app.listen(0, host, () => resolve(Number(Object(server.address()).port)))
  })
}
