import { once } from 'node:events'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { PassThrough, Readable } from 'node:stream'
import { buffer, text } from 'node:stream/consumers'
import t from 'tap'
import { RequestBody } from '#lib/body/request-body.ts'

t.test('JSON of any kind is read, in whatever pieces it comes', async t => {
  for (const contentType of ['application/json', 'Application/JSON ; charset=utf-8', 'application/problem+json']) {
    t.strictSame(await bodyOf(['{"a"', ':"\xc3', '\xa9"}'], { contentType }).json(), { a: 'é' })
  }
  t.strictSame(await bodyOf(['\xef\xbb\xbf{}'], { contentType: 'application/json' }).json(), {}, 'a byte order mark')
})

t.test('a form keeps a byte order mark, and has no bytes that are not UTF-8', async t => {
  const form = (bytes: string) => bodyOf([bytes], { contentType: 'application/x-www-form-urlencoded' }).formData()
  t.strictSame([...(await form('\xef\xbb\xbfa=\xc3\xa9'))], [['\ufeffa', 'é']])
  await t.rejects(form('a=\xff'), { code: 'BODY_TEXT_INVALID', status: 400 })
  await t.rejects(form('a=%ff'), { code: 'BODY_FORM_INVALID', status: 400 })
})

t.test('text may be of any type', async t => {
  t.equal(await bodyOf(['a', 'b']).text(), 'ab')
  t.equal(await bodyOf(['\xef\xbb\xbfa'], { contentType: 'application/json' }).text(), 'a')
})

t.test('each method gives the same result again, and they share the bytes', async t => {
  const body = bodyOf(['a=1&b=', '2'], { contentType: 'application/x-www-form-urlencoded', length: 7 })
  t.equal(body.wasRead, false)
  t.equal(body.formData(), body.formData())
  t.strictSame(
    [...(await body.formData())],
    [
      ['a', '1'],
      ['b', '2'],
    ],
  )
  t.equal(body.wasRead, true)
  t.equal(await body.text(), 'a=1&b=2')
  t.equal(body.text(), body.text())
  t.equal(Buffer.from(await body.bytes()).toString(), 'a=1&b=2')
  const json = bodyOf(['{}'], { contentType: 'application/json' })
  t.equal(await json.json(), await json.json())
})

t.test('peek returns what was already read, and reads nothing', async t => {
  const body = bodyOf(['a=1'], { contentType: 'application/x-www-form-urlencoded' })
  t.strictSame(body.peek(), { bytes: undefined, form: undefined })
  t.equal(body.wasRead, false)
  const bytes = await body.bytes()
  t.equal(body.peek().bytes, bytes)
  t.equal(body.peek().form, undefined)
  const form = await body.formData()
  t.equal(body.peek().bytes, bytes)
  t.equal(body.peek().form, form)
})

t.test('an absent body is empty, and no JSON', async t => {
  const empty = { stream: new PassThrough(), length: 0, contentType: 'multipart/form-data' }
  for (const body of [new RequestBody(null), new RequestBody(empty)]) {
    t.equal(body.isPresent, false)
    await body.read()
    t.equal(await body.text(), '')
    t.equal((await body.bytes()).length, 0)
    t.strictSame([...(await body.formData())], [])
    await t.rejects(body.json(), { code: 'BODY_JSON_INVALID', message: /it is empty/ })
    t.equal(body.wasRead, false)
    await body.dispose()
  }
  const chunked = bodyOf([], { contentType: 'application/json' })
  t.equal(chunked.isPresent, true)
  await t.rejects(chunked.json(), { code: 'BODY_JSON_INVALID', message: /it is empty/ })
})

t.test('read reads JSON, text and simple forms, and no other type', async t => {
  for (const [contentType, expected] of [
    ['application/json', true],
    ['application/ld+json', true],
    ['text/plain;charset=utf-8', true],
    ['application/x-www-form-urlencoded', true],
    ['multipart/form-data; boundary=x', false],
    ['application/octet-stream', false],
    [undefined, false],
  ] as const) {
    const body = bodyOf(['{not looked at'], { contentType })
    await body.read()
    t.equal(body.wasRead, expected, String(contentType))
  }
})

