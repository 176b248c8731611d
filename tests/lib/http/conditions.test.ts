import assert from 'node:assert'
import fc from 'fast-check'
import { Headers, Request, Response } from 'sinfonietta'
import { t } from 'tap'
import { checkConditions, isNotModified, isRangeFresh } from '#lib/http/conditions.ts'
import { parseHttpDate } from '#lib/http/http-date.ts'

const day = 'Sun, 06 Nov 1994 08:49:37 GMT'
const before = 'Sun, 06 Nov 1994 08:49:36 GMT'
const after = 'Sun, 06 Nov 1994 08:49:38 GMT'

const check = (request: Record<string, string>, selected: Record<string, string>, method = 'GET') =>
  checkConditions({ method, headers: new Headers(request) }, new Headers(selected))

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
    ['"a"', '"a"x', false, false],
    ['"a"', 'x"a"', false, false],
    ['"a"', '"a" "b"', false, false],
    ['"a"', '"b" x, "a"', true, true],
    ['"a"', 'abc, "a"', true, true],
    ['"a"', ',, "a" ,\t', true, true],
    ['"a"', '*, "b"', false, false],
    ['"a"', 'w/"a"', false, false],
    ['"a"', 'W/ "a"', false, false],
    ['"a"', '"b, "a"', false, false],
    ['"a, b"', '"c", "a, b"', true, true],
    ['""', '""', true, true],
    // An application has forgotten the quotes. The client sends back what it got.
    ['a', 'a', true, true],
    ['a', 'b, W/a, a', true, true],
  ]
  for (const [etag, list, meansSame, isSame] of cases) {
    t.equal(check({ 'if-none-match': list }, { etag }) === 'not-modified', meansSame, `${list} of ${etag}`)
    t.equal(check({ 'if-match': list }, { etag }) === 'fulfilled', isSame, `${list} of ${etag}, strictly`)
  }
  t.equal(check({ 'if-none-match': '"a"' }, {}), 'fulfilled')
  t.equal(check({ 'if-match': '"a"' }, {}), 'failed')
})

/** The clock of the table: 29 November 2026. */
const now = Date.UTC(2026, 10, 29)

