import { Response } from 'sinfonietta'
import { t } from 'tap'
import { compareProfiles } from '#bundles/profiler/insight/compare/comparison.ts'
import { summarizeProfile } from '#bundles/profiler/insight/overview/overview.ts'
import { toPlainText } from '#bundles/profiler/insight/overview/sentence.ts'
import { findRelatives } from '#bundles/profiler/insight/relatives.ts'
import { gatherStatistics } from '#bundles/profiler/insight/routes.ts'
import { recognizeSlow } from '#bundles/profiler/insight/search-list.ts'
import { nameOperation } from '#bundles/profiler/subjects/exchange/operation.ts'
import { readOperation } from '#bundles/profiler/subjects/exchange/read.ts'
import { createProfile, createSummary } from '#tests/support/create-profile.ts'
import { createProfiledKernel, type ProfiledKernel } from '#tests/support/profiled-kernel.ts'

/** A request, and what its protocol says of it. */
interface Example {
  readonly of: string
  /** By default a POST. */
  readonly to: string
  /** A value is sent as JSON. */
  readonly body?: unknown
  readonly type?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly answer?: unknown
  readonly answerHeaders?: Readonly<Record<string, string>>
  readonly status?: number
  /** `null`: no operation. */
  readonly is: string | null
  readonly errors?: readonly (readonly [path: string, message: string])[]
}

const data = { data: { books: [] } }
const rpc = (id: number, result: unknown) => ({ jsonrpc: '2.0', id, result })
const call = (id: number, method: string, params: unknown = {}) => ({ jsonrpc: '2.0', id, method, params })
const events = { 'content-type': 'text/event-stream' }
const event = (value: unknown) => `event: next\ndata: ${JSON.stringify(value)}\n\n`
const boundary = 'border'
const multipart = (fields: Readonly<Record<string, string>>) =>
  `${Object.entries(fields)
    .map(([name, text]) => `--${boundary}\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${text}\r\n`)
    .join('')}--${boundary}--\r\n`
const fault = (text: string) =>
  `<?xml version="1.0"?><s:Envelope xmlns:s="u"><s:Body><s:Fault><faultcode>s:Client</faultcode><faultstring>${text}</faultstring></s:Fault></s:Body></s:Envelope>`

const fault12 = (reason: string) =>
  `<e:Envelope xmlns:e="u"><e:Header/><e:Body>\n<e:Fault><e:Code><e:Value>e:Sender</e:Value></e:Code><e:Reason>${reason}</e:Reason></e:Fault></e:Body></e:Envelope>`

