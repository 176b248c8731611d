import { Hono } from 'hono'
import { type Bundle, kernelRequestOf, mountFetchHandler } from 'sinfonietta'

/** Creates the bundle of the API. */
export function createApiBundle(): Bundle {
  const api = new Hono().basePath('/api')
  api.get('/hello/:name', c => c.json({ hello: c.req.param('name') }))
  api.get('/client', c => c.text(kernelRequestOf(c.req.raw)?.clientIp ?? ''))
  api.post('/size', async c => {
    let size = 0
    for await (const chunk of c.req.raw.body ?? []) size += chunk.byteLength
    return c.json({ size })
  })
  return {
    name: 'api',
    register({ routes }) {
      mountFetchHandler(routes, '/api', api.fetch, { defaults: { _body_limit: 50 * 1024 ** 2 } })
    },
  }
}
