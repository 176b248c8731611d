import fc from 'fast-check'
import { t } from 'tap'
import { Redactor } from '#lib/redact/redactor.ts'
import { TextMemo } from '#lib/text/text-memo.ts'

t.test('a memo caches short texts exactly', async t => {
  const memo = new TextMemo<number>(1000, 256)
  for (const text of ['', 'a', 'é', '\ud800', 'x'.repeat(256)]) {
    t.equal(memo.get(text), undefined)
    memo.set(text, 1)
    t.equal(memo.get(text), 1)
  }
  t.equal(memo.get('\ufffd'), undefined, 'which is another text than a lone surrogate')
  memo.set('x'.repeat(257), 1)
  t.equal(memo.get('x'.repeat(257)), undefined)
})

t.test('a memo makes the result of a text once', async t => {
  const memo = new TextMemo<number>(1000, 256)
  t.equal(
    memo.of('four', text => text.length),
    4,
  )
  t.equal(
    memo.of('four', () => 0),
    4,
  )
})

t.test('a full memo starts again from empty', async t => {
  const memo = new TextMemo<number>(1000, 256)
  for (let index = 0; index <= 1000; index++) memo.set(String(index), index)
  t.equal(memo.get('999'), undefined)
  t.equal(memo.get('1000'), 1000)
})

t.test('a redactor with a filled memo masks like a new one', async t => {
  const variables = { APP_SECRET: 'hunter2-hunter2' }
  const remembering = new Redactor(variables)
  const text = fc.array(fc.constantFrom('token=', 'hunter2-', 'hunter2', 'x', '&', ' '), { maxLength: 5 })
  fc.assert(
    fc.property(text, parts => remembering.text(parts.join('')) === new Redactor(variables).text(parts.join(''))),
  )
  t.pass()
})
