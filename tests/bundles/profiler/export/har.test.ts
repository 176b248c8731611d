import { readFileSync } from 'node:fs'
import { Ajv2020 } from 'ajv/dist/2020.js'
import fc from 'fast-check'
import { t } from 'tap'
import { toHar } from '#bundles/profiler/export/har.ts'
import { createProfile } from '#tests/support/create-profile.ts'
import { createProfiledKernel } from '#tests/support/profiled-kernel.ts'
import { askRichly, richBundle } from '#tests/support/rich-bundle.ts'
import { serveKernel } from '#tests/support/test-server.ts'

const validate = new Ajv2020({ allErrors: true }).compile(
  JSON.parse(readFileSync('tests/fixtures/har.schema.json', 'utf8')),
)

t.test('a HAR has the request, then the HTTP client calls', async t => {
  const kernel = await createProfiledKernel(t, { bundles: [richBundle] })
  const { url } = await serveKernel(t, kernel)
  const tokens = Object.fromEntries((await askRichly(url)).map(({ name, token }) => [name, token]))
  const read = async (token: string | undefined) => {
    const har = JSON.parse(await (await fetch(`${url}/_profiler/${token}/export/har`)).text())
    t.ok(validate(har), JSON.stringify(validate.errors))
    return har.log.entries
  }
  const [form, ...calls] = await read(tokens.form)
  t.hasStrict(form.request, { method: 'POST', httpVersion: 'HTTP/1.1', bodySize: 435 })
  t.strictSame(form.request.cookies, [
    { name: 'theme', value: '******' },
    { name: 'seen', value: '******' },
  ])
  t.match(form.request.queryString, [{ name: 'page', value: '2' }])
  t.equal(form.request.postData.mimeType, 'application/x-www-form-urlencoded')
  t.hasStrict(form.request.postData.params, [{}, {}, { name: 'password', value: '******' }])
  t.notMatch(JSON.stringify(form), 'hunter2')
  t.hasStrict(form.response, {
    status: 200,
    statusText: 'OK',
    content: { mimeType: 'text/html; charset=UTF-8', comment: '' },
  })
  t.match(form.response.content.text, /^<!doctype html>/i)
  t.match(form.response.cookies, [{ name: 'theme', value: '******' }])
  t.strictSame(
    calls.map(({ request, response }: { request: object; response: { status: number } }) => [request, response.status])
      .length,
    3,
  )
  t.match(calls[0], {
    request: { method: 'GET' },
    response: { status: 200, content: { size: 4 } },
    comment: /^HTTP client call/,
  })
  t.equal(calls[0].request.queryString.length, 1)
  t.hasStrict(calls[2], { request: { url: 'http://127.0.0.1:6/refused' }, response: { status: 0, statusText: '' } })
  for (const { time, timings } of calls) {
    t.ok(Math.abs(timings.blocked + timings.send + timings.wait + timings.receive - time) < 0.001)
  }
  const [json] = await read(tokens.json)
  t.strictSame(JSON.parse(json.request.postData.text), { name: 'Ada', list: [1, { deep: 'text' }] })
  const [upload] = await read(tokens.upload)
  t.strictSame(upload.request.postData.params, [
    { name: 'name', value: 'Ada' },
    { name: 'document', fileName: 'cv.txt', contentType: 'text/plain' },
  ])
  const [missing] = await read(tokens.missing)
  t.hasStrict(missing, { request: { bodySize: 0 }, response: { status: 404 } })
  const redirect = await fetch(`${url}/redir`, { redirect: 'manual' })
  const [redirected] = await read(String(redirect.headers.get('x-debug-token')))
  t.equal(redirected.response.redirectURL, '/noslash')
})

t.test('a call has the time of its start and the parts of its duration', async t => {
  const call = { method: 'GET', url: 'http://a.test/', status: 200 }
  const calls = [
    { ...call, start: 100, sent: 110, uploaded: 115, head: 150, end: 170 },
    { ...call, start: 200, sent: 201, head: 231, end: 235 },
    { ...call, start: 300, sent: 302 },
  ]
  const [, ...entries] = toHar(createProfile({ http: { calls } }, { time: 1_700_000_000_000 })).log.entries
  const unknown = { dns: -1, connect: -1, ssl: -1 }
  t.strictSame(
    entries.map(({ startedDateTime, time, timings }) => [startedDateTime, time, timings]),
    [
      ['2023-11-14T22:13:20.100Z', 70, { blocked: 10, ...unknown, send: 5, wait: 35, receive: 20 }],
      ['2023-11-14T22:13:20.200Z', 35, { blocked: 1, ...unknown, send: 0, wait: 30, receive: 4 }],
      ['2023-11-14T22:13:20.300Z', 2, { blocked: 2, ...unknown, send: 0, wait: 0, receive: 0 }],
    ],
  )
})

t.test('the HAR of a damaged profile is valid', async t => {
  const json = fc.jsonValue()
  const pairs = fc.array(fc.tuple(fc.constantFrom('cookie', 'set-cookie', '…', 'x'), json))
  const body = fc.record({ form: pairs, json: fc.array(json), length: fc.double() })
  const request = fc.oneof(json, fc.record({ headers: pairs, query: pairs, body: fc.oneof(json, body) }))
  const answer = fc.oneof(json, fc.record({ headers: pairs, size: fc.double() }))
  const property = fc.property(request, answer, json, (request, response, http) => {
    const har = toHar(
      createProfile({ request, response, http: { calls: [http] } }, { url: 'http://a/', status: 0, contentType: null }),
    )
    const [first] = har.log.entries
    return validate({ log: { ...har.log, entries: [first] } })
  })
  t.doesNotThrow(() => fc.assert(property, { numRuns: 200 }))
})

t.test('the value of a cookie may contain an equals sign; the comment has operation and outcome', async t => {
  const data = {
    request: { headers: [['cookie', 'a=b=c; d=; e']] },
    response: { headers: [['set-cookie', 'f=g==; Path=/']] },
  }
  const [entry] = toHar(createProfile(data, { operation: 'query Books', outcome: 'stream-failed' })).log.entries
  t.strictSame(entry?.request.cookies, [
    { name: 'a', value: 'b=c' },
    { name: 'd', value: '' },
    { name: 'e', value: '' },
  ])
  t.strictSame(entry?.response.cookies, [{ name: 'f', value: 'g==' }])
  t.equal(entry?.comment, 'The request of this profile (query Books): stream-failed.')
})
