import { createHash } from 'node:crypto'
import { request as httpRequest, type IncomingHttpHeaders } from 'node:http'
import path from 'node:path'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { setTimeout as wait } from 'node:timers/promises'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import type { Bundle } from 'sinfonietta'
import { type Test, t } from 'tap'
import { Response } from '#lib/http/response.ts'
import { createHandlerBundle } from '#tests/support/handler-bundle.ts'
import { startServer } from '#tests/support/test-server.ts'

const page = `<!doctype html><body>${'<p>What is said twice is said shorter.</p>'.repeat(300)}</body>`
const large = page.repeat(20)
const style = 'p { color: red }\n'.repeat(200)
const clip = Buffer.concat(Array.from({ length: 2000 }, (_, at) => createHash('sha512').update(String(at)).digest()))

const handlers = createHandlerBundle({
  '/page': () => Response.html(page),
  '/large': () => Response.html(large),
  '/data': () => Response.json({ text: page }),
  '/small': () => Response.html('small'),
  '/tagged': () => Response.html(page).withEtag(),
  '/dated': () => Response.html(page, { headers: { 'last-modified': 'Sun, 06 Nov 1994 08:49:37 GMT' } }),
  '/secret': () => Response.html(page, { headers: { 'cache-control': 'private, no-transform' } }),
  '/export': () =>
    Response.stream(Readable.from(['one ', 'two ', 'three']), { headers: { 'content-type': 'text/csv' } }),
  '/events': () =>
    Response.stream(Readable.from(['data: 1\n\n']), { headers: { 'content-type': 'text/event-stream' } }),
  '/numbered/:number': ({ attributes }) => Response.html(numbered(Number(attributes.get('_route_params')?.number))),
})

function numbered(number: number): string {
  return `${number} ${page}`.repeat(1 + (number % 8))
}

interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly bytes: Buffer
  readonly text: string
}

interface Site {
  ask(target: string, headers?: Record<string, string>, method?: string): Promise<Answer>
  asset(name: string): string
}

/** In production, where no toolbar changes pages. */
async function start(t: Test): Promise<Site> {
  const directory = t.testdir({ 'a.css': style, 'clip.webm': clip, 'small.css': 'p{}' })
  const own: Bundle = { name: 'own', register: ({ files }) => files.add('own', path.resolve(directory)) }
  const { app, port } = await startServer(t, { APP_ENV: 'prod' }, [handlers, own])
  return {
    ask: (target, headers = {}, method = 'GET') => exchange(port, target, headers, method),
    asset: name => String(app.files.url(`own/${name}`)),
  }
}

/** Without a client that undoes codings by itself. */
async function exchange(
  port: number,
  target: string,
  headers: Record<string, string>,
  method: string,
): Promise<Answer> {
  const sent = httpRequest({ port, host: '127.0.0.1', path: target, headers, method }).end()
  const message = await new Promise<import('node:http').IncomingMessage>((resolve, reject) => {
    sent.on('response', resolve).on('error', reject)
  })
  const bytes = await buffer(message)
  const coding = message.headers['content-encoding']
  const isEmpty = bytes.length === 0
  const plain =
    coding === undefined || isEmpty ? bytes : coding === 'br' ? brotliDecompressSync(bytes) : gunzipSync(bytes)
  return { status: message.statusCode ?? 0, headers: message.headers, bytes, text: String(plain) }
}

/** Headers without those that differ for each response. */
const stable = (headers: object) => ({ ...headers, date: '', 'x-request-id': '' })

t.test('pages: byte for byte what they are, with the length of what is sent, and HEAD like GET', async t => {
  const { ask } = await start(t)
  for (const [target, text] of [
    ['/page', page],
    ['/large', large],
    ['/data', JSON.stringify({ text: page })],
  ] as const) {
    for (const coding of ['gzip', 'br', undefined]) {
      const sent: Record<string, string> = coding === undefined ? {} : { 'accept-encoding': coding }
      const get = await ask(target, sent)
      t.equal(get.text, text)
      t.equal(get.headers['content-encoding'], coding)
      t.equal(get.headers['content-length'], String(get.bytes.length))
      t.equal(get.headers.vary, 'Accept-Encoding')
      if (coding !== undefined) t.ok(get.bytes.length < text.length / 4)
      const head = await ask(target, sent, 'HEAD')
      t.equal(head.bytes.length, 0)
      t.strictSame(stable(head.headers), stable(get.headers))
    }
  }
})

t.test('small bodies, secrets and events are not compressed, streams of text are', async t => {
  const { ask } = await start(t)
  const sent = { 'accept-encoding': 'gzip, deflate, br' }
  for (const target of ['/small', '/secret', '/events']) {
    const { headers } = await ask(target, sent)
    t.equal(headers['content-encoding'], undefined, target)
    t.equal(headers.vary, undefined, target)
  }
  const { headers, text } = await ask('/export', sent)
  t.equal(text, 'one two three')
  t.equal(headers['content-encoding'], 'gzip')
  t.equal(headers['content-length'], undefined)
  t.equal((await ask('/export', sent, 'HEAD')).headers['content-encoding'], 'gzip')
})

