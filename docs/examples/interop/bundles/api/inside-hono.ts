import type { Socket } from 'node:net'
import { Hono } from 'hono'
import { type Application, toFetchHandler } from 'sinfonietta'

/** What the server of Hono on Node.js passes to each handler. */
export type Environment = { Bindings: { readonly incoming: { readonly socket: Socket } } }

/** Creates a Hono application that leaves all that it does not answer to this kernel. */
export function createOuterApplication(kernel: { readonly app: Application }): Hono<Environment> {
  const handle = toFetchHandler(kernel, {
    connection: (_request, { incoming }: Environment['Bindings']) => incoming.socket,
  })
  const outer = new Hono<Environment>()
  outer.get('/outer', c => c.text('Hono'))
  outer.all('*', c => handle(c.req.raw, c.env))
  return outer
}
