import { createRequest, createResponseEvent } from 'sinfonietta/testing'
import { t } from 'tap'
import { ResponseListener } from '#bundles/framework/listeners/response-listeners.ts'
import { Response, type ResponseInit } from '#lib/http/response.ts'

function prepare(init: ResponseInit, format?: string): Response {
  const request = createRequest()
  if (format !== undefined) request.attributes.set('_format', format)
  const event = createResponseEvent({ request, response: new Response('', init) })
  new ResponseListener().onResponse(event)
  return event.response
}

t.test('the content type follows the format of the request, HTML without one', async t => {
  t.equal(prepare({}).headers.get('content-type'), 'text/html; charset=UTF-8')
  t.equal(prepare({}, 'json').headers.get('content-type'), 'application/json')
  t.equal(prepare({}, 'xml').headers.get('content-type'), 'text/xml; charset=UTF-8')
  t.equal(prepare({ headers: { 'content-type': 'image/png' } }, 'json').headers.get('content-type'), 'image/png')
})

t.test('a text without a charset is UTF-8; bytes and other types stay as they are', async t => {
  const typeOf = (type: string, body: string | Uint8Array = 'é') => {
    const response = new Response(body, { headers: { 'content-type': type } })
    new ResponseListener().onResponse(createResponseEvent({ request: createRequest(), response }))
    return response.headers.get('content-type')
  }
  t.equal(typeOf('text/css'), 'text/css; charset=UTF-8')
  t.equal(typeOf('text/css', Buffer.from('é', 'latin1')), 'text/css')
  const kept = ['text/plain; charset=iso-8859-1', 'text/plain;format=flowed', 'image/svg+xml', 'application/json']
  t.strictSame(
    kept.map(type => typeOf(type)),
    kept,
  )
})

t.test('a response without a body has no content type', async t => {
  t.equal(prepare({ status: 204, headers: { 'content-type': 'text/html' } }).headers.get('content-type'), null)
  t.equal(prepare({ status: 304 }).headers.get('content-type'), null)
})

t.test('nothing is cached unless the response says so', async t => {
  const cacheControl = (init: ResponseInit) => prepare(init).headers.get('cache-control')
  t.equal(cacheControl({}), 'no-cache, private')
  t.equal(cacheControl({ headers: { 'cache-control': '' } }), 'no-cache, private')
  t.equal(cacheControl({ headers: { etag: '"a"' } }), 'no-cache, private')
  t.equal(cacheControl({ headers: { 'last-modified': 'Fri, 20 Nov 2026 23:15:09 GMT' } }), 'private, must-revalidate')
  t.equal(cacheControl({ headers: { expires: '0' } }), 'private, must-revalidate')
  t.equal(cacheControl({ headers: { etag: '"a"', expires: '0' } }), 'private, must-revalidate')
  t.equal(cacheControl({ status: 301 }), null, 'a permanent redirect may be kept')
  t.equal(cacheControl({ status: 302 }), 'no-cache, private')
})

t.test('what is cached is private, unless the response says who may keep it', async t => {
  const completed = {
    'max-age=60': 'max-age=60, private',
    'no-store': 'no-store, private',
    'no-cache="public"': 'no-cache="public", private',
    'max-age=60, x-public': 'max-age=60, x-public, private',
    'max-age=60, public': 'max-age=60, public',
    'Public,max-age=60': 'Public,max-age=60',
    'max-age=60, PRIVATE': 'max-age=60, PRIVATE',
    'private="set-cookie", max-age=60': 'private="set-cookie", max-age=60',
    'max-age=60,\ts-maxage=600': 'max-age=60,\ts-maxage=600',
  }
  for (const [said, sent] of Object.entries(completed)) {
    t.equal(prepare({ headers: { 'cache-control': said } }).headers.get('cache-control'), sent)
  }
  const redirect = prepare({ status: 301, headers: { 'cache-control': 'max-age=60' } })
  t.equal(redirect.headers.get('cache-control'), 'max-age=60, private', 'also of a permanent redirect')
  const twice = { 'cache-control': 'max-age=60', 'Cache-Control': 's-maxage=600' }
  t.strictSame(prepare({ headers: twice }).headers.getAll('cache-control'), ['max-age=60', 's-maxage=600'])
})
