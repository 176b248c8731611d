import type { Request } from 'sinfonietta'
import { createRequest, createRequestEvent } from 'sinfonietta/testing'
import { t } from 'tap'
import { BodyListener } from '#bundles/framework/listeners/request-listeners.ts'

const listener = new BodyListener()

function post(body: string, contentType: string): Request {
  return createRequest('/', { method: 'POST', body, headers: { 'content-type': contentType } })
}

t.test('JSON, forms and text are read before the controller runs', async t => {
  for (const type of ['application/json', 'application/x-www-form-urlencoded', 'text/plain']) {
    const request = post('{}', type)
    await listener.onRequest(createRequestEvent({ request }))
    t.ok(request.body.wasRead, type)
  }
})

t.test('uploads and unknown types are read on demand', async t => {
  for (const type of ['multipart/form-data; boundary=x', 'application/octet-stream']) {
    const request = post('x', type)
    await listener.onRequest(createRequestEvent({ request }))
    t.notOk(request.body.wasRead, type)
  }
})

t.test('a route says how much it accepts', async t => {
  const request = post('more than four', 'text/plain')
  request.attributes.set('_body_limit', 4)
  await t.rejects(Promise.resolve(listener.onRequest(createRequestEvent({ request }))), {
    code: 'BODY_TOO_LARGE',
    status: 413,
  })
})

t.test('a route may leave the body to its controller, with a limit of its own', async t => {
  const request = post('{}', 'application/json')
  request.attributes.set('_body_unread', true)
  request.attributes.set('_body_limit', 4)
  t.equal(listener.onRequest(createRequestEvent({ request })), undefined)
  t.strictSame([request.body.wasRead, request.body.limit], [false, 4])
})

t.test('a request without a body, and a sub-request, are not waited for', async t => {
  t.equal(listener.onRequest(createRequestEvent()), undefined)
  const sub = createRequestEvent({ request: post('{}', 'application/json').duplicate() })
  t.equal(listener.onRequest(sub), undefined)
})
