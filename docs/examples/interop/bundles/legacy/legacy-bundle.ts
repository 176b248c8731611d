import express from 'express'
import { addNodeMiddleware, type Bundle, mountNodeHandler } from 'sinfonietta'

/** Creates the bundle of the old application. */
export function createLegacyBundle(): Bundle {
  const legacy = express()
  legacy.use(express.json())
  legacy.get('/orders/:id', (request, response) => {
    response.cookie('seen', request.params.id).send(`order ${request.params.id} at ${request.originalUrl}`)
  })
  legacy.post('/orders', (request, response) => {
    response.status(201).json(request.body)
  })
  legacy.get('/broken', () => {
    throw new Error('The old code fails.')
  })
  return {
    name: 'legacy',
    register({ dispatcher, routes }) {
      mountNodeHandler(routes, '/legacy', legacy)
      addNodeMiddleware(dispatcher, (_request, response, next) => {
        response.setHeader('x-powered-by', 'two frameworks')
        next()
      })
    },
  }
}
