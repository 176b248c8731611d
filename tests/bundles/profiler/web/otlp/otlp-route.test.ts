import { gzipSync } from 'node:zlib'
import { PbfReader } from 'pbf'
import { type Test, t } from 'tap'
import { decodeJson, decodeProtobuf } from '#bundles/profiler/web/otlp/otlp-message.ts'
import { toReceivedSpans } from '#bundles/profiler/web/otlp/otlp-route.ts'
import { Redactor } from '#lib/redact/redactor.ts'
import { encode, field, jsonSpan, spanIdOf, toMessage, traceId } from '#tests/support/otlp.ts'
import { createProfiledKernel } from '#tests/support/profiled-kernel.ts'
import { provenSample } from '#tests/support/sample.ts'
import { serveKernel } from '#tests/support/test-server.ts'

const path = '/_profiler/otlp/v1/traces'
const protobuf = 'application/x-protobuf'
const json = 'application/json'

interface Answer {
  readonly status: number
  readonly type: string | null
  readonly bytes: Buffer
}

async function open(t: Test, variables: Readonly<Record<string, string>> = {}) {
  const kernel = await createProfiledKernel(t, { directory: t.testdir(), variables })
  const { client, storage } = kernel
  const { url } = await serveKernel(t, kernel)
  const post = async (body: string | Uint8Array, headers: Readonly<Record<string, string>> = {}): Promise<Answer> => {
    const init = { method: 'POST', body: Buffer.from(body), headers: { 'content-type': json, ...headers } }
    const response = await fetch(url + path, init)
    const bytes = Buffer.from(await response.arrayBuffer())
    return { status: response.status, type: response.headers.get('content-type'), bytes }
  }
  const postSpans = async (...spans: readonly unknown[]) => {
    const { bytes, status, type } = await post(JSON.stringify(toMessage(spans)))
    t.strictSame([status, type], [200, json])
    return JSON.parse(String(bytes))
  }
  return { client, storage, post, postSpans, find: () => storage.spans.find(traceId) }
}

/** The span of {@link jsonSpan} in Protocol Buffers. */
const protobufSpan = field(2, span => {
  span.writeBytesField(1, Buffer.from(traceId, 'hex'))
  span.writeBytesField(2, Buffer.from(spanIdOf(1), 'hex'))
  span.writeStringField(3, 'vendor=state')
  span.writeBytesField(4, Buffer.from(spanIdOf(2), 'hex'))
  span.writeStringField(5, 'GET /stock')
  span.writeVarintField(6, 2)
  span.writeFixed64Field(7, 1795216509042000000)
  span.writeFixed64Field(8, 1795216509043500000)
  field(9, attribute => {
    attribute.writeStringField(1, 'items')
    field(2, value => {
      field(5, list => {
        field(1, item => item.writeStringField(1, 'one'))(list)
        field(1, item => item.writeVarintField(3, 2))(list)
      })(value)
    })(attribute)
  })(span)
  field(9, attribute => {
    attribute.writeStringField(1, 'more')
    field(2, value => {
      field(6, map => {
        field(1, entry => {
          entry.writeStringField(1, 'half')
          field(2, inner => inner.writeDoubleField(4, 0.5))(entry)
        })(map)
        field(1, entry => {
          entry.writeStringField(1, 'yes')
          field(2, inner => inner.writeBooleanField(2, true))(entry)
        })(map)
        field(1, entry => {
          entry.writeStringField(1, 'raw')
          field(2, inner => inner.writeBytesField(7, new Uint8Array(3)))(entry)
        })(map)
      })(value)
    })(attribute)
  })(span)
  field(15, status => {
    status.writeStringField(2, 'sold out')
    status.writeVarintField(3, 2)
  })(span)
})

const protobufMessage = encode(
  field(1, resource => {
    field(1, inner => {
      field(1, attribute => {
        attribute.writeStringField(1, 'service.name')
        field(2, value => value.writeStringField(1, 'stock'))(attribute)
      })(inner)
    })(resource)
    field(2, scope => {
      field(1, inner => inner.writeStringField(1, 'test'))(scope)
      protobufSpan(scope)
    })(resource)
  }),
)

const completeSpan = {
  ...jsonSpan,
  status: { code: 2, message: 'sold out' },
  attributes: [
    { key: 'items', value: { arrayValue: { values: [{ stringValue: 'one' }, { intValue: '2' }] } } },
    {
      key: 'more',
      value: {
        kvlistValue: {
          values: [
            { key: 'half', value: { doubleValue: 0.5 } },
            { key: 'yes', value: { boolValue: true } },
            { key: 'raw', value: { bytesValue: 'AAAA' } },
          ],
        },
      },
    },
  ],
}