t.test('a date has one of the three forms of RFC 9110, section 5.6.7; any other text is no date', async t => {
  const dates: readonly [text: string, iso: string | undefined][] = [
    ['Sun, 06 Nov 1994 08:49:37 GMT', '1994-11-06T08:49:37.000Z'],
    ['Sunday, 06-Nov-94 08:49:37 GMT', '1994-11-06T08:49:37.000Z'],
    ['Sun Nov  6 08:49:37 1994', '1994-11-06T08:49:37.000Z'],
    ['Sun Nov 06 08:49:37 1994', '1994-11-06T08:49:37.000Z'],
    ['Wed Nov 16 08:49:37 1994', '1994-11-16T08:49:37.000Z'],
    ['Thu, 29 Feb 2024 23:59:59 GMT', '2024-02-29T23:59:59.000Z'],
    ['Sat, 31 Dec 2016 23:59:60 GMT', '2016-12-31T23:59:59.000Z'],
    ['Fri, 01 Jan 2100 00:00:00 GMT', '2100-01-01T00:00:00.000Z'],
    ['Mon, 01 Jan 0001 00:00:00 GMT', '0001-01-01T00:00:00.000Z'],
    ['Sun, 29 Feb 0004 00:00:00 GMT', '0004-02-29T00:00:00.000Z'],
    ['Fri, 31 Dec 9999 23:59:59 GMT', '9999-12-31T23:59:59.000Z'],
    // Two digits are at most 50 years after the clock, whatever the weekday.
    ['Friday, 01-Jan-60 00:00:00 GMT', '2060-01-01T00:00:00.000Z'],
    ['Thursday, 01-Jan-60 00:00:00 GMT', '2060-01-01T00:00:00.000Z'],
    ['Sunday, 29-Nov-76 00:00:00 GMT', '2076-11-29T00:00:00.000Z'],
    ['Monday, 29-Nov-76 00:00:01 GMT', '1976-11-29T00:00:01.000Z'],
    ['Friday, 01-Jan-77 00:00:00 GMT', '1977-01-01T00:00:00.000Z'],
    ['Saturday, 29-Feb-00 00:00:00 GMT', '2000-02-29T00:00:00.000Z'],
    ['Sunday, 29-Nov-26 00:00:00 GMT', '2026-11-29T00:00:00.000Z'],
    // No such day, hour, weekday or month
    ['Sat, 31 Feb 2094 00:00:00 GMT', undefined],
    ['Xyz, 31 Feb 2100 00:00:00 PST', undefined],
    ['Xyz, 06 Nov 1994 08:49:37 GMT', undefined],
    ['Mon, 06 Nov 1994 08:49:37 GMT', undefined],
    ['Mon Nov  6 08:49:37 1994', undefined],
    ['Sun, 06 Foo 1994 08:49:37 GMT', undefined],
    ['Wednesday, 29-Feb-23 00:00:00 GMT', undefined],
    ['Sunny, 06-Nov-94 08:49:37 GMT', undefined],
    ['Sun, 06 Nov 1994 25:00:00 GMT', undefined],
    ['Sun, 06 Nov 1994 24:00:00 GMT', undefined],
    ['Sun, 06 Nov 1994 08:60:00 GMT', undefined],
    ['Sun, 06 Nov 1994 08:49:60 GMT', undefined],
    ['Sun, 99 Nov 1994 99:99:99 GMT', undefined],
    // Another zone
    ['Sun, 06 Nov 1994 08:49:37 PST', undefined],
    ['Sun, 06 Nov 1994 08:49:37 UTC', undefined],
    ['Sun, 06 Nov 1994 08:49:37 +0000', undefined],
    ['Sun, 06 Nov 1994 08:49:37', undefined],
    ['Sun Nov  6 08:49:37 1994 GMT', undefined],
    // Another spelling
    ['Sat, 6 Nov 2094 08:49:37 GMT', undefined],
    ['Sun, 06 Nov 94 08:49:37 GMT', undefined],
    ['Sun, 06-Nov-1994 08:49:37 GMT', undefined],
    ['Sun, 06-Nov-94 08:49:37 GMT', undefined],
    ['Sunday, 06 Nov 1994 08:49:37 GMT', undefined],
    ['Sunday, 06-Nov-1994 08:49:37 GMT', undefined],
    ['Saturday November 6 2094 08:49:37', undefined],
    ['Sun Nov 6 08:49:37 1994', undefined],
    ['sun, 06 nov 1994 08:49:37 gmt', undefined],
    ['Sun, 06 Nov 1994 8:49:37 GMT', undefined],
    ['Sun, 06 Nov 1994 08:49 GMT', undefined],
    ['Sun, 06 Nov 1994  08:49:37 GMT', undefined],
    ['Sun, 06 Nov 1994 08:49:37 GMT, Sun, 06 Nov 1994 08:49:37 GMT', undefined],
    ['Sun, 06 Nov 1994 08:49:37 GMT; length=3495', undefined],
    ['1994-11-06T08:49:37Z', undefined],
    ['2030-01-01', undefined],
    ['January 2094', undefined],
    ['784111777', undefined],
    ['0', undefined],
    ['-1', undefined],
    ['tomorrow', undefined],
    ['Invalid Date', undefined],
    ['', undefined],
  ]
  const found = dates.map(([text]) => {
    const time = parseHttpDate(text, now)
    return [text, Number.isNaN(time) ? undefined : new Date(time).toISOString()]
  })
  t.strictSame(found, dates)
})

