import { t } from 'tap'
import { frameworkBundle } from '../../../bundles/framework/framework-bundle.ts'
import type { TestClient } from '../../../kernel/testing/client.ts'
import { createTestKernel } from '../../../kernel/testing/create-test-kernel.ts'
import { CookieJar } from '../../../lib/http/cookie-jar.ts'
import { setCookie } from '../../../lib/http/cookies.ts'
import { Headers } from '../../../lib/http/headers.ts'
import { Response } from '../../../lib/http/response.ts'
import { probeBundle } from '../../support/probe-bundle.ts'

async function createClient(): Promise<TestClient> {
  const { app, client } = await createTestKernel({ bundles: [frameworkBundle, probeBundle] })
  app.routes.add({
    name: 'echo_all',
    path: '/echo-all',
    controller: async ({ body, cookies, headers, method }) =>
      Response.json({
        method,
        cookies: [...cookies],
        type: headers.get('content-type'),
        body: Buffer.from(await body.bytes()).toString(),
      }),
  })
  app.routes.add({
    name: 'cookies',
    path: '/cookies',
    controller: () => {
      const response = Response.redirect('http://localhost/echo-all?a', 303)
      setCookie(response.headers, 'a', '1')
      return response
    },
  })
  app.routes.add({ name: 'kept', path: '/kept', controller: () => Response.redirect('/echo-all', 307) })
  return client
}

t.test('a body is text, bytes, JSON or a form, with its type', async t => {
  const client = await createClient()
  const send = async (init: object) => (await client.post('/echo-all', init)).json()
  t.match(await send({ body: 'text' }), { type: 'application/octet-stream', body: 'text' })
  t.match(await send({ body: Buffer.from('b'), headers: { 'content-type': 'text/plain' } }), {
    type: 'text/plain',
    body: 'b',
  })
  t.match(await send({ json: { a: 1 } }), { type: 'application/json', body: '{"a":1}' })
  t.match(await send({ form: { a: 'b c' } }), { type: 'application/x-www-form-urlencoded', body: 'a=b+c' })
  t.match(await send({}), { method: 'POST', type: null, body: '' })
})

t.test('an upload has fields and files', async t => {
  const client = await createClient()
  const upload = {
    title: 'a"b',
    photo: { name: 'x".png', content: 'pixels' },
    note: { name: 'n', type: 'text/plain', content: '' },
  }
  t.strictSame((await client.post('/form', { upload })).json(), [
    ['title', 'a"b'],
    ['photo', 6],
    ['note', 0],
  ])
})

t.test('cookies are kept and sent, and a redirect can be followed', async t => {
  const client = await createClient()
  const redirect = await client.post('/cookies')
  t.equal(client.cookies.get('a'), '1')
  t.match((await client.follow(redirect)).json(), { method: 'GET', cookies: [['a', '1']] })
  t.match((await client.get('/echo-all', { headers: { cookie: 'b=2' } })).json(), { cookies: [['b', '2']] })
  t.match((await client.follow(await client.post('/kept'))).json(), { method: 'POST' })
  const head = await client.request('HEAD', '/cookies')
  t.equal((await client.follow(head)).request.method, 'HEAD')
  t.throws(() => client.follow(head.status === 303 ? { ...head, headers: new Headers() } : head), /has no Location/)
})

t.test('streams are read, and HEAD has no body', async t => {
  const client = await createClient()
  t.equal((await client.get('/stream')).text, 'one two three')
  t.equal((await client.request('HEAD', '/stream')).bytes.length, 0)
  t.equal((await client.request('HEAD', '/text')).bytes.length, 0)
  t.equal((await client.get('/status/204')).bytes.length > 0, true, 'the client shows what the kernel made')
})

t.test('a cookie jar drops what has expired', async t => {
  const jar = new CookieJar()
  jar.set('a', '1')
  jar.set('b', '2')
  jar.set('c', '3')
  jar.take(
    new Headers([
      ['set-cookie', 'a=; Max-Age=0'],
      ['set-cookie', 'b=; Expires=Thu, 01 Jan 1970 00:00:00 GMT'],
      ['set-cookie', 'c=4; Max-Age=60'],
      ['set-cookie', 'd=5; Expires=Fri, 01 Jan 2100 00:00:00 GMT'],
    ]),
  )
  t.equal(jar.toHeader(), 'c=4; d=5')
})
