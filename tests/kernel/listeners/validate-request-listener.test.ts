import { t } from 'tap'
import { ValidateRequestListener } from '../../../kernel/listeners/validate-request-listener.ts'
import { RequestType } from '../../../kernel/request-type.ts'
import { createRequestEvent } from '../../../kernel/testing/event-factories.ts'
import { Request, type RequestInit } from '../../../lib/http/request.ts'

const listener = new ValidateRequestListener()
const validate = (init: RequestInit) => () => listener.onRequest(createRequestEvent({ request: new Request(init) }))

t.test('a request that can be understood passes', async t => {
  t.doesNotThrow(validate({ target: '/', headers: { host: 'localhost' } }))
  t.doesNotThrow(validate({ target: '/', httpVersion: '1.0' }))
  t.doesNotThrow(validate({ target: '*', method: 'OPTIONS' }))
})

t.test('what is wrong with target or Host is said', async t => {
  t.throws(validate({ target: '/%zz' }), { code: 'HTTP_TARGET_INVALID', status: 400 })
  t.throws(validate({ target: '/', headers: { host: 'bad host' } }), {
    message: 'Invalid Host "bad host".',
    status: 400,
  })
})

t.test('only HTTP/1.0 and HTTP/1.1 are spoken', async t => {
  t.throws(validate({ target: '/', httpVersion: '2.0' }), { code: 'HTTP_VERSION_UNSUPPORTED', status: 505 })
  t.throws(validate({ target: '/', httpVersion: '0.9' }), { code: 'HTTP_VERSION_UNSUPPORTED' })
})

t.test('an unknown method is not implemented, a dangerous one not allowed', async t => {
  t.throws(validate({ target: '/', method: 'PROPFIND' }), { code: 'HTTP_METHOD_UNKNOWN', status: 501 })
  t.throws(validate({ target: '/', method: 'TRACE' }), {
    code: 'HTTP_METHOD_REFUSED',
    status: 405,
    headers: { allow: 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS' },
  })
})

t.test('a sub-request was made here and is not validated', async t => {
  const request = new Request({ target: '/%zz' })
  t.equal(listener.onRequest(createRequestEvent({ request, type: RequestType.Sub })), undefined)
})
