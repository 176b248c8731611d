import { t } from 'tap'
import { type CopyBounds, MaskingCopier } from '#lib/redact/masking-copier.ts'
import { Redactor } from '#lib/redact/redactor.ts'

function createCopier(bounds: Partial<CopyBounds> = {}): MaskingCopier {
  const copyError = (error: object, mask: (text: string) => string) => mask(String((error as Error).message))
  return new MaskingCopier(new Redactor(), { depth: 3, entries: 100, text: 50, ...bounds }, copyError)
}

t.test('a value is masked by its name, and what is inside by its own', async t => {
  const copier = createCopier()
  t.equal(copier.value('password', { deep: 'x' }), '******')
  t.strictSame(copier.value('user', { pin: 1, name: 'Ada', seen: ['/?token=abc'] }), {
    pin: '******',
    name: 'Ada',
    seen: ['/?token=******'],
  })
})

t.test('a value is masked by the name beside it', async t => {
  t.strictSame(
    createCopier().value('', [
      { name: 'apiKey', value: 'x' },
      { name: 'apiKey', value: '' },
      { name: 'a', value: 'x' },
    ]),
    [
      { name: 'apiKey', value: '******' },
      { name: 'apiKey', value: '' },
      { name: 'a', value: 'x' },
    ],
  )
})

t.test('what an issue of a validator says about a secret is masked', async t => {
  const copier = () => createCopier({ depth: 6, text: 200 })
  const masked = '******'
  const valibot = {
    kind: 'validation',
    type: 'min_length',
    input: 'hunter2',
    expected: '>=8',
    received: '7',
    message: 'Invalid length: Expected >=8 but received "hunter2"',
    path: [{ type: 'object', input: { password: 'hunter2' }, key: 'password', value: 'hunter2' }, { key: 0 }],
  }
  t.strictSame(copier().value('', valibot), {
    ...valibot,
    input: masked,
    received: masked,
    message: 'Invalid length: Expected >=8 but received "******"',
    path: ['password', 0],
  })
  const ajv = { instancePath: '/user/password', keyword: 'format', message: 'must match', data: { deep: 'hunter2' } }
  t.strictSame(copier().value('', ajv), { ...ajv, data: masked })
  const mongoose = { path: 'user.password', kind: 'minlength', value: 4711, message: '4711 of hunter2 is short' }
  t.strictSame(copier().value('', mongoose), { ...mongoose, value: masked, message: '****** of hunter2 is short' })
  const joi = {
    message: '"user.email" with the value "ada@example" fails',
    path: ['user', 'email'],
    type: 'string.pattern.base',
    context: { label: 'user.email', value: 'ada@example', key: 'email' },
  }
  const message = '"user.email" with the value "******" fails'
  t.strictSame(copier().value('', joi), { ...joi, context: masked, message }, 'the names of a path are no input')
  const empty = {
    path: ['password'],
    message: 'x',
    input: '',
    value: undefined,
    list: ['', { a: { b: { c: { d: 1 } } } }],
  }
  t.strictSame(copier().value('', empty), { ...empty, list: masked })
})

t.test('an issue without a secret path, and a path that is none of an issue, stay as they are', async t => {
  for (const value of [
    { path: ['name'], message: 'x', input: 'Ada' },
    { path: [null, 7], message: 'x', input: 'Ada' },
    { path: '/reset/password', message: 'x', status: 200 },
    { path: ['password'], status: 200 },
    { instancePath: '', message: 'x', data: 'Ada' },
  ]) {
    t.strictSame(createCopier().value('', value), value)
  }
})

t.test('many inputs of issues are bounded', async t => {
  const list = Array.from({ length: 300 }, (_, at) => `input ${at + 1000}`)
  const issue = { path: ['password'], message: 'input 1007 and input 1299', list }
  t.match(createCopier().value('', issue), { message: '****** and input 1299' })
})

t.test('pairs keep their order and repeated names', async t => {
  const pairs: [string, unknown][] = [
    ['a', '1'],
    ['token', 'x'],
    ['a', '2'],
  ]
  t.strictSame(createCopier().pairs(pairs), [
    ['a', '1'],
    ['token', '******'],
    ['a', '2'],
  ])
  t.strictSame(
    createCopier().pairs(pairs, () => 'else'),
    pairs.map(([name]) => [name, 'else']),
  )
})