const examples: readonly Example[] = [
  { of: 'a name', to: '/graphql', body: { query: 'query Books { books { title } }' }, answer: data, is: 'query Books' },
  { of: 'no name', to: '/api', body: { query: '{ books(first: 3) { title } }' }, answer: data, is: 'query { books }' },
  { of: 'aliases', to: '/g', body: { query: '{ a: x b: y z w }' }, answer: data, is: 'query { x, y, z, … }' },
  {
    of: 'one of several, with fragments, comments and defaults',
    to: '/g',
    body: {
      query:
        '# all\nfragment F on Book { title }\nquery A { a }\nmutation B($in: In! = {a: [1, "}"]}) @live { b(in: $in) { ...F } }',
      operationName: 'B',
    },
    answer: data,
    is: 'mutation B',
  },
  { of: 'a GET', to: `GET /graphql?query=${encodeURIComponent('query Q { a }')}`, answer: data, is: 'query Q' },
  {
    of: 'a batch',
    to: '/g',
    body: [{ query: 'query A { a }' }, { query: 'query B { b }' }, { query: 'query A { a }' }],
    answer: [data, { errors: [{ message: 'No b', path: ['b', 0, 'c'] }], data: null }, data],
    is: 'query A, query B (3 in all)',
    errors: [['b.0.c', 'No b']],
  },
  {
    of: 'a persisted document',
    to: '/g',
    body: { operationName: 'Books', extensions: { persistedQuery: { version: 1, sha256Hash: 'ab'.repeat(32) } } },
    answer: { errors: [{ message: 'PersistedQueryNotFound' }] },
    is: 'persisted Books',
    errors: [['', 'PersistedQueryNotFound']],
  },
  {
    of: 'a persisted document in a GET',
    to: `GET /g?operationName=Books&extensions=${encodeURIComponent('{"persistedQuery":{"sha256Hash":"0badcafe"}}')}`,
    answer: data,
    is: 'persisted Books',
  },
  {
    of: 'a trusted document',
    to: '/g',
    body: { documentId: 'sha256:0badcafe11' },
    answer: data,
    is: 'persisted 0badcafe',
  },
  {
    of: 'multipart',
    to: '/g',
    type: `multipart/form-data; boundary=${boundary}`,
    body: multipart({
      operations: '{"query":"mutation Upload($f: Upload!) { upload(f: $f) }"}',
      map: '{"0":["variables.f"]}',
    }),
    answer: data,
    is: 'mutation Upload',
  },
  {
    of: 'refused by a gateway',
    to: '/g',
    body: { query: 'query A { a }' },
    status: 401,
    answer: { error: 'no' },
    is: 'query A',
  },
  {
    of: 'an error of the request',
    to: '/g',
    body: { query: 'query A { nope }' },
    status: 400,
    answer: { errors: [{ message: 'Cannot query field "nope".' }] },
    is: 'query A',
    errors: [['', 'Cannot query field "nope".']],
  },
  {
    of: 'masked values',
    to: '/g',
    body: { query: 'mutation { login(password: "hunter2") { ok } }' },
    answer: data,
    is: 'mutation { login }',
  },
  {
    of: 'a subscription, whose events are masked',
    to: '/g',
    body: { query: 'subscription Ticks { ticks }' },
    answer: event(data) + event({ errors: [{ message: 'No tick, password=hunter2', path: ['ticks'] }] }),
    answerHeaders: events,
    is: 'subscription Ticks',
    errors: [['ticks', 'No tick, password=******']],
  },
  {
    of: 'a result in parts',
    to: '/g',
    body: { query: 'query Books { books { title ... @defer { author } } }' },
    answer: `\r\n---\r\n\r\n${JSON.stringify({ ...data, hasNext: true })}\r\n---\r\n\r\n${JSON.stringify({
      incremental: [{ errors: [{ message: 'No author', path: ['books', 0, 'author'] }], data: null, path: [] }],
      hasNext: false,
    })}\r\n-----\r\n`,
    answerHeaders: { 'content-type': 'multipart/mixed; boundary="-"' },
    is: 'query Books',
    errors: [['books.0.author', 'No author']],
  },
  {
    of: 'other events',
    to: '/g',
    body: { query: '{ a }' },
    answer: event({ token: 'a' }),
    answerHeaders: events,
    is: null,
  },
  { of: 'another answer', to: '/search', body: { query: '{ books }' }, answer: { hits: [] }, is: null },
  { of: 'words', to: '/search', body: { query: 'query of words' }, answer: data, is: null },
  { of: 'SQL', to: '/search', body: { query: 'SELECT * FROM books' }, answer: data, is: null },
  { of: 'JSON in a text', to: '/search', body: { query: '{ "match": { "a": 1 } }' }, answer: data, is: null },
  { of: 'an object', to: '/search', body: { query: { match: { a: 1 } } }, answer: data, is: null },
  { of: 'a schema', to: '/g', body: { query: 'type A { b: Int }' }, answer: data, is: null },
  { of: 'nothing', to: '/g', body: { query: '{}' }, answer: data, is: null },
  { of: 'a GET of words', to: 'GET /search?query=query', answer: data, is: null },

  { of: 'a call', to: '/rpc', body: call(1, 'add', [1, 2]), answer: rpc(1, 3), is: 'add' },
  {
    of: 'a batch of calls',
    to: '/rpc',
    body: [call(1, 'add'), call(2, 'sub'), call(3, 'add')],
    answer: [rpc(1, 3), { jsonrpc: '2.0', id: 2, error: { code: -32601, message: 'Method not found' } }, rpc(3, 1)],
    is: 'add, sub (3 in all)',
    errors: [['sub', 'Method not found']],
  },
  {
    of: 'a tool',
    to: '/mcp',
    body: call(1, 'tools/call', { name: 'search' }),
    answer: rpc(1, {}),
    is: 'tools/call search',
  },
  {
    of: 'a tool that fails',
    to: '/mcp',
    body: call(1, 'tools/call', { name: 'search' }),
    answer: rpc(1, { isError: true, content: [{ type: 'text', text: 'No index' }] }),
    is: 'tools/call search',
    errors: [['', 'No index']],
  },
  {
    of: 'a tool that fails in a stream of events',
    to: '/mcp',
    body: call(1, 'tools/call', { name: 'search' }),
    answer:
      event(call(1, 'notifications/progress')) + event(rpc(1, { isError: true, content: [{ text: 'No index' }] })),
    answerHeaders: events,
    is: 'tools/call search',
    errors: [['', 'No index']],
  },
  {
    of: 'a resource',
    to: '/mcp',
    body: call(1, 'resources/read', { uri: 'file:///a' }),
    answer: rpc(1, {}),
    is: 'resources/read file:///a',
  },
  {
    of: 'a notification',
    to: '/mcp',
    body: { jsonrpc: '2.0', method: 'notifications/initialized' },
    status: 202,
    is: 'notifications/initialized',
  },
  {
    of: 'a notification beside calls, and an answer without an id',
    to: '/rpc',
    body: [{ jsonrpc: '2.0', method: 'log' }, call(1, 'add'), call(2, 'sub')],
    answer: [rpc(1, 3), { jsonrpc: '2.0', error: { code: -32000, message: 'Busy' } }],
    is: 'log, add, sub',
    errors: [['', 'Busy']],
  },
  {
    of: 'a batch with wrong members',
    to: '/rpc',
    body: [call(1, 'add'), { foo: 'boo' }, 1, call(2, 'sub')],
    answer: [rpc(1, 3), { jsonrpc: '2.0', id: null, error: { code: -32600, message: 'Invalid Request' } }, rpc(2, 1)],
    is: 'add, sub',
    errors: [['', 'Invalid Request']],
  },
  {
    of: 'a log of calls',
    to: '/logs',
    body: [call(1, 'add'), call(2, 'sub')],
    answer: { stored: 2 },
    is: null,
  },
  { of: 'a call that a gateway refuses', to: '/rpc', body: call(1, 'add'), status: 401, answer: { no: 1 }, is: 'add' },
  {
    of: 'an answer without its version',
    to: '/rpc',
    body: call(1, 'getblockcount'),
    answer: { result: null, error: { code: -28, message: 'Loading' }, id: 1 },
    is: 'getblockcount',
    errors: [['', 'Loading']],
  },
  {
    of: 'a tool that fails with a picture',
    to: '/mcp',
    body: call(1, 'tools/call', { name: 'draw' }),
    answer: rpc(1, {
      isError: true,
      content: [
        { type: 'image', data: 'AA==' },
        { type: 'text', text: 'No ink' },
      ],
    }),
    is: 'tools/call draw',
    errors: [['', 'No ink']],
  },
  {
    of: 'a tool that fails without a text',
    to: '/mcp',
    body: call(1, 'tools/call', { name: 'draw' }),
    answer: rpc(1, { isError: true, content: [] }),
    is: 'tools/call draw',
    errors: [['', 'no message']],
  },
  { of: 'an answer of the client', to: '/mcp', body: rpc(1, {}), status: 202, is: null },
  { of: 'another version', to: '/rpc', body: { jsonrpc: '1.0', method: 'add' }, answer: {}, is: null },
  { of: 'a method alone', to: '/pay', body: { method: 'card' }, answer: {}, is: null },

  {
    of: 'a procedure',
    to: 'GET /trpc/user.byId?input=%7B%22id%22%3A1%7D',
    answer: { result: { data: 1 } },
    is: 'query user.byId',
  },
  { of: 'a procedure without input', to: 'GET /api/trpc/users', answer: { result: { data: [] } }, is: 'query users' },
  {
    of: 'a mutation',
    to: '/trpc/user.add',
    body: { name: 'Ada' },
    answer: { result: { data: 1 } },
    is: 'mutation user.add',
  },
  {
    of: 'a batch of procedures',
    to: 'GET /api/user.byId,post.list?batch=1&input=%7B%7D',
    status: 207,
    answer: [{ result: { data: 1 } }, { error: { json: { message: 'No posts', code: -32004 } } }],
    is: 'query user.byId, query post.list',
    errors: [['post.list', 'No posts']],
  },
  {
    of: 'an unknown procedure',
    to: '/trpc/nope',
    body: {},
    status: 404,
    answer: { error: { message: 'No procedure', code: -32004 } },
    is: 'mutation nope',
    errors: [['', 'No procedure']],
  },
  {
    of: 'a procedure of a server of its own',
    to: 'GET /user.byId',
    answer: { result: { data: 1 } },
    answerHeaders: { vary: 'trpc-accept, accept' },
    is: 'query user.byId',
  },
  {
    of: 'a subscription of procedures',
    to: 'GET /ticks',
    answer: 'event: connected\ndata: {}\n\ndata: 1\n\n',
    answerHeaders: { ...events, vary: 'trpc-accept, accept' },
    is: 'subscription ticks',
  },
  {
    of: 'a batch in lines',
    to: 'GET /user.byId,post.list?batch=1',
    answer: `{"0":[[0],[null,0,0]],"1":[[0],[null,0,1]]}\n[1,0,[[{"error":{"message":"No posts","data":{"path":"post.list"}}}]]]\n`,
    answerHeaders: { 'content-type': 'application/json', vary: 'trpc-accept, accept' },
    is: 'query user.byId, query post.list',
    errors: [['post.list', 'No posts']],
  },
  { of: 'a folder of this name', to: 'GET /trpc/readme', answer: { title: 'tRPC' }, is: null },
  { of: 'another batch', to: 'GET /mails?batch=1', answer: [{ id: 1 }], is: null },

  {
    of: 'gRPC-web',
    to: '/shop.v1.Orders/Get',
    type: 'application/grpc-web+proto',
    body: 'xx',
    is: 'shop.v1.Orders/Get',
  },
  {
    of: 'gRPC-web that fails',
    to: '/shop.v1.Orders/Get',
    type: 'application/grpc-web-text',
    body: 'xx',
    answerHeaders: { 'grpc-status': '5', 'grpc-message': 'no%20order' },
    is: 'shop.v1.Orders/Get',
    errors: [['', 'no order']],
  },
  {
    of: 'Connect',
    to: '/shop.v1.Orders/Get',
    headers: { 'connect-protocol-version': '1' },
    body: { id: 1 },
    answer: { id: 1 },
    is: 'shop.v1.Orders/Get',
  },
  {
    of: 'a GET of Connect',
    to: 'GET /shop.v1.Orders/Get?connect=v1&encoding=json&message=%7B%7D',
    answer: {},
    is: 'shop.v1.Orders/Get',
  },
  {
    of: 'Connect that fails',
    to: '/shop.v1.Orders/Get',
    headers: { 'connect-protocol-version': '1' },
    body: { id: 1 },
    status: 404,
    answer: { code: 'not_found', message: 'no order' },
    is: 'shop.v1.Orders/Get',
    errors: [['', 'no order']],
  },
  { of: 'JSON to such a path', to: '/shop.v1.Orders/Get', body: { id: 1 }, answer: {}, is: null },

  {
    of: 'SOAP 1.1',
    to: '/ws',
    type: 'text/xml',
    headers: { soapaction: '"urn:shop#GetOrder"' },
    body: '<a/>',
    is: 'GetOrder',
  },
  {
    of: 'SOAP 1.2',
    to: '/ws',
    type: 'application/soap+xml; charset=utf-8; action="http://shop/Orders/GetOrder"',
    body: '<a/>',
    is: 'GetOrder',
  },
  {
    of: 'a fault',
    to: '/ws',
    type: 'text/xml',
    headers: { soapaction: 'GetOrder' },
    body: '<a/>',
    status: 500,
    answer: fault('No order'),
    answerHeaders: { 'content-type': 'text/xml' },
    is: 'GetOrder',
    errors: [['', 'No order']],
  },
  ...[
    ['a fault of SOAP 1.2', fault12('<e:Text xml:lang="en">No order</e:Text>'), 'No order'],
    ['a fault in CDATA', fault('<![CDATA[No order]]>'), 'No order'],
    ['a fault without a reason', fault12(''), 'no message'],
  ].map(
    ([of = '', answer, message = '']): Example => ({
      of,
      to: '/ws',
      ...{ type: 'application/soap+xml; action="GetOrder"', body: '<a/>', status: 500, answer, is: 'GetOrder' },
      answerHeaders: { 'content-type': 'application/soap+xml' },
      errors: [['', message]],
    }),
  ),
  {
    of: 'a fault in the data',
    to: '/ws',
    type: 'text/xml',
    headers: { soapaction: 'GetFaults' },
    body: '<a/>',
    answer: '<s:Envelope xmlns:s="u"><s:Body><list><Fault><Text>Old</Text></Fault></list></s:Body></s:Envelope>',
    answerHeaders: { 'content-type': 'text/xml' },
    is: 'GetFaults',
  },
  { of: 'XML', to: '/ws', type: 'text/xml', body: '<a/>', is: null },
]

