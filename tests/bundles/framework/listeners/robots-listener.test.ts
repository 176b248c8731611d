import { t } from 'tap'
import { RobotsListener } from '#bundles/framework/listeners/robots-listener.ts'
import { createResponseEvent } from '#kernel/testing/event-factories.ts'
import { Response } from '#lib/http/response.ts'

const open = { allows: () => true }

t.test('what debugging shows is kept out of search engines', async t => {
  const event = createResponseEvent()
  new RobotsListener(open).onResponse(event)
  t.equal(event.response.headers.get('x-robots-tag'), 'noindex')
  const refused = createResponseEvent()
  new RobotsListener({ allows: () => false }).onResponse(refused)
  t.notOk(refused.response.headers.has('x-robots-tag'), 'a client that sees no debug output sees no trace of it')
})

t.test('a page may say something else', async t => {
  const event = createResponseEvent({ response: new Response('', { headers: { 'x-robots-tag': 'all' } }) })
  new RobotsListener(open).onResponse(event)
  t.equal(event.response.headers.get('x-robots-tag'), 'all')
})