t.test('a wrong type is refused, with the expected one', async t => {
  const body = bodyOf(['{}'], { contentType: 'text/plain' })
  await t.rejects(body.json(), {
    code: 'BODY_TYPE_UNSUPPORTED',
    status: 415,
    message: 'The request body has the content type "text/plain". Send application/json.',
    headers: { accept: 'application/json' },
  })
  await t.rejects(body.formData(), { message: /Send application\/x-www-form-urlencoded, multipart\/form-data/ })
  t.equal(body.wasRead, false)
  await t.rejects(bodyOf(['{}']).json(), { message: /content type ""/ })
})

t.test('an encoded body is refused, an identical one is not', async t => {
  const contentType = 'application/json'
  for (const contentEncoding of ['identity', ' Identity', '']) {
    t.strictSame(await bodyOf(['{}'], { contentType, contentEncoding }).json(), {})
  }
  const body = bodyOf(['{}'], { contentType, contentEncoding: 'GZip' })
  const headers = { 'accept-encoding': 'identity' }
  await t.rejects(Promise.resolve(body.read()), {
    code: 'BODY_ENCODING_UNSUPPORTED',
    status: 415,
    message: /"gzip"/,
    headers,
  })
  t.equal(body.wasRead, false)
  t.equal(String(Buffer.from(await body.encodedBytes())), '{}', 'a caller may decode it')
  t.equal(await body.encodedBytes(), await body.encodedBytes())
  t.equal((await new RequestBody(null).encodedBytes()).length, 0)
})

t.test('a body is a stream within its limit, which is read only on demand', async t => {
  const source = new PassThrough({ highWaterMark: 2 })
  let isAsked = false
  const body = new RequestBody({
    stream: source,
    length: 6,
    contentType: 'text/plain',
    contentEncoding: 'gzip',
    onRead() {
      isAsked = true
    },
  })
  const stream = body.stream()
  t.strictSame([isAsked, body.wasRead], [false, true])
  t.throws(() => body.stream(), { code: 'BODY_UNAVAILABLE' })
  await body.read()
  source.write('abc')
  source.end('def')
  t.equal(await text(stream), 'abcdef')
  t.ok(isAsked)
  t.equal(await text(new RequestBody(null).stream()), '')
  const read = bodyOf(['a', 'b'])
  await read.bytes()
  t.equal(await text(read.stream()), 'ab', 'what was read before')
})

t.test('a stream of a body is paused while its reader is slow', async t => {
  const source = new PassThrough()
  const stream = new RequestBody({ stream: source }).stream()
  const chunk = Buffer.alloc(60_000)
  for (let count = 0; count < 4; count++) source.write(chunk)
  stream.read(0)
  await once(stream, 'readable')
  t.equal(source.isPaused(), true)
  source.end()
  t.equal((await buffer(stream)).length, 240_000)
})

t.test('a stream of a body refuses too much, and fails if the body is incomplete', async t => {
  t.throws(() => bodyOf(['abc'], { length: 2 ** 20 + 1 }).stream(), { code: 'BODY_TOO_LARGE', status: 413 })
  const limited = bodyOf(['ab', 'cd'])
  limited.limit = 3
  await t.rejects(text(limited.stream()), { code: 'BODY_TOO_LARGE' })
  const contentType = 'multipart/form-data; boundary=a'
  t.ok(bodyOf([], { length: 10 * 2 ** 20, contentType }).stream(), 'a form with files may be larger')
  await t.rejects(text(bodyOf(['abc'], { length: 4 }).stream()), { code: 'BODY_TRUNCATED' })
  const source = new PassThrough()
  const broken = text(new RequestBody({ stream: source }).stream())
  source.destroy(new Error('reset'))
  await t.rejects(broken, { code: 'BODY_TRUNCATED', cause: { message: 'reset' } })
})