async function ask(kernel: ProfiledKernel, example: Example, next: (example: Example) => void) {
  const { body, headers = {}, to, type } = example
  const [method = '', target = ''] = to.startsWith('GET ') ? ['GET', to.slice(4)] : ['POST', to]
  const content = type === undefined ? JSON.stringify(body) : String(body)
  next(example)
  const sent =
    body === undefined ? {} : { body: content, headers: { 'content-type': type ?? 'application/json', ...headers } }
  return kernel.profileOf(await kernel.client.request(method, target, { headers, ...sent }))
}

t.test('an operation is named by its protocol, and a request that only looks alike has none', async t => {
  let current: Example | undefined
  const kernel = await createProfiledKernel(t, {
    register({ routes }) {
      routes.add({
        name: 'any',
        path: '/{*rest}',
        async controller(request) {
          if (request.method === 'POST') {
            await (/^multipart/.test(request.body.contentType) ? request.body.formData() : request.body.bytes())
          }
          const { answer, answerHeaders = {}, status = 200 } = current ?? {}
          const options = { status, headers: answerHeaders }
          return typeof answer === 'object'
            ? Response.json(answer, options)
            : new Response(String(answer ?? ''), options)
        },
      })
    },
  })
  const wrong: unknown[] = []
  for (const example of examples) {
    const profile = await ask(kernel, example, next => {
      current = next
    })
    const found = readOperation(profile)
    const errors = found?.errors.map(({ message, path }) => [path, message]) ?? []
    const { operation, operationErrors } = profile.summary
    const expected = [example.is, example.is, (example.errors ?? []).length, example.errors ?? []]
    const actual = [operation, found === undefined ? null : nameOperation(found), operationErrors, errors]
    if (JSON.stringify(actual) !== JSON.stringify(expected)) wrong.push({ of: example.of, actual, expected })
  }
  t.strictSame(wrong, [])
})

