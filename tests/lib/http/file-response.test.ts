import assert from 'node:assert'
import { createHash } from 'node:crypto'
import { rmSync, utimesSync, writeFileSync } from 'node:fs'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import fc from 'fast-check'
import { Request } from 'sinfonietta'
import { type Test, t } from 'tap'
import { FileVariants, parseRange, StaticFileResponses } from '#lib/http/file-response.ts'
import { createEtag, type Response } from '#lib/http/response.ts'

const style = 'p { color: red }\n'.repeat(200)
const forever = 'public, max-age=31536000, immutable'

type Ask = (headers?: Record<string, string>, method?: string) => Promise<Response>

function serve(t: Test, name: string, content: string | Uint8Array): { ask: Ask; file: string } {
  const file = `${t.testdir()}/${name}`
  writeFileSync(file, content)
  const responses = new StaticFileResponses()
  const ask: Ask = async (headers = {}, method = 'GET') => {
    const response = await responses.create(new Request({ target: '/', headers, method }), { file, version: undefined })
    if (response === undefined) throw new Error('The file is gone.')
    return response
  }
  return { ask, file }
}

function read({ body }: Response): Promise<Buffer> {
  return body instanceof Readable ? buffer(body) : Promise.resolve(Buffer.from(body ?? ''))
}

t.test('a file is sent with type, length and validators', async t => {
  const { ask } = serve(t, 'a b%20.css', 'p { color: red }')
  const response = await ask()
  const { 'last-modified': modified, ...headers } = Object.fromEntries(response.headers)
  t.equal(response.status, 200)
  t.strictSame(headers, {
    'content-type': 'text/css; charset=UTF-8',
    'cache-control': 'public, no-cache',
    etag: createEtag('p { color: red }'),
    'accept-ranges': 'bytes',
    'content-length': '16',
  })
  t.match(modified, /GMT$/)
  t.equal(String(await read(response)), 'p { color: red }')
})

t.test('text has a charset, other types have none', async t => {
  const types = {
    'a.html': 'text/html; charset=UTF-8',
    'a.js': 'text/javascript; charset=UTF-8',
    'a.txt': 'text/plain; charset=UTF-8',
    'a.svg': 'image/svg+xml',
    'a.json': 'application/json',
    'a.webmanifest': 'application/manifest+json',
    'a.woff2': 'font/woff2',
    'a.png': 'image/png',
    'a.xyzzy': 'application/octet-stream',
    a: 'application/octet-stream',
  }
  for (const [name, type] of Object.entries(types)) {
    const response = await serve(t, name, 'x').ask()
    t.equal(response.headers.get('content-type'), type, name)
    await read(response)
  }
})

t.test('only the URL with the current version is cached for ever', async t => {
  const { ask, file } = serve(t, 'a.css', 'one')
  const version = (await ask({}, 'HEAD')).headers.get('etag')?.slice(1, 9)
  const responses = new StaticFileResponses()
  const cachingOf = async (version: string | undefined) =>
    (await responses.create(new Request({ target: '/', method: 'HEAD' }), { file, version }))?.headers.get(
      'cache-control',
    )
  t.equal(await cachingOf(version), forever)
  t.equal(await cachingOf('00000000'), 'public, no-cache')
  t.equal(await cachingOf(undefined), 'public, no-cache')
  writeFileSync(file, 'another')
  t.equal(await cachingOf(version), 'public, no-cache', 'the content has changed')
})

t.test('the etag is that of the content, and found again when the file has changed', async t => {
  const { ask, file } = serve(t, 'a.css', 'one')
  const tag = async () => (await ask({}, 'HEAD')).headers.get('etag')
  const first = await tag()
  t.equal(await tag(), first)
  utimesSync(file, 1, 1)
  t.equal(await tag(), first, 'the time alone does not matter')
  writeFileSync(file, 'two')
  t.not(await tag(), first)
  rmSync(file)
  await t.rejects(ask(), 'The file is gone.')
})

