import { t } from 'tap'
import { createMessageMask, describeIssues, hiddenMessage, readIssues, toPointer } from '#lib/schema/standard-schema.ts'

t.test('paths have keys or objects with a key, and become JSON pointers in a fragment', async t => {
  const path = ['items', 0, { key: 'a/b~c' }, { key: Symbol('s') }, 'ä ü', '\ud800']
  const { issues, omitted } = readIssues([{ message: 'wrong', path }, { message: 'all wrong' }], {})
  t.strictSame(issues, [
    { path: ['items', '0', 'a/b~c', 'Symbol(s)', 'ä ü', '\ufffd'], message: 'wrong' },
    { path: [], message: 'all wrong' },
  ])
  t.equal(omitted, 0)
  t.strictSame(
    issues.map(issue => toPointer(issue.path)),
    ['#/items/0/a~1b~0c/Symbol(s)/%C3%A4%20%C3%BC/%EF%BF%BD', '#'],
  )
})

t.test('at most 50 issues are listed, and the text has the first three', async t => {
  const many = Array.from({ length: 53 }, (_, index) => ({ message: `m${index}`, path: ['list', index] }))
  const found = readIssues(many, [])
  t.strictSame([found.issues.length, found.omitted], [50, 3])
  t.equal(describeIssues(found), 'm0 (list.0); m1 (list.1); m2 (list.2); and 50 more')
  t.equal(describeIssues(readIssues([{ message: 'whole' }], 1)), 'whole')
})

t.test('paths and messages of any length are cut', async t => {
  const path = Array.from({ length: 100 }, () => 'k'.repeat(300))
  const { issues } = readIssues([{ message: `${'m'.repeat(600)}`, path }], {})
  t.strictSame(issues[0]?.path, Array(64).fill(`${'k'.repeat(199)}…`))
  t.equal(issues[0]?.message, `${'m'.repeat(499)}…`)
})

t.test('a message has no value of a secret name, wherever it quotes the input', async t => {
  const input = {
    title: 'open door',
    password: ' Hunter2 ',
    pin: 12,
    deep: [{ api_key: { parts: ['k"1'] } }],
    token: '',
    headers: [{ name: 'x-api-key', value: 'sesame' }],
    session: null,
    get cookie(): string {
      throw new Error('A getter is not called.')
    },
  }
  const { issues } = readIssues(
    [
      { message: 'Invalid email: Received "hunter2"', path: ['password'] },
      { message: 'not 12, but 123 or "a b"', path: ['pin'] },
      { message: 'must be a text (was {"password":" Hunter2 ","api_key":"k\\"1"})' },
      { message: 'open door, not HUNTER2 or sesame', path: ['title'] },
      { message: 'was changed to "ab\\"cd" by the schema', path: ['deep', 0, 'api_key'] },
      { message: 'see https://user:pw1234@example.org/', path: ['title'] },
    ],
    input,
  )
  t.strictSame(
    issues.map(({ message }) => message),
    [
      'Invalid email: Received "******"',
      'not ******, but 123 or "******"',
      'must be a text (was {"password":"******","api_key":"******"})',
      'open door, not ****** or ******',
      'was changed to "******" by the schema',
      'see https://******@example.org/',
    ],
  )
})

t.test('of a secret that contains another one nothing is left, also where a message quotes it as JSON', async t => {
  const mask = createMessageMask({ pin: 'hunter', password: 'hunter2-Kq3W', token: 'a"b\\c' })
  const messages = ['not hunter2-Kq3W', 'not hunter', `not ${JSON.stringify('a"b\\c')}`, 'not a"b\\c']
  t.strictSame(
    messages.map(message => mask(message, false)),
    ['not ******', 'not ******', 'not "******"', 'not ******'],
  )
})

t.test('a message that cannot be masked with certainty is hidden', async t => {
  const mask = createMessageMask({ password: 'hunter2' })
  t.equal(mask(`${'x'.repeat(2000)} hunter2`, false), hiddenMessage)
  t.equal(createMessageMask({})(`${'x'.repeat(2000)} secret`, true), hiddenMessage)
  const tokens = Array.from({ length: 2000 }, (_, index) => `value${index}`)
  t.equal(createMessageMask({ tokens })('value1', false), hiddenMessage, 'too many secrets')
  const names = Object.fromEntries(Array.from({ length: 6000 }, (_, index) => [`name${index}`, index]))
  t.equal(createMessageMask(names)('value1', false), hiddenMessage, 'too many names')
  const rows = Array.from({ length: 6000 }, (_, index) => ({ id: index, name: 'x', code: 'a1', state: 'b' }))
  t.equal(createMessageMask(rows)('row 6 has a1', false), 'row 6 has ******', 'many items with the same names')
  // The lower case of this letter has two characters, and no pattern without case matches it.
  const odd = createMessageMask({ password: 'GİZLİ' })
  t.equal(odd('not GİZLİ', false), hiddenMessage)
  t.equal(createMessageMask({ title: 'x' })('x is too short', false), 'x is too short', 'without secrets all is shown')
  const short = createMessageMask({ email: 'no', cvc: '10' })
  t.equal(short('This is no address.', true), 'This is no address.', 'a short word of a message is not the secret')
  t.equal(short(`'no' is no address.`, false), `'******' is no address.`)
  t.equal(short('10 is not 100', false), '****** is not 100')
})
