import { Readable } from 'node:stream'
import { createRequest, createResponseEvent } from 'sinfonietta/testing'
import { t } from 'tap'
import { ConditionalListener } from '#bundles/framework/listeners/response-listeners.ts'
import { Response } from '#lib/http/response.ts'

const listener = new ConditionalListener()
const day = 'Sun, 06 Nov 1994 08:49:37 GMT'

interface Case {
  readonly method?: string
  readonly sent?: Record<string, string>
  readonly status?: number
  readonly headers?: Record<string, string>
  readonly isSub?: boolean
}

function answer({ method = 'GET', sent = {}, status = 200, headers = {}, isSub = false }: Case): Response {
  const request = createRequest('/', { method, headers: sent })
  const response = Response.html('page', { status, headers })
  const event = createResponseEvent({ request: isSub ? request.duplicate() : request, response })
  listener.onResponse(event)
  return event.response
}

t.test('a client that has the page gets a 304 without a body', async t => {
  const headers = { etag: 'W/"a"', vary: 'Accept-Encoding', 'content-language': 'en', 'cache-control': 'private' }
  const { body, headers: left, status } = answer({ sent: { 'if-none-match': '"a"' }, headers })
  t.equal(status, 304)
  t.equal(body, null)
  t.strictSame([...left.toRaw()], ['etag', 'W/"a"', 'vary', 'Accept-Encoding', 'cache-control', 'private'])
  t.equal(answer({ method: 'HEAD', sent: { 'if-none-match': '"a"' }, headers }).status, 304)
  t.equal(answer({ sent: { 'if-modified-since': day }, headers: { 'last-modified': day } }).status, 304)
})

t.test('everyone else gets the page', async t => {
  const has: Case = { sent: { 'if-none-match': '"a"' }, headers: { etag: '"a"' } }
  const cases: Case[] = [
    { ...has, sent: {} },
    { ...has, sent: { 'if-none-match': '"b"' } },
    { ...has, sent: { 'if-match': '"b"' } },
    { ...has, sent: { 'if-match': '"b"', 'if-none-match': '"a"' } },
    { ...has, headers: {} },
    { ...has, method: 'POST' },
    { ...has, status: 404 },
    { ...has, status: 203 },
    { ...has, isSub: true },
  ]
  for (const one of cases) {
    const { body, status } = answer(one)
    t.equal(status, one.status ?? 200, JSON.stringify(one))
    t.equal(body, 'page')
  }
})

t.test('a stream that is not sent is let go, also when that fails', async t => {
  const stream = new Readable({ destroy: (_, done) => done(new Error('late')), read() {} })
  const response = Response.stream(stream, { headers: { etag: '"a"' } })
  const request = createRequest('/', { headers: { 'if-none-match': '*' } })
  listener.onResponse(createResponseEvent({ request, response }))
  t.equal(response.status, 304)
  t.ok(stream.destroyed)
  await new Promise(resolve => stream.on('close', resolve))
})