t.test('two versions of one second are never mixed by If-Range with their date', async t => {
  const { ask, file } = serve(t, 'a.txt', 'old version')
  const first = await ask({}, 'HEAD')
  const date = String(first.headers.get('last-modified'))
  writeFileSync(file, 'new version')
  // The next second, so that the test can be slow.
  utimesSync(file, Date.now() / 1000 + 10, Date.now() / 1000 + 10)
  const fresh = await ask({}, 'HEAD')
  const ranged = (ifRange: string) => ask({ range: 'bytes=4-', 'if-range': ifRange })
  const weak = await ranged(String(fresh.headers.get('last-modified')))
  t.strictSame([weak.status, String(await read(weak))], [200, 'new version'])
  utimesSync(file, Date.parse(date) / 1000 - 60, Date.parse(date) / 1000 - 60)
  const old = await ask({}, 'HEAD')
  const strong = await ranged(String(old.headers.get('last-modified')))
  t.strictSame([strong.status, String(await read(strong))], [206, 'version'])
})

t.test('conditions', async t => {
  const { ask, file } = serve(t, 'a.css', style)
  utimesSync(file, 1_000_000_000, 1_000_000_000)
  const all = await ask({}, 'HEAD')
  const etag = all.headers.get('etag') ?? ''
  for (const headers of [
    { 'if-none-match': etag },
    { 'if-none-match': `W/${etag}` },
    { 'if-modified-since': 'Sun, 09 Sep 2001 01:46:40 GMT' },
  ]) {
    for (const method of ['GET', 'HEAD']) {
      const { body, headers: sent, status } = await ask({ ...headers, range: 'bytes=0-4' }, method)
      t.equal(status, 304)
      t.equal(body, null)
      t.strictSame(Object.fromEntries(sent), {
        'last-modified': 'Sun, 09 Sep 2001 01:46:40 GMT',
        'cache-control': 'public, no-cache',
        vary: 'Accept-Encoding',
        etag,
      })
    }
  }
  t.equal((await ask({ 'if-match': '"other"' })).status, 412)
  t.equal((await ask({ 'if-modified-since': 'Sun, 09 Sep 2001 01:46:39 GMT' }, 'HEAD')).status, 200)
})

t.test('ranges', async t => {
  const { ask } = serve(t, 'a.txt', '0123456789')
  const etag = (await ask({}, 'HEAD')).headers.get('etag') ?? ''
  const part = await ask({ range: 'bytes=2-4', 'if-range': etag })
  t.equal(part.status, 206)
  t.equal(part.headers.get('content-range'), 'bytes 2-4/10')
  t.equal(part.headers.get('content-length'), '3')
  t.equal(part.headers.get('etag'), etag)
  t.equal(String(await read(part)), '234')

  const other = await ask({ range: 'bytes=2-4', 'if-range': '"other"' })
  t.equal(other.status, 200)
  t.equal(String(await read(other)), '0123456789')

  const beyond = await ask({ range: 'bytes=20-' })
  t.equal(beyond.status, 416)
  t.equal(beyond.headers.get('content-range'), 'bytes */10')
  t.equal(beyond.body, null)

  const head = await ask({ range: 'bytes=2-4' }, 'HEAD')
  t.equal(head.status, 200, 'only GET knows ranges')
  t.equal(head.headers.get('content-length'), '10')
  t.equal(String(await read(head)), '')
})

t.test('an empty file is empty', async t => {
  const { ask } = serve(t, 'a.css', '')
  for (const headers of [{}, { range: 'bytes=0-' }, { range: 'bytes=-1' }]) {
    const response = await ask(headers)
    t.equal(response.status, 200)
    t.equal(response.headers.get('content-length'), '0')
    t.equal(String(await read(response)), '')
  }
})