t.test('what has been written as a date is read as the same second', async t => {
  const property = fc.property(fc.date({ min: new Date('0000-01-01'), noInvalidDate: true }), date => {
    fc.pre(date.getUTCFullYear() <= 9999)
    assert.strictEqual(parseHttpDate(date.toUTCString()), Math.floor(date.getTime() / 1000) * 1000)
  })
  t.doesNotThrow(() => fc.assert(property))
})

t.test('a condition by date holds in each form; a text that is no date is no condition', async t => {
  const modified = { 'last-modified': day }
  t.equal(check({ 'if-modified-since': before }, modified), 'fulfilled')
  for (const date of [day, after, 'Sunday, 06-Nov-94 08:49:37 GMT', 'Sun Nov  6 08:49:37 1994']) {
    t.equal(check({ 'if-modified-since': date }, modified), 'not-modified', date)
    t.equal(check({ 'if-unmodified-since': date }, modified), 'fulfilled', date)
  }
  t.equal(check({ 'if-modified-since': 'Sun Nov  6 08:49:36 1994' }, modified), 'fulfilled')
  t.equal(check({ 'if-unmodified-since': before }, modified), 'failed')
  for (const date of ['', '9999', 'Xyz, 31 Feb 2100 00:00:00 PST', 'Sun, 06 Nov 1994 08:49:36 PST']) {
    t.equal(check({ 'if-modified-since': date }, modified), 'fulfilled', date)
    t.equal(check({ 'if-unmodified-since': date }, modified), 'fulfilled', date)
  }
  t.equal(check({ 'if-modified-since': day }, {}), 'fulfilled')
  t.equal(check({ 'if-unmodified-since': before }, {}), 'fulfilled')
  t.equal(check({ 'if-modified-since': day }, { 'last-modified': 'yesterday' }), 'fulfilled')
})

t.test('the results depend on the method (RFC 9110, sections 13.1.1 to 13.2.1)', async t => {
  const selected = { etag: '"a"', 'last-modified': day }
  const rows: readonly [condition: Record<string, string>, retrieval: string, change: string][] = [
    [{ 'if-none-match': '"a"' }, 'not-modified', 'failed'],
    [{ 'if-none-match': 'W/"a"' }, 'not-modified', 'failed'],
    [{ 'if-none-match': '*' }, 'not-modified', 'failed'],
    [{ 'if-none-match': '"b"' }, 'fulfilled', 'fulfilled'],
    [{ 'if-none-match': '"b"', 'if-modified-since': day }, 'fulfilled', 'fulfilled'],
    [{ 'if-modified-since': day }, 'not-modified', 'fulfilled'],
    [{ 'if-modified-since': before }, 'fulfilled', 'fulfilled'],
    [{ 'if-match': '"a"' }, 'fulfilled', 'fulfilled'],
    [{ 'if-match': '"b"' }, 'failed', 'failed'],
    [{ 'if-match': '"a"', 'if-none-match': '"a"' }, 'not-modified', 'failed'],
    [{ 'if-unmodified-since': before }, 'failed', 'failed'],
    [{ 'if-unmodified-since': day }, 'fulfilled', 'fulfilled'],
  ]
  const found = rows.map(([condition]) => {
    const results = (methods: readonly string[]) => [
      ...new Set(methods.map(method => check(condition, selected, method))),
    ]
    return [condition, ...results(['GET', 'HEAD', 'QUERY']), ...results(['POST', 'PUT', 'PATCH', 'DELETE'])]
  })
  t.strictSame(found, rows)
  t.strictSame([...new Set(rows.map(([condition]) => check(condition, selected, 'OPTIONS')))], ['fulfilled'])
})

t.test('tags outrank dates, and If-Match outranks If-None-Match', async t => {
  const selected = { etag: '"a"', 'last-modified': day }
  t.equal(check({ 'if-none-match': '"b"', 'if-modified-since': after }, selected), 'fulfilled')
  t.equal(check({ 'if-none-match': '"a"', 'if-modified-since': before }, selected), 'not-modified')
  t.equal(check({ 'if-match': '"a"', 'if-unmodified-since': before }, selected), 'fulfilled')
  t.equal(check({ 'if-match': '"b"', 'if-none-match': '"a"' }, selected), 'failed')
})

