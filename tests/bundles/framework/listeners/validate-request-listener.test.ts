import { createFrameworkBundle, Request } from 'sinfonietta'
import { createTestKernel } from 'sinfonietta/testing'
import { t } from 'tap'
import { Response } from '#lib/http/response.ts'

const { app, close } = await createTestKernel({
  bundles: [
    createFrameworkBundle(),
    {
      name: 'home',
      register: ({ routes }) => void routes.add({ name: 'home', path: '/', controller: () => Response.text('') }),
    },
  ],
})
t.teardown(close)

/** Sends a request to the kernel. */
const validate = (init: ConstructorParameters<typeof Request>[0]) =>
  app.kernel.handle(new Request(init), { catchErrors: false })

t.test('a request that can be understood passes', async t => {
  await t.resolves(validate({ target: '/', headers: { host: 'localhost' } }))
  await t.resolves(validate({ target: '/', httpVersion: '1.0' }))
  await t.resolves(validate({ target: '*', method: 'OPTIONS' }))
})

t.test('what is wrong with target or Host is said', async t => {
  await t.rejects(validate({ target: '/%zz' }), { code: 'HTTP_TARGET_INVALID', status: 400 })
  await t.rejects(validate({ target: '/', headers: { host: 'bad host' } }), {
    message: 'Invalid Host "bad host".',
    status: 400,
  })
})

t.test('only HTTP/1.0 and HTTP/1.1 are spoken', async t => {
  await t.rejects(validate({ target: '/', httpVersion: '2.0' }), { code: 'HTTP_VERSION_UNSUPPORTED', status: 505 })
  await t.rejects(validate({ target: '/', httpVersion: '0.9' }), { code: 'HTTP_VERSION_UNSUPPORTED' })
})

t.test('a body comes whole, or chunked and in no other coding', async t => {
  const withCoding = (...codings: string[]) => {
    const headers = codings.map(coding => ['transfer-encoding', coding] as const)
    return validate({ target: '/', method: 'POST', headers })
  }
  await t.resolves(withCoding('chunked'))
  await t.resolves(withCoding('Chunked'))
  for (const codings of [['gzip, chunked'], ['identity'], ['chunked', 'chunked'], ['']]) {
    await t.rejects(withCoding(...codings), { code: 'HTTP_TRANSFER_CODING_UNSUPPORTED', status: 501 }, codings.join())
  }
  const old = { target: '/', httpVersion: '1.0', headers: { 'transfer-encoding': 'chunked' } }
  await t.rejects(validate(old), { code: 'HTTP_TRANSFER_CODING_UNSUPPORTED' }, 'HTTP/1.0 knows no chunks')
})

t.test('the number of header fields is bounded', async t => {
  const withFields = (count: number) =>
    validate({ target: '/', headers: Array.from({ length: count }, (_, index) => [`x-${index % 7}`, 'y'] as const) })
  await t.resolves(withFields(200))
  await t.rejects(withFields(201), { code: 'HTTP_HEADERS_TOO_MANY', status: 431 })
})

t.test('an unknown method is not implemented', async t => {
  await t.rejects(validate({ target: '/', method: 'PROPFIND' }), { code: 'HTTP_METHOD_UNKNOWN', status: 501 })
})

t.test('a sub-request is made by the application and is not validated', async t => {
  const request = new Request({ target: '/', headers: { host: 'bad host' } })
  t.equal((await app.kernel.handle(request.duplicate())).status, 200)
})