t.test('any range, condition and coding gives what a slow server would give', async t => {
  const { ask } = serve(t, 'a.css', style)
  const plain = (await ask({}, 'HEAD')).headers.get('etag') ?? ''
  const tagOf = { identity: plain, br: plain.replace(/"$/, '-br"'), gzip: plain.replace(/"$/, '-gzip"') }
  const tag = fc.constantFrom(...Object.values(tagOf), '"other"')
  const bound = fc.integer({ min: 0, max: style.length + 20 })
  const request = fc.record(
    {
      range: fc.oneof(
        fc.tuple(bound, bound).map(([a, b]) => `bytes=${a}-${b}`),
        bound.map(n => `bytes=-${n}`),
      ),
      'if-range': tag,
      'if-none-match': tag,
      'accept-encoding': fc.constantFrom('identity', 'br', 'gzip'),
    },
    { requiredKeys: ['accept-encoding'] },
  )
  const property = fc.asyncProperty(request, fc.constantFrom('GET', 'HEAD'), async (headers, method) => {
    const isPart = method === 'GET' && headers.range !== undefined
    const coding = isPart ? 'identity' : headers['accept-encoding']
    const response = await ask(headers, method)
    const bytes = await read(response)
    if (headers['if-none-match'] === tagOf[coding]) {
      assert.strictEqual(response.status, 304)
      return
    }
    const isFresh = headers['if-range'] === undefined || headers['if-range'] === plain
    const range = isPart && isFresh ? parseRange(headers.range ?? '', style.length) : undefined
    if (range === 'unsatisfiable') {
      assert.strictEqual(response.status, 416)
      return
    }
    assert.strictEqual(response.headers.get('etag'), tagOf[coding])
    assert.strictEqual(response.headers.get('vary'), 'Accept-Encoding')
    assert.strictEqual(response.headers.get('content-encoding'), coding === 'identity' ? null : coding)
    assert.strictEqual(response.status, range === undefined ? 200 : 206)
    if (method === 'HEAD' && coding === 'identity')
      assert.strictEqual(response.headers.get('content-length'), String(style.length))
    else
      assert.strictEqual(decode(bytes, coding), range === undefined ? style : style.slice(range.start, range.end + 1))
  })
  await t.resolves(fc.assert(property, { numRuns: 300 }))
})

function decode(bytes: Buffer, coding: string | null): string {
  if (coding === 'br') return String(brotliDecompressSync(bytes))
  return String(coding === 'gzip' ? gunzipSync(bytes) : bytes)
}

t.test('files that are small, large, no text, or hardly get smaller are not compressed', async t => {
  const noise = Buffer.concat(Array.from({ length: 64 }, (_, at) => createHash('sha512').update(String(at)).digest()))
  const sent = async (name: string, content: string | Uint8Array) => {
    const response = await serve(t, name, content).ask({ 'accept-encoding': 'br, gzip' })
    const coding = response.headers.get('content-encoding')
    t.equal(decode(await read(response), coding), String(content))
    return [coding, response.headers.get('vary')]
  }
  t.strictSame(await sent('a.css', style), ['br', 'Accept-Encoding'])
  t.strictSame(await sent('a.css', 'p'.repeat(1023)), [null, null])
  t.strictSame(await sent('a.css', 'p'.repeat(1024 * 1024 + 1)), [null, null])
  t.strictSame(await sent('a.png', style), [null, null])
  t.strictSame(await sent('a.txt', noise), [null, 'Accept-Encoding'])
})

t.test('parallel requests compress a file once, and the cache keeps its limit of bytes', async t => {
  const directory = t.testdir({ a: style, b: style, c: style })
  const size = ((await new FileVariants().find(`${directory}/a`, 'a', 'gzip')) ?? []).length
  const variants = new FileVariants(2 * size)
  const find = (name: string) => variants.find(`${directory}/${name}`, name, 'gzip')
  const [first, ...others] = await Promise.all(Array.from({ length: 50 }, () => find('a')))
  for (const other of others) t.equal(other, first)
  const second = await find('b')
  t.equal(await find('a'), first)
  await find('c')
  t.equal(await find('a'), first, 'was used since')
  t.not(await find('b'), second, 'had to go')
})

t.test('a file that cannot be read is tried again', async t => {
  const file = `${t.testdir()}/late.css`
  const variants = new FileVariants()
  await t.rejects(variants.find(file, 'a', 'br'), { code: 'ENOENT' })
  writeFileSync(file, style)
  t.ok(await variants.find(file, 'a', 'br'))
})
