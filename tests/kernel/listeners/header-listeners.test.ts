import { t } from 'tap'
import { RemoveCspListener } from '../../../kernel/listeners/remove-csp-listener.ts'
import { RobotsListener } from '../../../kernel/listeners/robots-listener.ts'
import { createRequest, createResponseEvent } from '../../../kernel/testing/event-factories.ts'
import { Response } from '../../../lib/http/response.ts'

t.test('RobotsListener keeps a development site out of search engines, unless the page says else', async t => {
  const plain = createResponseEvent()
  new RobotsListener().onResponse(plain)
  t.equal(plain.response.headers.get('x-robots-tag'), 'noindex')
  const outspoken = createResponseEvent({ response: new Response('', { headers: { 'x-robots-tag': 'all' } }) })
  new RobotsListener().onResponse(outspoken)
  t.equal(outspoken.response.headers.get('x-robots-tag'), 'all')
})

t.test('RemoveCspListener takes the policy off the answer to a failed request, and off no other', async t => {
  const headers = { 'content-security-policy': "default-src 'none'" }
  const fine = createResponseEvent({ response: new Response('', { headers }) })
  new RemoveCspListener().onResponse(fine)
  t.ok(fine.response.headers.has('content-security-policy'))
  const request = createRequest()
  request.attributes.set('_remove_csp_headers', true)
  const failed = createResponseEvent({ request, response: new Response('', { headers }) })
  new RemoveCspListener().onResponse(failed)
  t.notOk(failed.response.headers.has('content-security-policy'))
})
