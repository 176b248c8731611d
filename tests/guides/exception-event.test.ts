import { t } from 'tap'
import type { ExceptionEvent } from '../../kernel/events/exception-event.ts'
import { createExceptionEvent } from '../../kernel/testing/event-factories.ts'
import { Response } from '../../lib/http/response.ts'

class SoldOutError extends Error {}

class SoldOutListener {
  onException(event: ExceptionEvent): void {
    if (event.error instanceof SoldOutError) event.respond(Response.text('Sold out.', { status: 409 }))
  }
}

t.test('kernel.exception: sold out is an answer, and no failure', async t => {
  const soldOut = createExceptionEvent(new SoldOutError())
  new SoldOutListener().onException(soldOut)
  t.equal(soldOut.response?.status, 409)

  const other = createExceptionEvent(new Error('The database is gone.'))
  new SoldOutListener().onException(other)
  t.equal(other.response, undefined, 'the error page answers')
})
