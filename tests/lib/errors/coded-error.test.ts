import { defineError, HttpError } from 'sinfonietta'
import { t } from 'tap'

const TEST_TOO_MANY = defineError<[thing: string, count: number]>('TEST_TOO_MANY', 429, 'Too many %s: %s of them.')

t.test('a coded error fills its placeholders and keeps code, status, headers and cause', t => {
  const cause = new Error('why')
  const error = new TEST_TOO_MANY(['cooks', 3], { headers: { 'retry-after': '5' }, cause })
  t.equal(error.message, 'Too many cooks: 3 of them.')
  t.equal(error.code, 'TEST_TOO_MANY')
  t.equal(error.name, 'TEST_TOO_MANY')
  t.equal(error.status, 429)
  t.strictSame(error.headers, { 'retry-after': '5' })
  t.equal(error.cause, cause)
  t.ok(error instanceof HttpError)
  t.strictSame(
    [TEST_TOO_MANY.code, TEST_TOO_MANY.status, TEST_TOO_MANY.template],
    ['TEST_TOO_MANY', 429, 'Too many %s: %s of them.'],
  )
  t.end()
})

t.test('a value that looks like a placeholder is not filled again', t => {
  t.equal(new TEST_TOO_MANY(['%s$&', 1]).message, 'Too many %s$&: 1 of them.')
  t.end()
})

t.test('an HttpError has no headers and no cause unless they are given', t => {
  const error = new HttpError(404, 'gone')
  t.strictSame(error.headers, {})
  t.notOk('cause' in error)
  t.equal(error.code, 'HTTP_ERROR')
  t.equal(error.name, 'HttpError')
  t.end()
})

t.test('the status of an HttpError is one of an error', t => {
  for (const status of [200, 399, 600, 404.5, Number.NaN]) t.throws(() => new HttpError(status, ''), RangeError)
  t.end()
})

t.test('an HttpError has further members of its problem details, but none with a reserved name', t => {
  t.strictSame(new HttpError(403, 'no').members, {})
  const members = { balance: 30, accounts: ['/account/1'] }
  t.equal(new TEST_TOO_MANY(['cooks', 3], { members }).members, members)
  for (const name of ['type', 'title', 'status', 'detail', 'instance', 'exceptions']) {
    // The compiler refuses these names, too.
    const reserved = { [name]: 'x' }
    t.throws(() => new HttpError(403, 'no', { members: reserved }), {
      name: 'TypeError',
      message: `An HttpError cannot have a member "${name}": the name is reserved.`,
    })
  }
  t.end()
})