t.test('a stream of a body that is destroyed leaves its source to the owner', async t => {
  const source = new PassThrough()
  const unread = new RequestBody({ stream: source }).stream().destroy()
  await once(unread, 'close')
  const begun = new RequestBody({ stream: source }).stream()
  source.write('a')
  await once(begun, 'data')
  await once(begun.destroy(), 'close')
  t.strictSame([source.destroyed, source.isPaused()], [false, true])
  source.end('b')
  t.equal(String(await buffer(source)), 'b')
})

t.test('bytes that are not UTF-8 are refused as text, and only as text', async t => {
  for (const contentType of ['application/json', 'text/plain', 'application/x-www-form-urlencoded']) {
    const body = bodyOf(['"\xff"'], { contentType })
    await t.rejects(body.text(), { code: 'BODY_TEXT_INVALID', status: 400 })
    t.equal((await body.bytes()).length, 3)
  }
  await t.rejects(bodyOf(['\xff'], { contentType: 'application/json' }).json(), { code: 'BODY_TEXT_INVALID' })
})

t.test('text that is not UTF-8 is refused by the name of its charset, if it has another one', async t => {
  const refused: readonly [bytes: string, contentType: string, charset: string][] = [
    ['\xe9', 'text/plain; charset=iso-8859-1', 'iso-8859-1'],
    ['\xe9', 'text/plain;charset="ISO-8859-1"', 'ISO-8859-1'],
    ['\xe9', 'text/plain; format=flowed; Charset=windows-1252', 'windows-1252'],
    ['\xe9', 'text/plain; charset=us-ascii', 'us-ascii'],
    ['\x82\xa0', 'text/csv; charset=Shift_JIS', 'Shift_JIS'],
    ['\xb0\xa1', 'text/plain; charset=gb18030', 'gb18030'],
    ['\xe9', 'text/plain; charset=unknown', 'unknown'],
    ['\xff\xfea\x00', 'text/plain; charset=utf-16', 'utf-16'],
    // By accident, these bytes are UTF-8.
    ['a\x00b\x00', 'text/plain; charset=utf-16le', 'utf-16le'],
    ['\x00\x00\x00a', 'text/plain; charset=utf-32', 'utf-32'],
    ['\x1b$B$"\x1b(B', 'text/plain; charset=iso-2022-jp', 'iso-2022-jp'],
    ['"\xe9"', 'application/json; charset=iso-8859-1', 'iso-8859-1'],
    ['a=\xe9', 'application/x-www-form-urlencoded; charset=iso-8859-1', 'iso-8859-1'],
    ['a=%E9', 'application/x-www-form-urlencoded; charset=iso-8859-1', 'iso-8859-1'],
  ]
  const read = (body: RequestBody): Promise<unknown> => {
    if (body.contentType === 'application/json') return body.json()
    return body.contentType.startsWith('text/') ? body.text() : body.formData()
  }
  for (const [bytes, contentType, charset] of refused) {
    const message = `The request body has the charset "${charset}". Send UTF-8.`
    const expected = { code: 'BODY_CHARSET_UNSUPPORTED', status: 415, message }
    await t.rejects(read(bodyOf([bytes], { contentType })), expected, contentType)
  }
  for (const contentType of ['text/plain', 'text/plain; charset=utf-8', 'text/plain; charset="UTF8"']) {
    await t.rejects(bodyOf(['\xe9'], { contentType }).text(), { code: 'BODY_TEXT_INVALID', status: 400 }, contentType)
  }
  // Clients name a charset by mistake, or because their library does.
  t.equal(await bodyOf(['a b'], { contentType: 'text/plain; charset=ISO-8859-1' }).text(), 'a b')
  t.equal(await bodyOf(['\xc3\xa9'], { contentType: 'text/plain; charset=ISO-8859-1' }).text(), 'é')
  t.strictSame(await bodyOf(['"\xc3\xa9"'], { contentType: 'application/json; charset=us-ascii' }).json(), 'é')
})