t.test('a page with a validator is sent once', async t => {
  const { ask } = await start(t)
  for (const coding of ['gzip', 'identity']) {
    const sent = { 'accept-encoding': coding }
    const { headers, status } = await ask('/tagged', sent)
    t.equal(status, 200)
    t.match(headers.etag, coding === 'identity' ? /^"/ : /^W\/"/)
    for (const method of ['GET', 'HEAD']) {
      const again = await ask('/tagged', { ...sent, 'if-none-match': String(headers.etag) }, method)
      t.equal(again.status, 304)
      t.equal(again.bytes.length, 0)
      t.equal(again.headers.etag, headers.etag)
      t.equal(again.headers.vary, headers.vary)
      t.equal(again.headers['cache-control'], headers['cache-control'])
      for (const name of ['content-length', 'content-type', 'content-encoding', 'transfer-encoding']) {
        t.equal(again.headers[name], undefined, name)
      }
    }
    t.equal((await ask('/tagged', { ...sent, 'if-none-match': '"other"' })).text, page)
  }
  t.equal((await ask('/dated', { 'if-modified-since': 'Sun, 06 Nov 1994 08:49:37 GMT' })).status, 304)
  t.equal((await ask('/dated', { 'if-modified-since': 'Sun, 06 Nov 1994 08:49:36 GMT' })).text, page)
})

t.test('files: each coding has its own etag, and its own 304', async t => {
  const { ask, asset } = await start(t)
  const tags = new Set<string>()
  for (const coding of ['br', 'gzip', 'identity']) {
    const sent = { 'accept-encoding': coding }
    const get = await ask(asset('a.css'), sent)
    t.equal(get.text, style)
    t.equal(get.headers['content-encoding'] ?? 'identity', coding)
    t.equal(get.headers['content-length'], String(get.bytes.length))
    t.equal(get.headers['content-type'], 'text/css; charset=UTF-8')
    t.equal(get.headers['cache-control'], 'public, max-age=31536000, immutable')
    t.equal(get.headers.vary, 'Accept-Encoding')
    const head = await ask(asset('a.css'), sent, 'HEAD')
    t.strictSame(stable(head.headers), stable(get.headers))
    const etag = String(get.headers.etag)
    tags.add(etag)
    const again = await ask(asset('a.css'), { ...sent, 'if-none-match': etag })
    t.equal(again.status, 304)
    t.equal(again.headers.etag, etag)
    t.equal(again.headers['cache-control'], get.headers['cache-control'])
    t.equal(again.headers['content-length'], undefined)
  }
  t.equal(tags.size, 3)
  t.equal((await ask('/assets/own/a.css')).headers['cache-control'], 'public, no-cache')
  t.equal((await ask('/assets/00000000/own/a.css')).headers['cache-control'], 'public, no-cache')
  t.equal((await ask('/assets/00000000/own/none.css')).status, 404)
  t.equal((await ask(asset('small.css'), { 'accept-encoding': 'br' })).text, 'p{}')
})

t.test('ranges, of plain and of compressible files', async t => {
  const { ask, asset } = await start(t)
  const size = clip.length
  for (const [range, start, end] of [
    ['bytes=0-0', 0, 0],
    ['bytes=100-', 100, size - 1],
    ['bytes=-100', size - 100, size - 1],
    [`bytes=-${size * 2}`, 0, size - 1],
    ['bytes=70000-140000', 70_000, Math.min(140_000, size - 1)],
  ] as const) {
    const part = await ask(asset('clip.webm'), { range })
    t.equal(part.status, 206, range)
    t.equal(part.headers['content-range'], `bytes ${start}-${end}/${size}`)
    t.equal(part.headers['content-length'], String(end - start + 1))
    t.ok(part.bytes.equals(clip.subarray(start, end + 1)))
  }
  for (const range of ['bytes=0-1,4-5', 'bytes=5-2', 'bytes=x', 'lines=0-1']) {
    const all = await ask(asset('clip.webm'), { range })
    t.equal(all.status, 200, range)
    t.ok(all.bytes.equals(clip))
  }
  const beyond = await ask(asset('clip.webm'), { range: `bytes=${size}-` })
  t.equal(beyond.status, 416)
  t.equal(beyond.headers['content-range'], `bytes */${size}`)
  t.equal(beyond.bytes.length, 0)

  const part = await ask(asset('a.css'), { range: 'bytes=0-4', 'accept-encoding': 'br' })
  t.equal(part.status, 206)
  t.equal(part.text, style.slice(0, 5))
  t.equal(part.headers['content-encoding'], undefined)
  const compressed = await ask(asset('a.css'), { 'accept-encoding': 'br' })
  const other = await ask(asset('a.css'), { range: 'bytes=0-4', 'if-range': String(compressed.headers.etag) })
  t.equal(other.status, 200, 'the parts of another coding do not fit')
  t.equal(other.text, style)
})

t.test('200 overlapping requests each get their own', async t => {
  const { ask, asset } = await start(t)
  const codings = ['gzip', 'br', 'identity']
  const all = Array.from({ length: 200 }, async (_, number) => {
    const coding = String(codings[number % 3])
    await wait(number % 10)
    const isFile = number % 5 === 0
    const answer = await ask(isFile ? asset('a.css') : `/numbered/${number}`, { 'accept-encoding': coding })
    t.equal(answer.text === (isFile ? style : numbered(number)), true, `${number}`)
    t.equal(answer.headers['content-encoding'] ?? 'identity', coding)
    t.equal(answer.headers['content-length'], String(answer.bytes.length))
  })
  await Promise.all(all)
})