t.test('requests are alike, slow and counted by their operation, and a sentence names it', async t => {
  const ask = (operation: string | null, duration: number, index: number) =>
    createSummary({ operation, duration, token: `00000${index}`, route: 'POST /graphql', method: 'POST', time: index })
  const all = [
    ...[60, 61, 62, 63, 64].map((duration, index) => ask('query Report', duration, index)),
    ...[2, 2, 2, 2, 60].map((duration, index) => ask('query Books', duration, index + 5)),
  ]
  const last = createProfile(
    {
      request: {
        headers: [],
        body: { type: 'application/json', state: 'read', json: [{ query: 'query Books { books }' }] },
      },
      response: {
        headers: [],
        content: { json: [{ errors: [{ message: 'No author.', path: ['books', 7] }, { message: 'x' }] }] },
      },
    },
    all.at(-1),
  )
  const { earlier } = findRelatives(all, last)
  const isSlow = recognizeSlow(all)
  t.strictSame(
    {
      groups: gatherStatistics(all).map(({ count, operation, p50, route }) => [route, operation, count, p50]),
      earlier: earlier.map(({ operation }) => operation),
      slow: all.filter(isSlow).map(({ token }) => token),
      sentence: toPlainText(summarizeProfile({ profile: last, earlier, findings: [] }).sentence),
    },
    {
      groups: [
        ['POST /graphql', 'query Report', 5, 62],
        ['POST /graphql', 'query Books', 5, 2],
      ],
      earlier: Array.from({ length: 4 }, () => 'query Books'),
      slow: ['000009'],
      sentence:
        'POST /somewhere · query Books took 60 ms; the operation failed in books.7: No author, and 1 more error.',
    },
  )
})