t.test('a client has the body of a response by the table of jshttp/fresh', async t => {
  const earlier = 'Sat, 01 Jan 2000 00:00:00 GMT'
  const later = 'Sat, 01 Jan 2000 01:00:00 GMT'
  const rows: readonly [request: Record<string, string>, response: Record<string, string>, isNotModified: boolean][] = [
    [{}, {}, false],
    [{ 'if-none-match': '"foo"' }, { etag: '"foo"' }, true],
    [{ 'if-none-match': '"foo"' }, { etag: '"bar"' }, false],
    [{ 'if-none-match': '"bar", "foo"' }, { etag: '"foo"' }, true],
    [{ 'if-none-match': '"foo"' }, {}, false],
    [{ 'if-none-match': 'W/"foo"' }, { etag: 'W/"foo"' }, true],
    [{ 'if-none-match': 'W/"foo"' }, { etag: '"foo"' }, true],
    [{ 'if-none-match': '"foo"' }, { etag: 'W/"foo"' }, true],
    [{ 'if-none-match': 'tobi' }, { etag: 'tobi' }, true],
    [{ 'if-none-match': 'tobi' }, { etag: 'luna' }, false],
    [{ 'if-none-match': '*' }, { etag: '"foo"' }, true],
    [{ 'if-none-match': '*, "bar"' }, { etag: '"foo"' }, false],
    [{ 'if-modified-since': earlier }, { 'last-modified': later }, false],
    [{ 'if-modified-since': later }, { 'last-modified': earlier }, true],
    [{ 'if-modified-since': later }, {}, false],
    [{ 'if-modified-since': 'foo' }, { 'last-modified': later }, false],
    [{ 'if-modified-since': later }, { 'last-modified': 'foo' }, false],
    [{ 'if-none-match': later }, { 'last-modified': later }, false],
    [{ 'if-none-match': '"foo"', 'if-modified-since': later }, { etag: '"foo"', 'last-modified': earlier }, true],
    // The etag decides alone (RFC 9110, section 13.1.3).
    [{ 'if-none-match': '"foo"', 'if-modified-since': earlier }, { etag: '"foo"', 'last-modified': later }, true],
    [{ 'if-none-match': '"foo"', 'if-modified-since': later }, { etag: '"bar"', 'last-modified': earlier }, false],
    [{ 'if-none-match': '"foo"', 'if-modified-since': earlier }, { etag: '"bar"', 'last-modified': later }, false],
    [{ 'cache-control': 'no-cache' }, { etag: '"foo"', 'last-modified': later }, false],
  ]
  const found = rows.map(([headers, answered]) => {
    return [
      headers,
      answered,
      isNotModified(new Request({ target: '/', headers }), Response.text('', { headers: answered })),
    ]
  })
  t.strictSame(found, rows)
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

t.test('If-Range by date counts when its second is over: until then the representation may change again', async t => {
  const selected = new Headers({ 'last-modified': day })
  const isFreshAt = (now: number) => isRangeFresh(new Headers({ 'if-range': day }), selected, now)
  const begin = Date.parse(day)
  t.strictSame(
    [-5000, 0, 999, 1000, 1_000_000].map(later => isFreshAt(begin + later)),
    [false, false, false, true, true],
  )
})

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
  const method = fc.constantFrom('GET', 'HEAD', 'POST', 'PUT')
  const property = fc.property(request, selected, method, (asked, has, method) => {
    assert.strictEqual(check(asked, has, method), followSteps(asked, has, method), JSON.stringify([asked, has, method]))
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
  method: string,
) {
  const isRetrieval = ['GET', 'HEAD'].includes(method)
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
    if (!isListed) return 'fulfilled'
    return isRetrieval ? 'not-modified' : 'failed'
  }
  if (!isRetrieval) return 'fulfilled'
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
