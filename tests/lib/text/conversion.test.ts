import { asDate, asFlag, asInteger, asListOf, asOneOf, asText, asUrl } from 'sinfonietta'
import t from 'tap'

t.test('text stays as it is', async t => {
  t.equal(asText.convert(' a '), ' a ')
})

t.test('an integer is all digits, and can be counted with', async t => {
  for (const text of ['1', '-5', '007']) t.equal(asInteger.convert(text), Number(text))
  for (const text of ['', 'x', '1.5', '1e3', ' 1', '0x10', '99999999999999999999'])
    t.equal(asInteger.convert(text), undefined, text)
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
  t.equal(asNumbers.expected, 'a list, each entry an integer')
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
