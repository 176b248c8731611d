import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { parseForm } from '#lib/body/form-data.ts'
import { anyCharacter } from '#tests/support/sample.ts'

t.test('a form comes back as it was encoded, in its order', async t => {
  const text = fc.string({ unit: anyCharacter }).map(value => value.toWellFormed())
  const property = fc.property(fc.array(fc.tuple(text, text), { maxLength: 20 }), fields => {
    assert.deepStrictEqual([...parseForm(new URLSearchParams(fields).toString(), 20)], fields)
  })
  t.doesNotThrow(() => fc.assert(property))
})

t.test('names with brackets and names of prototypes are plain names', async t => {
  const form = parseForm('a[b]=1&__proto__[x]=2&__proto__=3', 1000)
  t.strictSame(
    [...form],
    [
      ['a[b]', '1'],
      ['__proto__[x]', '2'],
      ['__proto__', '3'],
    ],
  )
})

t.test('a field is found by name', async t => {
  const form = parseForm('a=1&b=2&a=3', 1000)
  t.equal(form.get('a'), '1')
  t.strictSame(form.getAll('a'), ['1', '3'])
  t.equal(form.get('c'), null)
  t.ok(form.has('b'))
  t.notOk(form.has('c'))
})

t.test('as many fields as the limit are accepted, and no more', async t => {
  t.equal([...parseForm('a&'.repeat(999).concat('a'), 1000)].length, 1000)
  const refused = { code: 'BODY_FIELDS_TOO_MANY', status: 413, message: /limit of 1000 fields/ }
  t.throws(() => parseForm('a&'.repeat(1000).concat('a'), 1000), refused)
  t.throws(() => parseForm('&'.repeat(1_000_000), 1000), refused)
})

t.test('a byte order mark and a question mark at the beginning belong to the first name', async t => {
  const first = (text: string) => [...parseForm(text, 9)][0]
  t.strictSame(['?a=1', '??a=1', '\ufeffa=\ufeff', '%EF%BB%BFa=1', '?'].map(first), [
    ['?a', '1'],
    ['??a', '1'],
    ['\ufeffa', '\ufeff'],
    ['\ufeffa', '1'],
    ['?', ''],
  ])
})

t.test('a percent sign without an escape is itself; escaped bytes must be UTF-8', async t => {
  t.equal(parseForm('a=100%&b=%zz', 1000).get('b'), '%zz')
  for (const text of ['a=%ff', 'a=%c0%af', '%ed%a0%80=1', 'a=%C3é']) {
    t.throws(() => parseForm(text, 1000), { code: 'BODY_FORM_INVALID', status: 400 }, text)
  }
})