t.test('under load, the errors of an operation are known, though the content of other responses is not', async t => {
  const large = Object.fromEntries(Array.from({ length: 20_000 }, (_, index) => [`name-${index}`, `value of ${index}`]))
  const kernel = await createProfiledKernel(t, {
    register({ routes }) {
      routes.get('large', '/large', () => Response.json(large))
      routes.post('failing', '/{*rest}', async request => {
        await request.body.bytes()
        return Response.json({ errors: [{ message: 'no', path: ['books'] }] })
      })
    },
  })
  const send = async (target: string, body: object) =>
    kernel.profileOf(await kernel.client.request('POST', target, { body: JSON.stringify(body), headers: json }))
  const isStored = async () => {
    const { collectors } = await send('/other', { books: true })
    return collectors.response?.content?.note !== 'Not stored: too much content in a short time.'
  }
  // A part of a millisecond is enough for a short content: it has come back before the next request.
  let isFree = true
  for (let count = 0; count < 400 && isFree; count++) {
    await kernel.client.get('/large')
    isFree = await isStored()
  }
  t.notOk(isFree)
  t.match((await send('/graphql', { query: 'query Books { books }' })).summary, {
    operation: 'query Books',
    operationErrors: 1,
  })
})

const json = { 'content-type': 'application/json' }

