import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { PassThrough, Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { brotliDecompressSync, createGunzip, gunzipSync } from 'node:zlib'
import { createRequest, createResponseEvent } from 'sinfonietta/testing'
import { t } from 'tap'
import { CompressionListener } from '#bundles/framework/listeners/response-listeners.ts'
import { type Body, Response } from '#lib/http/response.ts'

const listener = new CompressionListener()
const page = '<p>page</p>'.repeat(200)
const html = { 'content-type': 'text/html; charset=UTF-8' }

interface Case {
  readonly accept?: string
  readonly body?: Body
  readonly headers?: Record<string, string>
  readonly status?: number
  readonly sent?: Record<string, string>
  readonly isSub?: boolean
}

async function answer({
  accept = 'gzip, br',
  body = page,
  headers,
  isSub = false,
  sent,
  status = 200,
}: Case): Promise<Response> {
  const request = createRequest('/', { headers: { 'accept-encoding': accept, ...sent } })
  const response = new Response(body, { status, headers: { ...html, ...headers } })
  const event = createResponseEvent({ request: isSub ? request.duplicate() : request, response })
  await listener.onResponse(event)
  return event.response
}

async function decode({ body, headers }: Response): Promise<string> {
  const bytes = body instanceof Readable ? await buffer(body) : Buffer.from(body ?? '')
  const coding = headers.get('content-encoding')
  if (coding === 'br') return String(brotliDecompressSync(bytes))
  return String(coding === 'gzip' ? gunzipSync(bytes) : bytes)
}

t.test('what the client takes decides the coding, whatever the size', async t => {
  for (const body of [page, Buffer.from(page), page.repeat(40), 'é'.repeat(1024)]) {
    for (const [accept, coding] of [
      ['gzip, deflate, br', 'gzip'],
      ['br', 'br'],
      ['br, gzip;q=0.5', 'br'],
      ['identity', null],
      ['gzip;q=0', null],
    ] as const) {
      const response = await answer({ accept, body })
      t.equal(response.headers.get('content-encoding'), coding, accept)
      t.equal(response.headers.get('vary'), 'Accept-Encoding')
      t.equal(response.originalSize, coding === null ? undefined : Buffer.byteLength(body))
      t.equal(await decode(response), String(body))
    }
  }
})

t.test('types that get smaller', async t => {
  for (const type of [
    'text/plain',
    'Text/CSS',
    'application/json',
    'application/problem+json',
    'application/xhtml+xml; charset=UTF-8',
    'image/svg+xml',
    'text/javascript',
    'application/x-ndjson',
  ]) {
    t.equal((await answer({ headers: { 'content-type': type } })).headers.get('content-encoding'), 'gzip', type)
  }
})

t.test('what must not be touched, or does not pay, is left alone', async t => {
  const etag = '"a"'
  const cases: Record<string, Case> = {
    small: { body: 'p'.repeat(1023) },
    empty: { body: null },
    picture: { headers: { 'content-type': 'image/png' } },
    'server-sent events': { headers: { 'content-type': 'text/event-stream' } },
    'no type': { headers: { 'content-type': '' } },
    encoded: { headers: { 'content-encoding': 'br' } },
    digest: { headers: { 'content-digest': 'sha-256=:x:' } },
    'representation digest': { headers: { 'repr-digest': 'sha-256=:x:' } },
    'not to be transformed': { headers: { 'cache-control': 'private, no-transform' } },
    part: { status: 206 },
    'no content': { status: 204 },
    'not modified': { status: 304 },
    'fragment of a page': { isSub: true },
    'stream with a length': { body: Readable.from([page]), headers: { 'content-length': String(page.length) } },
  }
  for (const [name, one] of Object.entries(cases)) {
    const response = await answer({ ...one, headers: { etag, ...one.headers } })
    const body = one.body === undefined ? page : one.body
    t.equal(response.body, body, name)
    t.equal(response.headers.get('vary'), null, name)
    t.equal(response.headers.get('etag'), etag, name)
  }
})

t.test('what does not get smaller is sent as it is', async t => {
  const noise = Buffer.concat(Array.from({ length: 32 }, (_, at) => createHash('sha512').update(String(at)).digest()))
  const { body, headers, originalSize } = await answer({ body: noise })
  t.equal(body, noise)
  t.equal(headers.get('content-encoding'), null)
  t.equal(originalSize, undefined)
})

t.test('errors are compressed, too', async t => {
  t.equal((await answer({ status: 404 })).headers.get('content-encoding'), 'gzip')
})

t.test('Vary keeps what it has, and says it once', async t => {
  const varyOf = async (vary: string) => (await answer({ headers: { vary } })).headers.get('vary')
  t.equal(await varyOf('Accept'), 'Accept, Accept-Encoding')
  t.equal(await varyOf('accept-encoding, Accept'), 'accept-encoding, Accept')
  t.equal(await varyOf('*'), '*')
})

t.test('the etag of a compressed response is weak; another etag stays', async t => {
  const tagOf = async (accept: string) => (await answer({ accept, headers: { etag: '"a"' } })).headers.get('etag')
  t.equal(await tagOf('gzip'), 'W/"a"')
  t.equal(await tagOf('identity'), '"a"')
})

t.test('what the client has already is not compressed for it', async t => {
  const response = await answer({ headers: { etag: '"a"' }, sent: { 'if-none-match': 'W/"a"' } })
  t.equal(response.body, page)
  t.equal(response.headers.get('etag'), 'W/"a"', 'the tag is that of the answer with a body')
  t.equal(response.headers.get('vary'), 'Accept-Encoding')
})

t.test('each part of a stream is sent when it comes', async t => {
  for (const accept of ['gzip', 'br']) {
    const body = new PassThrough()
    const response = await answer({ accept, body })
    t.equal(response.headers.get('content-encoding'), accept)
    t.equal(response.originalSize, undefined)
    const compressed = response.body as Readable
    body.write('one')
    const [part] = await once(compressed, 'data')
    t.ok(part.length > 0)
    if (accept === 'gzip') {
      const decoder = createGunzip()
      decoder.write(part)
      t.equal(String((await once(decoder, 'data'))[0]), 'one')
      decoder.destroy()
    }
    body.end('two')
    await once(compressed, 'end')
  }
})

t.test('a stream that fails ends the response, and an unread stream is released', async t => {
  const failing = new PassThrough()
  const failed = (await answer({ body: failing })).body as Readable
  failing.destroy(new Error('broken'))
  await t.rejects(buffer(failed), 'broken')

  const left = new PassThrough()
  const abandoned = (await answer({ body: left })).body as Readable
  abandoned.on('error', () => undefined).destroy()
  await new Promise(resolve => left.on('close', resolve))
  t.ok(left.destroyed)
})
