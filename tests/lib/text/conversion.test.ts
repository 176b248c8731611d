import { asDate, asFlag, asId, asInteger, asIntegerFrom, asListOf, asOneOf, asText, asUrl, asUuid } from 'sinfonietta'
import t from 'tap'
import { isRedisUrl } from '#lib/text/conversion.ts'

t.test('text stays as it is', async t => {
  t.equal(asText.convert(' a '), ' a ')
})

t.test('an integer is all digits, and one that a column of the type integer takes', async t => {
  const texts = ['1', '-5', '007', '-0', '2147483647', '-2147483648']
  t.strictSame(texts.map(asInteger.convert), [1, -5, 7, 0, 2147483647, -2147483648])
  const refused = [
    ...['2147483648', '-2147483649', '4294967296', '9007199254740993', '9'.repeat(400)],
    ...[
      '',
      '-',
      'x',
      '1.5',
      '1.0',
      '1e3',
      '1E3',
      '+1',
      '--1',
      ' 1',
      '1 ',
      '1\n',
      '0x10',
      '0b1',
      '1n',
      '1_000',
      '1,000',
    ],
    ...['٣', '１', '²', '−1', 'Infinity', 'NaN', 'null', '1\0'],
  ]
  t.strictSame(
    refused.filter(text => asInteger.convert(text) !== undefined),
    [],
  )
})

t.test('an id is an integer from 1 that a column of 32 bits takes', async t => {
  const texts = ['1', '2147483647', '0', '-1', '2147483648', '1.0', '1e3', ' 1', '0x1', '']
  t.strictSame(texts.map(asId.convert).filter(Number.isInteger), [1, 2 ** 31 - 1])
})

t.test('a UUID of any version is one text, however it is written', async t => {
  const uuid = '018f4e2a-7d3c-7b1e-9f00-5a1d2c3b4e5f'
  t.equal(asUuid.convert(uuid.toUpperCase()), uuid)
  const wrong = [uuid.slice(1), `${uuid}0`, `{${uuid}}`, uuid.replaceAll('-', ''), uuid.replace('f', 'g'), `${uuid}\n`]
  t.strictSame(
    wrong.filter(text => asUuid.convert(text) !== undefined),
    [],
  )
})

t.test('an integer with bounds of its own is in them', async t => {
  const asDays = asIntegerFrom(1, 100)
  t.equal(asDays.expected, 'an integer from 1 to 100')
  t.strictSame(['1', '100', '0', '101', '-1', '1.5'].map(asDays.convert), [
    1,
    100,
    undefined,
    undefined,
    undefined,
    undefined,
  ])
  const asLongId = asIntegerFrom(1, Number.MAX_SAFE_INTEGER)
  t.strictSame(['9007199254740991', '9007199254740992', '9007199254740993'].map(asLongId.convert), [
    2 ** 53 - 1,
    undefined,
    undefined,
  ])
  for (const [least, most] of [
    [2, 1],
    [0.5, 1],
    [0, Number.POSITIVE_INFINITY],
    [Number.NaN, 1],
    [0, 2 ** 53],
  ] as const) {
    t.throws(() => asIntegerFrom(least, most), { code: 'ARGUMENT_INVALID' })
  }
})

t.test('a flag is one of eight words, in lower case or in capitals', async t => {
  for (const text of ['1', 'true', 'YES', 'On']) t.equal(asFlag.convert(text), true, text)
  for (const text of ['0', 'false', 'No', 'OFF']) t.equal(asFlag.convert(text), false, text)
  for (const text of ['', 'maybe', '2', ' 1']) t.equal(asFlag.convert(text), undefined, text)
})

t.test('a URL is absolute, of any scheme, and stays text', async t => {
  for (const url of ['https://example.org', 'null://null', 'postgres:///name', 'postgres://a:b@localhost:5432/name']) {
    t.equal(asUrl.convert(url), url)
  }
  for (const url of ['', 'example.org', '/path', 'localhost:8000', 'https://', 'smtp://a@[']) {
    t.equal(asUrl.convert(url), undefined, url)
  }
})

t.test('one of some texts is exactly one of them', async t => {
  const asSize = asOneOf('small', 'large')
  t.equal(asSize.expected, 'one of small, large')
  t.equal(asSize.convert('large'), 'large')
  for (const text of ['Large', '', 'small, large']) t.equal(asSize.convert(text), undefined, text)
})

t.test('a list is separated by commas, and each entry is converted', async t => {
  const asNumbers = asListOf(asInteger)
  t.equal(asNumbers.expected, 'a list with commas, each entry an integer of 32 bits')
  t.strictSame(asNumbers.convert('1, 2,,3 ,'), [1, 2, 3])
  t.strictSame(asNumbers.convert(' '), [])
  t.equal(asNumbers.convert('1,x'), undefined)
  t.ok(Object.isFrozen(asNumbers.convert('1')))
  t.strictSame(asListOf(asFlag).convert('no,yes'), [false, true], 'false is a value')
})

t.test('a date is a day of the calendar, or a time with its offset', async t => {
  const dates: Readonly<Record<string, string>> = {
    '2026-11-22': '2026-11-22T00:00:00.000Z',
    '2024-02-29': '2024-02-29T00:00:00.000Z',
    '2026-11-22T09:30Z': '2026-11-22T09:30:00.000Z',
    '2026-11-22T09:30:15.25Z': '2026-11-22T09:30:15.250Z',
    '2026-11-22T00:30:00+01:00': '2026-11-21T23:30:00.000Z',
  }
  for (const [text, moment] of Object.entries(dates)) t.equal(asDate.convert(text)?.toISOString(), moment, text)
  const wrong = ['', 'today', '2026', '22.11.2026', '2026-02-29', '2026-02-30', '2026-13-01', '2026-11-22T09:30']
  for (const text of [...wrong, '2026-11-22T24:00Z', '2026-11-22 09:30Z', ' 2026-11-22', '2026-11-22T09:30:00+1:00'])
    t.equal(asDate.convert(text), undefined, text)
})

t.test('the path of a Redis is the number of a database', t => {
  const right = ['redis://host', 'redis://host/', 'rediss://:p%40ss@host:6380/15', 'redis://host?family=6']
  const wrong = ['redis://host/shop', 'redis://host/-1', 'redis://host/1/2', 'http://host', 'redis:///1', 'host:6379']
  t.strictSame([...right, ...wrong].filter(isRedisUrl), right)
  t.end()
})
