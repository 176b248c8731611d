import { createFrameworkBundle, type Request } from 'sinfonietta'
import { createRequest, createTestKernel } from 'sinfonietta/testing'
import { t } from 'tap'
import { Response } from '#lib/http/response.ts'

const describe = ({ body }: Request) => Response.json([body.wasRead, body.limit])

const { app, client, close } = await createTestKernel({
  bundles: [
    createFrameworkBundle(),
    {
      name: 'bodies',
      register({ routes }) {
        routes.add({ name: 'usual', path: '/', controller: describe })
        routes.add({ name: 'limited', path: '/limited', controller: describe, defaults: { _body_limit: 4 } })
        const defaults = { _body_unread: true, _body_limit: 4 }
        routes.add({ name: 'unread', path: '/unread', controller: describe, defaults })
      },
    },
  ],
})
t.teardown(close)

const init = (body: string, type: string) => ({ method: 'POST', body, headers: { 'content-type': type } })

async function wasRead(body: string, type: string): Promise<unknown> {
  const [isRead] = (await client.request('POST', '/', init(body, type))).json() as unknown[]
  return isRead
}

t.test('JSON, forms and text are read before the controller runs', async t => {
  for (const type of ['application/json', 'application/x-www-form-urlencoded', 'text/plain']) {
    t.equal(await wasRead('{}', type), true, type)
  }
})

t.test('uploads and unknown types are read on demand', async t => {
  for (const type of ['multipart/form-data; boundary=x', 'application/octet-stream']) {
    t.equal(await wasRead('x', type), false, type)
  }
})

t.test('a route says how much it accepts', async t => {
  const request = createRequest('/limited', init('more than four', 'text/plain'))
  await t.rejects(app.kernel.handle(request, { catchErrors: false }), { code: 'BODY_TOO_LARGE', status: 413 })
})

t.test('a route may leave the body to its controller, with a limit of its own', async t => {
  const response = await client.request('POST', '/unread', init('{}', 'application/json'))
  t.strictSame(response.json(), [false, 4])
})

t.test('a request without a body, and a sub-request, are not waited for', async t => {
  t.type(app.kernel.answer(createRequest('/')), Response)
  t.type(app.kernel.answer(createRequest('/', init('{}', 'application/json')).duplicate()), Response)
})
