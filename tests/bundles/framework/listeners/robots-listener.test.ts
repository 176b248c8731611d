import { createResponseEvent } from 'sinfonietta/testing'
import { t } from 'tap'
import { RobotsListener } from '#bundles/framework/listeners/response-listeners.ts'
import { Response } from '#lib/http/response.ts'

t.test('pages of development are kept out of search engines', async t => {
  const event = createResponseEvent()
  new RobotsListener().onResponse(event)
  t.equal(event.response.headers.get('x-robots-tag'), 'noindex')
})

t.test('a page may say something else', async t => {
  const event = createResponseEvent({ response: new Response('', { headers: { 'x-robots-tag': 'all' } }) })
  new RobotsListener().onResponse(event)
  t.equal(event.response.headers.get('x-robots-tag'), 'all')
})
