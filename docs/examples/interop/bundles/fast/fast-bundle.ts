import Fastify from 'fastify'
import { type Bundle, mountNodeHandler } from 'sinfonietta'

/** Creates the bundle of an application of Fastify. */
export function createFastBundle(): Bundle {
  const fast = Fastify()
  fast.get<{ Params: { id: string } }>('/orders/:id', async ({ params, url }) => ({ id: params.id, url }))
  fast.post('/orders', async ({ body }, reply) => reply.code(201).send(body))
  return {
    name: 'fast',
    async register({ routes }) {
      await fast.ready()
      mountNodeHandler(routes, '/fast', (request, response) => fast.routing(request, response))
    },
    close: () => fast.close(),
  }
}
