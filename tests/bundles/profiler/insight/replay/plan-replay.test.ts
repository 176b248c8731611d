import { t } from 'tap'
import {
  createReplayRequest,
  isDirect,
  type PossibleReplay,
  planReplay,
  type ReplayInput,
} from '#bundles/profiler/insight/replay/replay.ts'
import { readOriginal } from '#bundles/profiler/record/recording-policy.ts'
import { createProfile, type ProfileInit } from '#tests/support/create-profile.ts'

const mask = '******'

function plan(request: unknown, init: ProfileInit = {}): PossibleReplay {
  const planned = planReplay(createProfile({ request }, init))
  if (!planned.isPossible) throw new Error(planned.reason)
  return planned
}

/** The request of a replay. */
function remake(request: unknown, init?: ProfileInit, input?: ReplayInput) {
  return createReplayRequest(plan(request, init), input)
}

const post: ProfileInit = { method: 'POST' }

t.test('a replay has the same request and client, and is marked as a replay', async t => {
  const headers = [
    ['Host', 'localhost:8000'],
    ['Accept', 'a'],
    ['accept', 'b'],
    ['if-none-match', '"1"'],
  ]
  const request = remake(
    { headers, httpVersion: '1.0' },
    { url: 'https://localhost:8000/some%20where?a=1&b=%zz', ip: '::1' },
  )
  t.equal(request.method, 'GET')
  t.equal(request.target, '/some%20where?a=1&b=%zz')
  t.equal(request.url, 'https://localhost:8000/some%20where?a=1&b=%zz')
  t.equal(request.clientIp, '::1')
  t.equal(request.httpVersion, '1.0')
  t.strictSame([...request.headers], headers)
  t.notOk(request.body.isPresent)
  t.equal(request.attributes.get('_replay_of'), 'abc123')
  const note = /^The client may not see debug output/
  for (const isDebugAllowed of [undefined, 'true', false]) {
    t.match(plan({ isDebugAllowed }), { isDebugAllowed: false, notes: [note] })
  }
  t.match(plan({ isDebugAllowed: true }), { isDebugAllowed: true, notes: [] })
  const recorded = { request: { attributes: [['_replay_of', 'abc123']] } }
  t.equal(readOriginal(createProfile(recorded)), 'abc123')
  for (const attributes of [undefined, [['_replay_of', 'nope']], [['_replay_of']], ['x'], {}]) {
    t.equal(readOriginal(createProfile({ request: { attributes } })), undefined)
  }
})

t.test('masked values are not sent, but requested from the user', async t => {
  const headers = [
    ['Cookie', `theme=${mask}; session=${mask}; empty=`],
    ['Authorization', mask],
    ['X-Api-Key', mask],
    ['x-api-key', mask],
    ['referer', `https://elsewhere/?token=${mask}`],
  ]
  const planned = plan({ headers })
  t.notOk(isDirect(planned))
  t.strictSame(planned.secrets, [
    { name: 'cookie', hint: 'theme, session, empty' },
    { name: 'authorization', hint: '' },
    { name: 'x-api-key', hint: '' },
  ])
  t.strictSame(planned.headers, [
    ['host', 'localhost:8000'],
    ['referer', `https://elsewhere/?token=${mask}`],
  ])
  const supplied = remake({ headers }, {}, { headers: new Map([['cookie', 'theme=dark']]), target: '/x?token=1' })
  t.equal(supplied.cookies.get('theme'), 'dark')
  t.equal(supplied.target, '/x?token=1')
  t.ok(isDirect(plan({ headers: [['cookie', 'empty=']] })), 'nothing was masked')
  t.notOk(isDirect(plan({}, { url: `http://localhost/?sid=${mask}` })))
  t.throws(() => remake({}, {}, { headers: new Map([['cookie', 'a\nb']]) }), { code: 'HTTP_HEADER_INVALID' })
})

t.test('headers that cannot be sent unchanged are listed', async t => {
  const headers = [
    ['host', 'inner'],
    ['x-forwarded-for', '10.0.0.1'],
    ['Via', '1.1 proxy'],
    ['x-long', `${'x'.repeat(20)}…`],
    ['x-odd', 5],
    ['…', '…'],
    'damaged',
  ]
  const planned = plan({ headers, isDebugAllowed: true }, { url: 'https://outer.example/x' })
  t.strictSame(planned.headers, [['host', 'outer.example']])
  t.strictSame(planned.notes, [
    'Proxy headers are not sent (x-forwarded-for, via). The address and scheme that they reported are used.',
    'Not sent, because they were recorded incompletely: x-long, x-odd.',
    'The request had more headers than were recorded.',
  ])
  t.strictSame(plan({ headers: headers.slice(0, 2) }, { url: '/x' }).headers, [['host', 'inner']], 'no host was known')
})

