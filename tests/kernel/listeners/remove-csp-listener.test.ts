import { t } from 'tap'
import { RemoveCspListener } from '../../../kernel/listeners/remove-csp-listener.ts'
import { createRequest, createResponseEvent } from '../../../kernel/testing/event-factories.ts'
import { Response } from '../../../lib/http/response.ts'

function createEvent(isFailed: boolean) {
  const request = createRequest()
  if (isFailed) request.attributes.set('_remove_csp_headers', true)
  const headers = { 'content-security-policy': "default-src 'none'" }
  return createResponseEvent({ request, response: new Response('', { headers }) })
}

t.test('the policy is taken off the answer to a request that failed', async t => {
  const event = createEvent(true)
  new RemoveCspListener().onResponse(event)
  t.notOk(event.response.headers.has('content-security-policy'))
})

t.test('any other response keeps it', async t => {
  const event = createEvent(false)
  new RemoveCspListener().onResponse(event)
  t.ok(event.response.headers.has('content-security-policy'))
})