const expectedSpan = {
  service: 'stock',
  process: '  ',
  traceId,
  spanId: spanIdOf(1),
  parentId: spanIdOf(2),
  name: 'GET /stock',
  kind: 'server',
  start: 1795216509042000,
  end: 1795216509043500,
  error: 'sold out',
  attributes: [
    ['items', ['one', 2]],
    ['more', { half: 0.5, yes: true, raw: 'bytes, 3' }],
  ],
}

t.test('a message in Protocol Buffers and one in JSON give the same span', async t => {
  const { find, post, postSpans, storage } = await open(t)
  const answer = await post(protobufMessage, { 'content-type': protobuf })
  t.strictSame([answer.status, answer.type, answer.bytes.length], [200, protobuf, 0])
  t.strictSame(await find(), [expectedSpan])

  await storage.purge()
  t.strictSame(await postSpans(completeSpan), {})
  t.strictSame(await find(), [expectedSpan])
})

t.test('an unknown kind of span is stored as an internal span', async t => {
  const { find, postSpans } = await open(t)
  await postSpans({ ...jsonSpan, kind: 9 }, { ...jsonSpan, spanId: spanIdOf(3), kind: 'SPAN_KIND_NEW' })
  t.strictSame(
    (await find()).map(({ kind }) => kind),
    ['internal', 'internal'],
  )
})

t.test('a message may be compressed, and ids may be base64', async t => {
  const { find, post, postSpans } = await open(t)
  const answer = await post(gzipSync(protobufMessage), { 'content-type': protobuf, 'content-encoding': 'gzip' })
  t.equal(answer.status, 200)
  const toBase64 = (id: string) => Buffer.from(id, 'hex').toString('base64')
  await postSpans({ ...jsonSpan, traceId: toBase64(traceId), spanId: toBase64(spanIdOf(3)), kind: 'SPAN_KIND_CLIENT' })
  await postSpans({
    ...jsonSpan,
    traceId: traceId.toUpperCase(),
    spanId: spanIdOf(4),
    status: { code: 'STATUS_CODE_OK' },
  })
  const spans = await find()
  t.strictSame(
    spans.map(({ error, kind, spanId }) => [spanId, kind, error]),
    [
      [spanIdOf(1), 'server', 'sold out'],
      [spanIdOf(3), 'client', undefined],
      [spanIdOf(4), 'server', undefined],
    ],
  )
})

t.test('spans without valid ids or times are rejected, and the others are stored', async t => {
  const { find, post, postSpans } = await open(t)
  const wrong = [
    { traceId: '0'.repeat(32) },
    { traceId: 'abc' },
    { traceId: `${traceId}0` },
    { traceId: 7 },
    { spanId: '0'.repeat(16) },
    { spanId: '' },
    { spanId: '../../../../etc' },
    { parentSpanId: 'x' },
    { startTimeUnixNano: '' },
    { startTimeUnixNano: 'yesterday' },
    { endTimeUnixNano: '1795216509041000000' },
    { endTimeUnixNano: '9'.repeat(40) },
    { endTimeUnixNano: Number.NaN },
  ]
  const answer = await postSpans(...wrong.map(changes => ({ ...jsonSpan, ...changes })), jsonSpan, 'text', null, [])
  t.match(answer, {
    partialSuccess: { rejectedSpans: String(wrong.length), errorMessage: /no valid ids or times/ },
  })
  t.strictSame(
    (await find()).map(({ spanId }) => spanId),
    [spanIdOf(1)],
  )

  const broken = encode(
    field(1, resource => field(2, scope => field(2, span => span.writeStringField(5, 'no ids'))(scope))(resource)),
  )
  const partial = await post(broken, { 'content-type': protobuf })
  const reader = new PbfReader(partial.bytes)
  t.equal(reader.nextField(), 1)
  const result: unknown[] = []
  reader.readMessage((tag, into, inner) => void into.push(tag === 1 ? inner.readVarint() : inner.readString()), result)
  t.match(result, [1, /no valid ids or times/])
})

