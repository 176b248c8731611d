import assert from 'node:assert'
import fc from 'fast-check'
import { Headers } from 'sinfonietta'
import { t } from 'tap'
import { checkConditions, isRangeFresh } from '#lib/http/conditions.ts'

const day = 'Sun, 06 Nov 1994 08:49:37 GMT'
const before = 'Sun, 06 Nov 1994 08:49:36 GMT'
const after = 'Sun, 06 Nov 1994 08:49:38 GMT'

const check = (request: Record<string, string>, selected: Record<string, string>) =>
  checkConditions(new Headers(request), new Headers(selected))

t.test('If-None-Match compares tags weakly, If-Match strongly', async t => {
  const cases: readonly [etag: string, list: string, meansSame: boolean, isSame: boolean][] = [
    ['"a"', '"a"', true, true],
    ['"a"', 'W/"a"', true, false],
    ['W/"a"', '"a"', true, false],
    ['W/"a"', 'W/"a"', true, false],
    ['"a"', '"b"', false, false],
    ['"a"', '"b", "a"', true, true],
    ['"a"', '"b","a"', true, true],
    ['"a,b"', '"a,b"', true, true],
    ['"a"', '"a,b"', false, false],
    ['"a"', '*', true, true],
    ['"a"', ' * ', true, true],
    ['"a"', 'a', false, false],
    ['"a"', '', false, false],
    ['"a"', '"A"', false, false],
    ['"a"', '"a', false, false],
  ]
  for (const [etag, list, meansSame, isSame] of cases) {
    t.equal(check({ 'if-none-match': list }, { etag }) === 'not-modified', meansSame, `${list} of ${etag}`)
    t.equal(check({ 'if-match': list }, { etag }) === 'fulfilled', isSame, `${list} of ${etag}, strictly`)
  }
  t.equal(check({ 'if-none-match': '"a"' }, {}), 'fulfilled')
  t.equal(check({ 'if-match': '"a"' }, {}), 'failed')
})

t.test('dates have three forms; any other text is no condition', async t => {
  const modified = { 'last-modified': day }
  t.equal(check({ 'if-modified-since': before }, modified), 'fulfilled')
  for (const date of [day, after, 'Sunday, 06-Nov-94 08:49:37 GMT', 'Sun Nov  6 08:49:37 1994']) {
    t.equal(check({ 'if-modified-since': date }, modified), 'not-modified', date)
    t.equal(check({ 'if-unmodified-since': date }, modified), 'fulfilled', date)
  }
  t.equal(check({ 'if-modified-since': 'Sun Nov  6 08:49:36 1994' }, modified), 'fulfilled')
  t.equal(check({ 'if-unmodified-since': before }, modified), 'failed')
  for (const date of ['', '9999', 'tomorrow', '2030-01-01', 'Sun, 99 Nov 1994 99:99:99 GMT']) {
    t.equal(check({ 'if-modified-since': date }, modified), 'fulfilled', date)
    t.equal(check({ 'if-unmodified-since': date }, modified), 'fulfilled', date)
  }
  t.equal(check({ 'if-modified-since': day }, {}), 'fulfilled')
  t.equal(check({ 'if-unmodified-since': before }, {}), 'fulfilled')
})

t.test('tags outrank dates, and If-Match outranks If-None-Match', async t => {
  const selected = { etag: '"a"', 'last-modified': day }
  t.equal(check({ 'if-none-match': '"b"', 'if-modified-since': after }, selected), 'fulfilled')
  t.equal(check({ 'if-none-match': '"a"', 'if-modified-since': before }, selected), 'not-modified')
  t.equal(check({ 'if-match': '"a"', 'if-unmodified-since': before }, selected), 'fulfilled')
  t.equal(check({ 'if-match': '"b"', 'if-none-match': '"a"' }, selected), 'failed')
})

t.test('a range is sent only of the representation that the client has', async t => {
  const selected = new Headers({ etag: '"a"', 'last-modified': day })
  const isFresh = (ifRange: string) => isRangeFresh(new Headers({ 'if-range': ifRange }), selected)
  t.ok(isRangeFresh(new Headers(), selected))
  for (const value of ['"a"', day]) t.ok(isFresh(value), value)
  for (const value of ['"b"', 'W/"a"', '"a", "b"', after, before, '*', 'a']) t.notOk(isFresh(value), value)
  const weak = new Headers({ etag: 'W/"a"' })
  t.notOk(isRangeFresh(new Headers({ 'if-range': 'W/"a"' }), weak))
})

t.test(
  'If-Range by date counts when the second of the date is over: until then the representation may change again',
  async t => {
    const selected = new Headers({ 'last-modified': day })
    const isFreshAt = (now: number) => isRangeFresh(new Headers({ 'if-range': day }), selected, now)
    const begin = Date.parse(day)
    t.strictSame(
      [-5000, 0, 999, 1000, 1_000_000].map(later => isFreshAt(begin + later)),
      [false, false, false, true, true],
    )
  },
)

t.test('a verdict follows the steps of RFC 9110, section 13.2.2', async t => {
  const tag = fc.constantFrom('"a"', '"b"', 'W/"a"', '"a,b"')
  const tags = fc.oneof(
    fc.constant('*'),
    fc.array(tag, { maxLength: 3 }).map(list => list.join(', ')),
  )
  const date = fc.constantFrom(before, day, after, 'soon')
  const request = fc.record(
    { 'if-match': tags, 'if-none-match': tags, 'if-modified-since': date, 'if-unmodified-since': date },
    { requiredKeys: [] },
  )
  const selected = fc.record({ etag: tag, 'last-modified': fc.constant(day) }, { requiredKeys: [] })
  const property = fc.property(request, selected, (asked, has) => {
    assert.strictEqual(check(asked, has), followSteps(asked, has), JSON.stringify([asked, has]))
  })
  t.doesNotThrow(() => fc.assert(property, { numRuns: 2_000 }))
})

interface Asked {
  readonly 'if-match'?: string
  readonly 'if-none-match'?: string
  readonly 'if-modified-since'?: string
  readonly 'if-unmodified-since'?: string
}

/** Word for word; lists are taken apart character by character. */
function followSteps(
  asked: Asked,
  { etag = '', 'last-modified': modified }: { etag?: string; 'last-modified'?: string },
) {
  const match = asked['if-match']
  const noneMatch = asked['if-none-match']
  if (match !== undefined) {
    if (match !== '*' && (etag.startsWith('W/') || !splitTags(match).includes(etag))) return 'failed'
  } else {
    const unmodified = asked['if-unmodified-since']
    if (modified && unmodified && unmodified !== 'soon' && new Date(modified) > new Date(unmodified)) return 'failed'
  }
  if (noneMatch !== undefined) {
    const opaque = (tag: string) => (tag.startsWith('W/') ? tag.slice(2) : tag)
    const isListed = noneMatch === '*' || splitTags(noneMatch).map(opaque).includes(opaque(etag))
    return isListed ? 'not-modified' : 'fulfilled'
  }
  const since = asked['if-modified-since']
  return modified && since && since !== 'soon' && new Date(modified) <= new Date(since) ? 'not-modified' : 'fulfilled'
}

function splitTags(list: string): string[] {
  const tags = ['']
  let isQuoted = false
  for (const character of list) {
    if (character === '"') isQuoted = !isQuoted
    if (isQuoted || !', '.includes(character)) tags.push((tags.pop() ?? '') + character)
    else tags.push('')
  }
  return tags.filter(Boolean)
}