t.test('a replay needs a confirmation if it may change data, or if the request crashed the process', async t => {
  for (const method of ['GET', 'HEAD', 'OPTIONS', 'QUERY']) t.ok(isDirect(plan({}, { method })), method)
  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) {
    t.match(plan({}, { method }).caution, `${method} may change data.`)
    t.notOk(isDirect(plan({}, { method })))
  }
  t.match(plan({}, { outcome: 'crashed', status: 0 }).caution, 'made the process exit')
})

t.test('a sub-request, or a profile without a valid URL, cannot be replayed', async t => {
  const ofSub = planReplay(createProfile({}, { parent: 'fedcba' }))
  t.match(ofSub, { isPossible: false, reason: /^A sub-request is a part of another request/, parent: 'fedcba' })
  t.notOk(isDirect(ofSub))
  t.strictSame(planReplay(createProfile({}, { url: 'no url' })), {
    isPossible: false,
    reason: 'The recorded URL is not valid.',
    parent: '',
  })
})

t.test('forms and JSON are sent as they were recorded', async t => {
  const form = {
    type: 'application/x-www-form-urlencoded',
    state: 'read',
    form: [
      ['a b', 'ä'],
      ['a', ['x']],
    ],
  }
  const headers = [
    ['Content-Type', form.type],
    ['content-length', '5'],
  ]
  t.equal(plan({ headers, body: form }, post).body.state, 'whole')
  const request = remake({ headers, body: form }, post)
  t.equal((await request.formData()).get('a b'), 'ä')
  t.equal(request.headers.get('content-length'), '34')

  const json = { type: 'application/json', length: 20, state: 'read', json: [{ a: [1, null] }] }
  const chunked = [
    ['content-type', 'application/json'],
    ['transfer-encoding', 'chunked'],
  ]
  const sent = remake({ headers: chunked, body: json }, post)
  t.strictSame(await sent.json(), { a: [1, null] })
  t.notOk(sent.headers.has('content-length'))
  t.equal(remake({ body: json }, post).headers.get('content-length'), '14')
  const empty = remake({ headers: chunked, body: { state: 'read', length: 0 } }, post)
  t.notOk(empty.headers.has('transfer-encoding'))
  t.notOk(empty.body.isPresent)
  t.equal(plan({ body: { length: 0, state: 'read' } }, post).body.state, 'none')
})

t.test('missing parts of a body are listed, and can be supplied', async t => {
  const note = (body: unknown, headers: unknown = []) => {
    const { state, note } = plan({ headers, body }, post).body
    return `${state}: ${note}`
  }
  t.equal(
    note({ type: 'application/json', json: [{ password: mask, text: 'long…' }] }),
    'partial: Secrets in the body are masked as ******. The body may be cut at ….',
  )
  t.equal(note({ form: [['text', 'long…']] }), 'partial: The body may be cut at ….')
  t.equal(
    note({ type: 'text/plain', length: 12, state: 'unread' }),
    'missing: The body (text/plain, 12 bytes) was not stored: the replay sends no body. The application did not read it.',
  )
  t.equal(
    note({ type: '', length: null, state: 'broken' }),
    'missing: The body was not stored: the replay sends no body.',
  )
  const multipart = { type: 'multipart/form-data', state: 'read', form: [['a', 'b']] }
  t.match(note(multipart), /^missing/, 'without its boundary')
  t.equal(note(multipart, [['content-type', 'multipart/form-data; boundary=x']]), 'whole: ')

  const request = { headers: [['content-type', 'text/plain']], body: { type: 'text/plain', length: 12, state: 'read' } }
  t.equal(await remake(request, post, { body: 'supplied' }).text(), 'supplied')
  t.equal(await remake(request, post, { body: Buffer.from('bytes') }).text(), 'bytes')
  t.notOk(remake(request, post).body.isPresent)
})

t.test('files in forms are sent empty', async t => {
  const type = 'multipart/form-data'
  for (const boundary of ['--x-1', '"a b"']) {
    const headers = [['content-type', `${type}; Boundary=${boundary}`]]
    const files = [
      { field: 'document', name: 'c"v.txt', type: 'text/plain', size: 9 },
      { field: 'other', name: 'x', size: 0 },
    ]
    const body = { type, state: 'read', form: [['na"me', 'Ada'], 'damaged'], files }
    t.equal(plan({ headers, body }, post).body.note, '2 files will be empty: file contents are not stored.')
    const request = remake({ headers, body }, post)
    t.teardown(() => request.body.dispose())
    const form = [...(await request.formData())].map(([name, value]) =>
      typeof value === 'string' ? [name, value] : [name, value.name, value.type, value.size],
    )
    t.strictSame(form, [
      ['na"me', 'Ada'],
      ['document', 'c"v.txt', 'text/plain', 0],
      ['other', 'x', 'application/octet-stream', 0],
    ])
  }
  t.hasStrict(plan({ headers: [['content-type', `${type}; boundary=x`]], body: { type, state: 'read' } }, post).body, {
    state: 'missing',
  })
})
