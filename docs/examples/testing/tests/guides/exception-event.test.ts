import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type ExceptionEvent, Response } from 'sinfonietta'
import { createExceptionEvent } from 'sinfonietta/testing'

class SoldOutError extends Error {}

class SoldOutListener {
  onException(event: ExceptionEvent): void {
    if (event.error instanceof SoldOutError) event.respond(Response.text('Sold out.', { status: 409 }))
  }
}

test('kernel.exception: "sold out" is answered with 409', () => {
  const soldOut = createExceptionEvent(new SoldOutError())
  new SoldOutListener().onException(soldOut)
  assert.equal(soldOut.response?.status, 409)

  const other = createExceptionEvent(new Error('The database is gone.'))
  new SoldOutListener().onException(other)
  assert.equal(other.response, undefined, 'the error page answers')
})