t.test('all errors of an operation count, and none is denied where the response is not stored as a whole', t => {
  const answered = (content: object, operationErrors = 0) => {
    const type = 'application/json'
    const body = { type, length: 20, state: 'read', json: [{ query: '{ books { title } }' }] }
    const response = {
      headers: [['content-type', type]],
      size: 100_000,
      content: { type, length: 100_000, ...content },
    }
    return createProfile({ request: { headers: [], body }, response }, { method: 'POST', operationErrors })
  }
  const errors = Array.from({ length: 150 }, (_, index) => ({ message: 'None.', path: [index] }))
  const whole = answered({ json: [{ errors }] }, 150)
  t.match(readOperation(whole), { areErrorsKnown: true, errors: { length: 150 } })
  for (const content of [{ text: '{"data":', isCut: true }, { note: 'It is too large.' }, { digest: 'a'.repeat(32) }]) {
    const part = answered(content)
    t.match(readOperation(part), { areErrorsKnown: false, names: ['query { books }'] })
    const { summary } = compareProfiles(whole, part)
    t.match(
      summary.find(({ key }) => key === 'operationErrors'),
      { first: 150, second: 'not known' },
    )
  }
  const grpc = (headers: readonly (readonly [string, string])[]) => {
    const body = { type: 'application/grpc-web+proto', length: 9, state: 'read' }
    const profile = createProfile({ request: { headers: [], body }, response: { headers, size: 100_000 } })
    return readOperation({
      ...profile,
      summary: { ...profile.summary, method: 'POST', url: 'http://a/shop.Orders/Get' },
    })
  }
  t.match(
    [grpc([]), grpc([['grpc-status', '0']])],
    [{ areErrorsKnown: false }, { areErrorsKnown: true }],
    'the status of gRPC is its last message, which may not be kept',
  )
  t.end()
})
