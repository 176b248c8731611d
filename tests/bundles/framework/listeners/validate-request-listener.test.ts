import { Request } from 'sinfonietta'
import { createRequestEvent } from 'sinfonietta/testing'
import { t } from 'tap'
import { ValidateRequestListener } from '#bundles/framework/listeners/request-listeners.ts'
import { requestChecks } from '#lib/http/request-checks.ts'

type RequestInit = ConstructorParameters<typeof Request>[0]

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

t.test('a body comes whole, or chunked and in no other coding', async t => {
  const withCoding = (...codings: string[]) => {
    const headers = codings.map(coding => ['transfer-encoding', coding] as const)
    return validate({ target: '/', method: 'POST', headers })
  }
  t.doesNotThrow(withCoding('chunked'))
  t.doesNotThrow(withCoding('Chunked'))
  for (const codings of [['gzip, chunked'], ['identity'], ['chunked', 'chunked'], ['']]) {
    t.throws(withCoding(...codings), { code: 'HTTP_TRANSFER_CODING_UNSUPPORTED', status: 501 }, codings.join())
  }
  const old = { target: '/', httpVersion: '1.0', headers: { 'transfer-encoding': 'chunked' } }
  t.throws(validate(old), { code: 'HTTP_TRANSFER_CODING_UNSUPPORTED' }, 'HTTP/1.0 knows no chunks')
})

t.test('the number of header fields is bounded', async t => {
  const withFields = (count: number) =>
    validate({ target: '/', headers: Array.from({ length: count }, (_, index) => [`x-${index % 7}`, 'y'] as const) })
  t.doesNotThrow(withFields(200))
  t.throws(withFields(201), { code: 'HTTP_HEADERS_TOO_MANY', status: 431 })
})

t.test('each check has a name, and a source', async t => {
  for (const { name, source } of requestChecks) t.match(`${name}: ${source}`, /^\S.+: RFC \d+/)
})

t.test('an unknown method is not implemented, a dangerous one not allowed', async t => {
  t.throws(validate({ target: '/', method: 'PROPFIND' }), { code: 'HTTP_METHOD_UNKNOWN', status: 501 })
  t.throws(validate({ target: '/', method: 'TRACE' }), {
    code: 'HTTP_METHOD_REFUSED',
    status: 405,
    headers: { allow: 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS' },
  })
})

t.test('a sub-request is made by the application and is not validated', async t => {
  const request = new Request({ target: '/%zz' })
  t.equal(listener.onRequest(createRequestEvent({ request: request.duplicate() })), undefined)
})
