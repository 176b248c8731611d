import t from 'tap'
import { asFlag, asInteger, asListOf, asOneOf, asText, asUrl } from '#lib/text/conversion.ts'

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
