import { t } from 'tap'
import { MaskingCopier } from '#lib/redact/masking-copier.ts'
import { Redactor } from '#lib/redact/redactor.ts'
import { describeTree, describeTrees } from '#lib/redact/value-tree.ts'

const redactor = new Redactor({})
const bounds = { depth: 8, entries: 400, text: 500 }
const secret = 'Hunter2secret'
const error = (properties: object) => Object.assign(new Error('failed'), properties)

/** Values with a secret, and whether the words around it stay. */
const named: readonly unknown[] = [
  [['password', secret]],
  [
    [
      ['user', 'ada'],
      ['password', 'hunter'],
    ],
    'ada',
  ],
  {
    headers: [
      ['authorization', `Basic ${secret}`],
      ['accept', 'text/html'],
    ],
  },
  new Set([['password', secret]]),
  { rawHeaders: ['Host', 'a', 'Cookie', 'hunter', 'X-Api-Key', secret] },
  ['Host', 'a', 'Authorization', `Basic ${secret}`],
  ['user', 'ada', 'password:', 'hunter'],
  ['--api-key', secret, '--verbose'],
  { path: 'mysqldump', spawnargs: ['-u', 'root', `-p${secret}`, '--api-key', secret] },
  { path: 'docker', spawnargs: ['login', '-u', 'ada', '-p', secret] },
  { issues: [{ path: ['password'], message: `bad "${secret}"`, input: secret }] },
  { op: 'replace', path: '/user/password', value: secret },
  { type: 'password', value: secret },
  { id: 'password', value: secret },
  { attribute: 'apiKey', value: secret },
  { fieldName: 'password', fieldValue: secret },
  { key: 'password', oldValue: secret, newValue: secret },
  { kty: 'EC', crv: 'P-256', d: secret },
  { query: 'mutation L($p: String!) { login(password: $p) { id } }', variables: { p: secret, user: 'ada' } },
  [{ query: '{ a(input: { token:$t, b: 1 }) }', variables: { t: { deep: secret } } }],
  {
    columns: ['user', 'password'],
    rows: [
      ['ada', secret],
      ['bob', secret],
    ],
  },
  { fields: [{ name: 'id' }, { name: 'api_key' }], values: [[1, secret]] },
  { fields: ['user', 'password'], values: ['ada', secret] },
  { headers: ['user', 'password'], rows: [['ada', secret]] },
  { jsonrpc: '2.0', method: 'auth.setPassword', params: [7, secret] },
  { url: `/page/${btoa(JSON.stringify([{ token: secret }]))}` },
  { state: Buffer.from(JSON.stringify({ user: { password: secret } })).toString('base64url') },
  { keys: [{ kty: 'oct', k: secret }] },
  { path: ['password'], message: 'bad', received: secret, code: 'custom' },
]
const said: readonly (readonly unknown[])[] = [
  ['password:', secret],
  ['password', secret],
  ['password', 'hunter'],
  ['Authorization', `Basic ${secret}`],
  ['Authorization:', secret],
  ['token =', secret, 'y'],
  ['apiKey', secret],
  ['the API key is', secret],
  ['user', 'ada', 'password', secret],
  ['\u001b[36mtoken:\u001b[39m', secret],
  ['pin:', 482913],
  ['Client secret:', { deep: secret }],
  ['  password =>', secret],
  ['[auth] token:', secret],
  ['x-api-key', secret],
  ['"password":', secret],
  ['(token)', secret],
  [['password', 'hunter']],
]
const ordinary: readonly (readonly unknown[])[] = [
  ['user', 'ada'],
  ['tokens:', 512],
  ['GET', '/login', 200],
  ['Failed to refresh the session:', new Error('no connection')],
  ['password:', true],
  ['password:', undefined],
  ['the token is', 'expired'],
  ['token:', 'expired'],
  ['password:', ''],
]
const lists: readonly unknown[] = [
  ['id', 'email', 'password', 'name'],
  { op: 'replace', path: '/user/name', value: 'ada' },
  { path: '/login/session', data: 'ada', type: 'text' },
  { kty: 'EC', crv: 'P-256', x: 'abc', y: 'def' },
  { d: 1, k: 2 },
  { id: 'session_7', type: 'checkout.session.completed', data: { object: 'ada' } },
  { columns: ['token', 'created_at'] },
  { columns: ['id', 'name'], rows: [[1, 'ada']] },
  { query: 'query ($first: Int) { users(first: $first) { id } }', variables: { first: 10 } },
  { query: 'token', variables: { p: 'ada' } },
  { fields: ['token'], values: ['ada', 'bob'] },
  { jsonrpc: '2.0', method: 'user.rename', params: [7, 'ada'] },
  { method: 'auth.login', params: { user: 'ada' } },
  { cursor: Buffer.from('{"id":7,"after":"2026-12-01"}').toString('base64') },
  { path: ['user', 'password'], code: 1 },
  ['/login', 'session', '/reset-password'],
  { rawHeaders: ['Host', 'a', 'Accept', 'text/html'] },
  { spawnargs: ['-p', '80', '--port', '8080'], path: 'server' },
]
const text = (value: unknown) => JSON.stringify(value)

t.test('a value is masked by the name before it, by both copiers', async t => {
  const values = [
    ...named,
    ...named.filter(each => !Array.isArray(each) && !(each instanceof Set)).map(each => error(each as object)),
  ]
  const leaks = values.flatMap(value => {
    const copies = [
      value instanceof Error ? new MaskingCopier(redactor, bounds).record(value) : redactor.value('', value),
      describeTree(value, redactor, { bounds }),
    ]
    return copies.map(text).filter(copy => /hunter/i.test(copy))
  })
  t.strictSame(leaks, [])
})
t.test('a value is masked by the argument before it', async t => {
  const leaks = said
    .map(values => text(describeTrees(values, redactor, { bounds })))
    .filter(copy => /hunter|482913/i.test(copy))
  t.strictSame(leaks, [])
})
t.test('ordinary values stay as they are', async t => {
  const changed = ordinary
    .map(values => text(describeTrees(values, redactor, { bounds })))
    .filter(copy => copy.includes('***'))
  t.strictSame(changed, [])
  t.strictSame(
    lists
      .flatMap(list => [redactor.value('', list), describeTree(list, redactor, { bounds })])
      .map(text)
      .filter(copy => copy.includes('***')),
    [],
  )
})