t.test('the bounds are for all that one copier copies', async t => {
  const entries = createCopier({ entries: 3 })
  t.strictSame(entries.value('first', [1, 2]), [1, 2])
  t.strictSame(entries.value('second', [3, 4]), [3, '…'])
  const characters = createCopier({ total: 10 })
  t.strictSame(characters.record({ a: '12345', b: '67890', c: 'lost', d: 'lost' }), { a: '12345', b: '67…', '…': '…' })
  t.equal(characters.text('more'), '…')
  t.equal(characters.text(''), '')
})

t.test('a secret is masked before a cut could go through it', async t => {
  const copier = new MaskingCopier(
    new Redactor({ APP_SECRET: 'hunter2-hunter2' }),
    { depth: 1, entries: 1, text: 20 },
    String,
  )
  t.equal(copier.text(`${'x'.repeat(15)}hunter2-hunter2`), `${'x'.repeat(15)}****…`)
})

t.test('an unreadable part does not affect the rest', async t => {
  const refuse = () => {
    throw new Error('refused')
  }
  const hostile = {
    list: Object.assign([1], { [Symbol.iterator]: refuse }),
    instance: Object.create(new Proxy({}, { getPrototypeOf: refuse, get: refuse })),
    proxy: new Proxy({}, { ownKeys: refuse }),
    error: Object.defineProperty(new Error('x'), 'message', { get: refuse }),
    kept: 'kept',
  }
  t.strictSame(createCopier().record(hostile), {
    list: [1],
    instance: '[unreadable]',
    proxy: '[Proxy]',
    error: '[unreadable]',
    kept: 'kept',
  })
  t.strictSame(createCopier().value('', Object.create({ constructor: undefined })), '[Object]')
})

t.test('object keys of a Map are named by class, without a call of toString', async t => {
  const key = { toString: () => t.fail('must not be called') }
  const map = new Map<unknown, unknown>([
    [key, 1],
    [null, 2],
    ['secret', 3],
  ])
  t.strictSame(createCopier().value('', map), { '[Object]': 1, null: 2, secret: '******' })
  t.strictSame(createCopier({ entries: 1 }).value('', map), { '[Object]': 1, '…': '…' })
})

t.test('a property named __proto__ is a property like any other', async t => {
  const copy = createCopier().record(JSON.parse('{"__proto__":{"polluted":true}}'))
  t.strictSame(Object.keys(copy), ['__proto__'])
  t.equal(Object.getPrototypeOf(copy), Object.prototype)
})

t.test('an endless list is read no further than the bounds', async t => {
  function* numbers(): Iterable<[string, number]> {
    for (let number = 0; ; number++) yield [`n${number}`, number]
  }
  t.equal(createCopier().pairs(numbers()).length, 101)
})

/** Texts of which a part is enough to know the secret, which a part does not show. */
const cutSecrets = {
  'postgres://ada:hunter2@host/db': 'hunter2',
  'https://ada:hunter2@host/': 'hunter2',
  'token ghp_aB3dE5fG7hJ9kL1m': 'ghp_aB3',
  'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl': 'eyJh',
  '/cb?code=aB3dE5fgh&state=1': 'aB3d',
  'Invalid value "hunter2 x" for "api_key"': 'hunter2',
  '{"value":"hunter2 x","name":"password"}': 'hunter2',
  '{"d":"aB3dE5fg","crv":"P-256","kty":"EC"}': 'aB3dE5fg',
  "parameters: $1 = 'hunter2 x'": 'hunter2',
  'AUTH default aB3dE5fgh"': 'aB3d',
  '123456789:aB3dE5fGhJkLmNoPqRsTuVwXyZaB3dE5fGh': 'aB3dE5f',
}

t.test('a long text does not show half of a secret where reading ends, also if most of it is masked', async t => {
  const limits = [4096, 16_384]
  const shown = Object.entries(cutSecrets).flatMap(([text, secret]) =>
    limits.flatMap(limit =>
      Array.from(text, (_, kept) => {
        // Masked, all of this is a few characters.
        const head = `password="${'x'.repeat(Math.max(16_384, limit + 4096) - kept - 12)}" `
        const copy = new MaskingCopier(new Redactor(), { depth: 1, entries: 9, text: limit }).text(
          head + `${text}\n`.repeat(200),
        )
        return copy.includes(secret) ? `${text.slice(0, kept)} at ${limit}` : []
      }).flat(),
    ),
  )
  t.strictSame(shown, [])
  const masker = { text: (text: string) => text, isSecret: () => false }
  const copy = new MaskingCopier(masker, { depth: 1, entries: 9, text: 4096 }).text('a'.repeat(20_000))
  t.equal(copy, `${'a'.repeat(4095)}…`, 'the limit is filled by a text without secrets')
})
