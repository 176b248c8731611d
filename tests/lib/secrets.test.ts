import { createHmac, hkdfSync } from 'node:crypto'
import fc from 'fast-check'
import { t } from 'tap'
import { readConfig } from '#lib/env/config.ts'
import { Settings } from '#lib/env/settings.ts'
import { Redactor } from '#lib/redact/redactor.ts'
import { Secrets } from '#lib/secrets.ts'

const secret = 'a secret of this test, and of nothing else'
const secrets = new Secrets(secret)

/** Signing and encryption have the same rules. */
const ways = [
  ['sign', 'verify'],
  ['encrypt', 'decrypt'],
] as const

t.test('a value comes back under its name only, and fits into cookies and URLs', async t => {
  for (const [write, read] of ways) {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.string(), fc.string(), (value, name, other) => {
        const text = secrets[write](name, value)
        const isSafe = /^[\w.-]+$/.test(text) && encodeURIComponent(text) === text
        const found = secrets[read](other, text)
        return isSafe && secrets[read](name, text) === value && (other === name ? found === value : found === undefined)
      }),
    )
  }
  t.equal(secrets.verify('cart', secrets.sign('cart', '')), '')
  t.equal(secrets.decrypt('cart', secrets.encrypt('cart', '')), '')
})

t.test('every change of a text is noticed', async t => {
  for (const [write, read] of ways) {
    const text = secrets[write]('cart', 'three apples', 60)
    const changed = new Set<string>()
    for (let at = 0; at < text.length; at++) {
      changed
        .add(text.slice(0, at))
        .add(text.slice(at + 1))
        .add(text.slice(0, at) + text.slice(at + 1))
      for (const character of ['A', 'B', '_', '.', '0', '=', ' ', '+', 'é']) {
        changed.add(text.slice(0, at) + character + text.slice(at + 1))
        changed.add(text.slice(0, at) + character + text.slice(at))
      }
    }
    for (const character of ['A', '=', '.', ' ', '\n']) changed.add(text + character)
    changed.delete(text)
    t.ok(changed.size > 500)
    t.strictSame(
      [...changed].filter(other => secrets[read]('cart', other) !== undefined),
      [],
      read,
    )
    for (const nothing of [undefined, null, '', '.', '..', 'a.b.c', 'x'.repeat(10_000)]) {
      t.equal(secrets[read]('cart', nothing), undefined)
    }
  }
})

t.test('names and contents cannot be exchanged', async t => {
  const [value = '', end = '', signature = ''] = secrets.sign('b.c', 'a').split('.')
  t.equal(secrets.verify('c', `${value}.${end}.b.${signature}`), undefined)
  t.equal(secrets.verify('b.c', secrets.encrypt('b.c', 'a')), undefined)
  t.equal(secrets.decrypt('b.c', secrets.sign('b.c', 'a')), undefined)
})

t.test('a text is over after its seconds', async t => {
  let now = 1_000_999
  const timed = new Secrets(secret, [], () => now)
  for (const [write, read] of ways) {
    now = 1_000_999
    const text = timed[write]('cart', 'apples', 60)
    const endless = timed[write]('cart', 'apples')
    for (const [time, found] of [
      [1_059_999, 'apples'],
      [1_060_000, undefined],
    ] as const) {
      now = time
      t.equal(timed[read]('cart', text), found)
      t.equal(timed[read]('cart', endless), 'apples')
    }
    for (const seconds of [0, -1, 0.5, Number.NaN, Number.POSITIVE_INFINITY]) {
      t.throws(() => timed[write]('cart', 'apples', seconds), { name: 'RangeError' })
    }
  }
})

t.test('texts of earlier secrets are accepted, and new ones have the current secret', async t => {
  const before = new Secrets('the secret before this one, as long as it')
  const now = new Secrets(secret, [
    'an even older secret, which nothing uses',
    'the secret before this one, as long as it',
  ])
  for (const [write, read] of ways) {
    t.equal(now[read]('cart', before[write]('cart', 'apples')), 'apples')
    t.equal(before[read]('cart', now[write]('cart', 'apples')), undefined)
    t.equal(secrets[read]('cart', now[write]('cart', 'apples')), 'apples')
    t.equal(secrets[read]('cart', before[write]('cart', 'apples')), undefined)
  }
})

t.test('a signature is an HMAC with a key of its own, and a nonce is used once', async t => {
  const key = Buffer.from(hkdfSync('sha256', secret, '', 'sinfonietta sign', 32))
  const content = `${Buffer.from('apples').toString('base64url')}.`
  const signature = createHmac('sha256', key).update(`${content}.cart`).digest('base64url')
  t.equal(secrets.sign('cart', 'apples'), `${content}.${signature}`)
  const texts = new Set(Array.from({ length: 100 }, () => secrets.encrypt('cart', 'apples')))
  t.equal(texts.size, 100)
  t.notMatch([...texts].map(text => Buffer.from(text, 'base64url').toString('latin1')).join(''), 'apples')
})

t.test('earlier secrets are a setting, checked and masked', async t => {
  const old = ['the first secret, of forty characters..', 'the second secret, of forty characters.']
  const variables = { APP_SECRET: secret, APP_SECRET_OLD: old.join(',').replaceAll(', of', ' of') }
  const settings = new Settings({ variables })
  t.strictSame(
    readConfig(settings).oldSecrets,
    old.map(text => text.replace(', of', ' of')),
  )
  const redactor = new Redactor(variables)
  redactor.declare(settings.list())
  t.equal(redactor.text('It was "the second secret of forty characters."'), 'It was "******"')
  const short = new Settings({
    variables: { APP_SECRET: secret, APP_SECRET_OLD: `${secret.replaceAll(',', '')},short` },
  })
  readConfig(short)
  t.throws(() => short.check(), { message: /APP_SECRET_OLD/ })
})
