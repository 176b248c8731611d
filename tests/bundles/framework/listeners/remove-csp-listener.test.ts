import { createRequest, createResponseEvent } from 'sinfonietta/testing'
import { t } from 'tap'
import { RemoveCspListener } from '#bundles/framework/listeners/response-listeners.ts'
import { Response } from '#lib/http/response.ts'

function createEvent(isFailed: boolean) {
  const request = createRequest()
  if (isFailed) request.attributes.set('_remove_csp_headers', true)
  const headers = { 'content-security-policy': "default-src 'none'" }
  return createResponseEvent({ request, response: new Response('', { headers }) })
}

const open = { allows: () => true }

t.test('the debug error page loses the policy of the failed page', async t => {
  const event = createEvent(true)
  new RemoveCspListener(open).onResponse(event)
  t.notOk(event.response.headers.has('content-security-policy'))
})

t.test('the error page of production keeps it', async t => {
  const event = createEvent(true)
  new RemoveCspListener({ allows: () => false }).onResponse(event)
  t.equal(event.response.headers.get('content-security-policy'), "default-src 'none'")
})

t.test('any other response keeps it', async t => {
  const event = createEvent(false)
  new RemoveCspListener(open).onResponse(event)
  t.ok(event.response.headers.has('content-security-policy'))
})
