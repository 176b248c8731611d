import { H3, readBody, serve } from 'h3'
import { FastResponse } from 'srvx'
import { createPage } from '../page.js'
import { cacheControl, greeting, host, targets } from '../work.js'

const ofPage = Object.freeze({ 'content-type': 'text/html; charset=UTF-8', 'cache-control': cacheControl })
const ofJson = Object.freeze({ 'content-type': 'application/json', 'cache-control': cacheControl })

/** h3 on srvx, answering with the `FastResponse` of srvx, which is not converted from a standard `Response`. */
export async function start() {
  const renderPage = createPage()
  const app = new H3()
  app.get(targets.page, () => new FastResponse(renderPage(), { headers: ofPage }))
  app.get(targets.json, () => new FastResponse(JSON.stringify(greeting), { headers: ofJson }))
  app.post(targets.echo, async event => new FastResponse(JSON.stringify(await readBody(event)), { headers: ofJson }))
  const server = serve(app, { port: 0, hostname: host, silent: true })
  await server.ready()
  return Number(new URL(String(server.url)).port)
}