t.test('JSON has a media type of JSON', async t => {
  const rows: readonly [contentType: string, isJson: boolean][] = [
    ['application/json', true],
    ['Application/JSON', true],
    ['\tapplication/json ; charset=utf-8', true],
    ['application/json;', true],
    ['application/vnd.api+json', true],
    ['application/ld+json;profile="a;b"', true],
    ['image/x+json', true],
    ['text/json', true],
    ['+json', false],
    ['/+json', false],
    ['a/', false],
    ['a b/c+json', false],
    ['a/b c+json', false],
    ['a/b/c+json', false],
    ['a/b+json x', false],
    ['a"/b+json', false],
    ['é/b+json', false],
    ['application/json, application/json', false],
    ['application/jsonp', false],
    ['application/json-seq', false],
    ['application/json+xml', false],
    ['application/x-json', false],
    ['json', false],
    ['text/plain', false],
    ['', false],
  ]
  const found = await Promise.all(
    rows.map(async ([contentType]) => {
      const code = await bodyOf(['{}'], { contentType })
        .json()
        .then(
          () => 'read',
          ({ code }) => code,
        )
      return [contentType, code === 'BODY_TYPE_UNSUPPORTED' ? false : code === 'read']
    }),
  )
  t.strictSame(found, rows)
  await t.rejects(bodyOf(['{}'], { contentType: 'a b/c+json' }).json(), { status: 415, message: /"a b\/c\+json"/ })
})

t.test('a declared length over the limit is refused before anything is read', async t => {
  const stream = new PassThrough()
  const onRead = () => t.fail('must not be called')
  const body = new RequestBody({ stream, length: 1024 ** 2 + 1, onRead })
  await t.rejects(body.bytes(), { code: 'BODY_TOO_LARGE', status: 413, message: /1048576 bytes/ })
  t.strictSame(stream.eventNames().length, new PassThrough().eventNames().length)
})

t.test('an undeclared length is counted, and reading stops where the limit is exceeded', async t => {
  const stream = Readable.from(['abcd', 'efgh', 'i', 'never read'].map(text => Buffer.from(text)))
  const body = new RequestBody({ stream }, { limits: { bytes: 8 } })
  await t.rejects(body.text(), { code: 'BODY_TOO_LARGE', message: /limit of 8 bytes/ })
  t.equal(stream.destroyed, false)
  t.equal(stream.isPaused(), true)
  t.equal(stream.listenerCount('data'), 0)
  t.strictSame(Buffer.concat(await stream.toArray()).toString(), 'never read', 'the rest is for its owner to drain')
})

t.test('exactly the limit is accepted; a route may set its own', async t => {
  t.equal(await bodyOf(['abc'], { length: 3 }, 3).text(), 'abc')
  const body = bodyOf(['abcd'], { length: 4 }, 3)
  body.limit = 4
  t.equal(await body.text(), 'abcd')
})

t.test('onRead is called once, when reading begins', async t => {
  let calls = 0
  const body = bodyOf(['abc'], { onRead: () => calls++ })
  t.equal(calls, 0)
  await body.text()
  await body.bytes()
  t.equal(calls, 1)
})

t.test('a body that is shorter than declared is refused', async t => {
  await t.rejects(bodyOf(['abc'], { length: 4 }).text(), { code: 'BODY_TRUNCATED', status: 400 })
})

t.test('a stream that fails or closes early is refused at any time', async t => {
  const during = new PassThrough()
  const reading = new RequestBody({ stream: during }).text()
  during.write('abc')
  during.destroy(new Error('reset'))
  await t.rejects(reading, { code: 'BODY_TRUNCATED', cause: { message: 'reset' } })

  const before = new PassThrough()
  before.destroy()
  await t.rejects(new RequestBody({ stream: before }).text(), { code: 'BODY_TRUNCATED' })

  const taken = Readable.from([Buffer.from('abc'), Buffer.from('def')])
  await once(taken, 'data')
  await t.rejects(new RequestBody({ stream: taken }).text(), { code: 'BODY_TRUNCATED' })
})

t.test('a stream that fails after it was refused does not end the process', async t => {
  const stream = new PassThrough()
  const body = new RequestBody({ stream }, { limits: { bytes: 2 } })
  stream.write('abc')
  await t.rejects(body.text(), { code: 'BODY_TOO_LARGE' })
  stream.destroy(new Error('late'))
  await new Promise(resolve => stream.on('close', resolve))
})

