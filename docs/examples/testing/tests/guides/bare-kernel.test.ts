import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ExceptionEvent, Response } from 'sinfonietta'
import { createBareKernel } from 'sinfonietta/testing'

test('a listener of kernel.exception answers, and keeps its status', async () => {
  const { kernel, dispatcher, request, sequence } = createBareKernel(() => {
    throw new Error('The warehouse is closed.')
  })
  dispatcher.on(ExceptionEvent, event => {
    event.keepsStatus = true
    event.respond(Response.text('Order by phone.'))
  })

  const response = await kernel.handle(request)
  assert.equal(response.status, 200)
  assert.deepEqual(sequence, [
    'kernel.request',
    'kernel.controller',
    'kernel.controller_arguments',
    'kernel.exception',
    'kernel.response',
    'kernel.finish_request',
  ])
})