t.test('what is no message is refused with a status of the format', async t => {
  const { find, post } = await open(t)
  const refusals: [body: string | Uint8Array, headers: Record<string, string>, status: number, message: RegExp][] = [
    ['{', {}, 400, /not valid JSON/],
    ['', {}, 400, /it is empty/],
    [`${'['.repeat(100)}${']'.repeat(100)}`, {}, 400, /deeper than 40 levels/],
    ['{"__proto__":{"resourceSpans":[]}}', {}, 400, /the key "__proto__"/],
    [Buffer.from([0xff, 0xfe]), {}, 400, /not valid UTF-8/],
    ['{}', { 'content-type': 'text/plain' }, 415, /application\/x-protobuf/],
    ['{}', { 'content-encoding': 'br' }, 415, /content encoding "br"/],
    ['{}', { 'content-encoding': 'gzip' }, 400, /not valid gzip/],
    [gzipSync(Buffer.alloc(17 * 1024 * 1024)), { 'content-encoding': 'gzip' }, 413, /16777216 bytes/],
    [Buffer.alloc(5 * 1024 * 1024), { 'content-encoding': 'gzip' }, 413, /4194304 bytes/],
  ]
  for (const [body, headers, status, message] of refusals) {
    const answer = await post(body, headers)
    t.equal(answer.status, status, String(message))
    t.match(JSON.parse(String(answer.bytes)), { message })
  }
  t.equal((await post(Buffer.alloc(5 * 1024 * 1024))).status, 413)
  t.equal(String((await post('[]')).bytes), '{}', 'a message without spans')

  const span = protobufMessage
  const cut = Array.from({ length: span.length - 1 }, (_, length) => span.subarray(0, length + 1))
  const strange = [
    ...provenSample(cut, 30),
    Buffer.from([0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01]),
    Buffer.from([0x0a, 0x80]),
    Buffer.from([0x0f]),
    Buffer.alloc(1000, 0x0a),
    Buffer.alloc(1000, 0xff),
  ]
  for (const body of strange) {
    const answer = await post(body, { 'content-type': protobuf })
    t.strictSame([answer.status, answer.type], [400, protobuf], Buffer.from(body).toString('hex'))
    const reader = new PbfReader(answer.bytes)
    t.equal(reader.nextField(), 2)
    t.match(reader.readString(), 'not a valid ExportTraceServiceRequest')
  }
  t.strictSame(await find(), [])
})

t.test('values that are nested deeply, and endless lists, are cut', async t => {
  const { find, post, postSpans } = await open(t)
  let deep: object = { stringValue: 'deepest' }
  for (let level = 0; level < 6; level++) deep = { arrayValue: { values: [deep] } }
  await postSpans({
    ...jsonSpan,
    attributes: [
      { key: 'deep', value: deep },
      { key: 'empty' },
      { value: { intValue: {} } },
      ...Array.from({ length: 500 }, (_, index) => ({ key: `a${index}`, value: { intValue: index } })),
    ],
  })
  const [span] = await find()
  const attributes = span?.attributes ?? []
  t.equal(attributes.length, 128)
  t.strictSame(attributes.slice(0, 4), [
    ['deep', [[[['…']]]]],
    ['empty', null],
    ['', 'NaN'],
    ['a0', 0],
  ])
  t.notMatch(JSON.stringify(attributes), 'deepest')

  // Each level of a value is a message in a message.
  let value = encode(writer => writer.writeStringField(1, 'deepest'))
  for (let level = 0; level < 20_000; level++) {
    const inner = value
    value = encode(writer => writer.writeBytesField(1, inner))
    const list = value
    value = encode(writer => writer.writeBytesField(5, list))
    if (value.length > 100_000) break
  }
  const message = encode(
    field(1, resource =>
      field(1, inner =>
        field(1, attribute => {
          attribute.writeStringField(1, 'service.name')
          attribute.writeBytesField(2, value)
        })(inner),
      )(resource),
    ),
  )
  t.equal((await post(message, { 'content-type': protobuf })).status, 200)
})

t.test('spans over the limit of a message are counted as rejected', async t => {
  const { post, postSpans } = await open(t)
  const spans = Array.from({ length: 10_003 }, () => ({ spanId: 'x' }))
  t.match(await postSpans(...spans), { partialSuccess: { rejectedSpans: '10003' } })
  const message = encode(
    field(1, resource =>
      field(2, scope => {
        for (let count = 0; count < 10_001; count++) field(2, () => undefined)(scope)
      })(resource),
    ),
  )
  const { bytes } = await post(message, { 'content-type': protobuf })
  const counts: number[] = []
  new PbfReader(bytes).readFields((_, __, outer) => {
    outer.readMessage((tag, into, inner) => void (tag === 1 && into.push(inner.readVarint())), counts)
  }, undefined)
  t.strictSame(counts, [10_001])
})