t.test('a rejection without a handler does not end the process', async t => {
  const body = bodyOf(['rubbish'], { contentType: 'application/json' })
  void body.json()
  void bodyOf([], { contentType: 'text/plain' }).formData()
  await new Promise(resolve => setImmediate(resolve))
  t.equal(await body.text(), 'rubbish')
})

t.test('the bytes of a multipart form are read once: as bytes or as a form', async t => {
  const source = { contentType: 'multipart/form-data; boundary=x' }
  const asForm = bodyOf(['--x--'], source)
  await asForm.formData()
  await t.rejects(asForm.text(), { code: 'BODY_UNAVAILABLE', status: 500, message: /already read in another form/ })
  const asText = bodyOf(['--x--'], source)
  t.equal(await asText.text(), '--x--')
  await t.rejects(asText.formData(), { code: 'BODY_UNAVAILABLE' })
})

t.test('after dispose, results stay and nothing more is read', async t => {
  const body = bodyOf(['abc'])
  await body.bytes()
  await body.dispose()
  t.equal(await body.text(), 'abc')
  const unread = bodyOf(['abc'])
  await unread.dispose()
  await t.rejects(unread.text(), { code: 'BODY_UNAVAILABLE', message: /the request is over/ })
})

t.test('a body in many tiny pieces takes the memory of one', async t => {
  const pieces = (function* () {
    for (let index = 0; index < 100_000; index++) yield Buffer.from(String(index % 10))
  })()
  const body = new RequestBody({ stream: Readable.from(pieces) })
  t.equal(await body.text(), '0123456789'.repeat(10_000))
  t.ok((await body.bytes()).buffer.byteLength < 200_000)
})

t.test('over a real connection', async t => {
  const bodies: RequestBody[] = []
  const server = createServer(async (incoming, response) => {
    const { 'content-length': length, 'content-type': contentType } = incoming.headers
    const body = new RequestBody({ stream: incoming, length: length === undefined ? undefined : +length, contentType })
    bodies.push(body)
    const answer = await body.json().then(JSON.stringify, error => error.code)
    response.end(answer)
  }).listen(0)
  await once(server, 'listening')
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo
  const send = (headers: Record<string, string | number>) =>
    request({ port, method: 'POST', headers: { 'content-type': 'application/json', ...headers } })
  const answerTo = async (client: ReturnType<typeof send>): Promise<string> => {
    const [response] = await once(client, 'response')
    return Buffer.concat(await response.toArray()).toString()
  }

  t.test('declared and chunked bodies are read', async t => {
    t.equal(await answerTo(send({ 'content-length': 7 }).end('{"a":1}')), '{"a":1}')
    const chunked = send({})
    chunked.write('{"a"')
    t.equal(await answerTo(chunked.end(':2}')), '{"a":2}')
  })

  t.test('a body that is too large is answered while it is still coming in', async t => {
    const client = send({ 'content-length': 2 ** 30 })
    client.on('error', () => {})
    client.write('[')
    t.equal(await answerTo(client), 'BODY_TOO_LARGE')
    client.destroy()
  })

  for (const headers of [{ 'content-length': 100 }, {}]) {
    t.test(`one that breaks off is refused (${Object.keys(headers)[0] ?? 'chunked'})`, async t => {
      const client = send(headers)
      client.on('error', () => {})
      const arrived = once(server, 'request')
      client.write('{"a":1}')
      await arrived
      client.destroy()
      await t.rejects(bodies.at(-1)?.json() ?? Promise.resolve(), { code: 'BODY_TRUNCATED' })
    })
  }
})

/** A body that comes in the given pieces; each character is a byte. */
function bodyOf(
  pieces: readonly string[],
  source: Partial<ConstructorParameters<typeof RequestBody>[0]> = {},
  bytes = 1000,
): RequestBody {
  const stream = Readable.from(pieces.map(piece => Buffer.from(piece, 'latin1')))
  return new RequestBody({ stream, ...source }, { limits: { bytes } })
}