t.test('a message of empty parts has no spans, and a large one leaves time for other work', async t => {
  const empty = Buffer.alloc(100_000, Buffer.from([0x0a, 0]))
  t.strictSame(decodeProtobuf(empty), { resources: [], omitted: 0 })
  t.strictSame(decodeProtobuf(Buffer.from([0x10, 1])), { resources: [], omitted: 0 }, 'another field is skipped')
  t.strictSame(decodeJson('{"resourceSpans":[{},{}]}'), { resources: [], omitted: 0 })
  const attributes = Array.from({ length: 100 }, (_, index) => ({
    key: `key${index}`,
    value: { stringValue: `password=${'x'.repeat(index)}` },
  }))
  const spans = Array.from({ length: 300 }, () => ({ ...jsonSpan, attributes }))
  let turns = 0
  const timer = setInterval(() => turns++, 0)
  t.teardown(() => clearInterval(timer))
  const received = await toReceivedSpans(decodeJson(JSON.stringify(toMessage(spans))), new Redactor())
  t.strictSame([received.spans.length, received.rejected], [300, 0])
  t.ok(turns > 0)
})

t.test('secrets in names, attributes and messages are masked before spans are stored', async t => {
  const canary = 'canary-4f7d'
  const { find, postSpans } = await open(t, { DATABASE_URL: `postgres://me:${canary}-database@db/name` })
  await postSpans({
    ...jsonSpan,
    name: `GET /stock?token=${canary}-name`,
    status: { code: 2, message: `no connection to postgres://me:${canary}-message@db/name` },
    attributes: [
      { key: 'url.full', value: { stringValue: `https://shop.test/?api_key=${canary}-url` } },
      { key: 'http.request.header.authorization', value: { stringValue: `Bearer ${canary}-bearer` } },
      { key: 'password', value: { stringValue: `${canary}-password` } },
      {
        key: 'settings',
        value: { kvlistValue: { values: [{ key: 'secret', value: { stringValue: `${canary}-inner` } }] } },
      },
      { key: 'url.query', value: { stringValue: `a=1&access_token=${canary}-query` } },
    ],
  })
  const text = (key: string, stringValue: string) => ({ key, value: { stringValue } })
  await postSpans(
    {
      ...jsonSpan,
      spanId: spanIdOf(5),
      status: { code: 2, message: `duplicate key value: Key (email)=(${canary}-key) already exists.` },
      attributes: [
        text('db.system', 'postgresql'),
        text('db.statement', `SELECT * FROM users WHERE email = '${canary}-literal' AND id = $1`),
        text('db.query.parameter.0', `${canary}-parameter`),
        text('db.connection_string', `postgresql://me:${canary}-password@db/`),
        text('db.user', `${canary}-user`),
        { key: 'db.postgresql.values', value: { arrayValue: { values: [{ stringValue: `${canary}-value` }] } } },
      ],
    },
    {
      ...jsonSpan,
      spanId: spanIdOf(6),
      attributes: [text('db.system.name', 'redis'), text('db.query.text', `SET user:7 ${canary}-command`)],
    },
    { ...jsonSpan, spanId: spanIdOf(7), attributes: [{ key: 'db.statement', value: { intValue: '7' } }] },
  )
  const spans = await find()
  const stored = JSON.stringify(spans)
  t.match(stored, '******')
  t.notMatch(stored, canary)
  t.strictSame(
    spans.slice(1).map(({ attributes }) => attributes),
    [
      [
        ['db.system', 'postgresql'],
        ['db.statement', 'SELECT * FROM users WHERE email = ? AND id = $1'],
      ],
      [
        ['db.system.name', 'redis'],
        ['db.query.text', 'SET user:7 ?'],
      ],
      [['db.statement', '…']],
    ],
  )
})

t.test('pages of other sites, and clients without debug output, find no receiver', async t => {
  const { client, find } = await open(t)
  const post = async (headers: Readonly<Record<string, string>>, remoteAddress?: string) => {
    const init = { json: toMessage([jsonSpan]), headers, ...(remoteAddress && { remoteAddress }) }
    return (await client.post(path, init)).status
  }
  t.equal(await post({ origin: 'https://evil.test' }), 404)
  t.equal(await post({ 'sec-fetch-site': 'cross-site' }), 404)
  t.equal(await post({ host: 'shop.test' }), 404)
  t.equal(await post({}, '192.0.2.7'), 404)
  t.equal((await client.get(path)).status, 405)
  t.strictSame(await find(), [])
  t.equal(await post({ 'sec-fetch-site': 'same-origin' }), 200)
  t.equal((await find()).length, 1)
})

t.test('spans that cannot be stored are a partial success', async t => {
  const { postSpans, storage } = await open(t)
  Object.assign(storage.spans, { append: async () => false })
  const partialSuccess = { rejectedSpans: '1', errorMessage: 'The spans cannot be stored.' }
  t.strictSame(await postSpans(jsonSpan), { partialSuccess })
})

t.test('a defect of the storage is an error of the server', async t => {
  const { post, storage } = await open(t)
  Object.assign(storage.spans, { append: async () => Promise.reject(new TypeError('a defect')) })
  t.equal((await post(JSON.stringify(toMessage([jsonSpan])))).status, 500)
})
