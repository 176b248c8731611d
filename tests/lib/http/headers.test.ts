import fc from 'fast-check'
import { Headers } from 'sinfonietta'
import { t } from 'tap'

t.test('names are compared without case; spelling, order and duplicates are kept', async t => {
  const headers = new Headers([
    ['X-One', '1'],
    ['x-two', '2'],
    ['x-one', '3'],
  ])
  t.equal(headers.get('X-ONE'), '1, 3')
  t.strictSame(headers.getAll('x-one'), ['1', '3'])
  t.equal(headers.get('x-two'), '2')
  t.equal(headers.get('none'), null)
  t.ok(headers.has('X-Two'))
  t.notOk(headers.has('none'))
  t.strictSame(
    [...headers],
    [
      ['X-One', '1'],
      ['x-two', '2'],
      ['x-one', '3'],
    ],
  )
  t.strictSame(headers.toRaw(), ['X-One', '1', 'x-two', '2', 'x-one', '3'])
})

t.test('set replaces every field of the name in the place of the first', async t => {
  const headers = new Headers({ a: '1', b: '2' })
  headers.append('A', '3')
  headers.set('a', '4')
  headers.set('c', '5')
  t.strictSame(headers.toRaw(), ['a', '4', 'b', '2', 'c', '5'])
})

t.test('a name may have each character of a token', async t => {
  // RFC 9110, section 5.6.2.
  const marks = [..."!#$%&'*+-.^_`|~", ...'09AZaz']
  const taken = (name: string) => {
    try {
      return new Headers([[name, '1']]).has(name)
    } catch {
      return false
    }
  }
  const ascii = Array.from({ length: 128 }, (_, code) => String.fromCharCode(code))
  t.strictSame(
    ascii.filter(mark => !/[0-9A-Za-z]/.test(mark) && taken(`x${mark}`)),
    marks.filter(mark => !/[0-9A-Za-z]/.test(mark)).sort(),
  )
  t.ok(marks.every(taken))
})

t.test('delete removes every field of the name', async t => {
  const headers = new Headers([
    ['a', '1'],
    ['A', '2'],
    ['b', '3'],
  ])
  headers.delete('a')
  t.strictSame(headers.toRaw(), ['b', '3'])
})

t.test('headers can be created from headers', async t => {
  const headers = new Headers(new Headers({ a: '1' }))
  t.equal(headers.get('a'), '1')
})

t.test('names of Object.prototype are names like any other', async t => {
  const headers = Headers.fromRaw(['constructor', 'x', '__proto__', 'y'])
  t.equal(headers.get('__proto__'), 'y')
  t.equal(headers.get('toString'), null)
})

t.test('invalid names and values are refused when they are set', async t => {
  const headers = new Headers()
  for (const name of ['', 'a b', 'a:', 'é', 'a\r\nb']) {
    t.throws(() => headers.set(name, ''), { code: 'HTTP_HEADER_INVALID' }, JSON.stringify(name))
  }
  for (const value of ['a\r\nb: c', 'a\0', '\x7f', '日']) {
    t.throws(() => headers.append('a', value), { code: 'HTTP_HEADER_INVALID' }, JSON.stringify(value))
    t.throws(() => headers.append('vary', value), { code: 'HTTP_HEADER_INVALID' }, JSON.stringify(value))
  }
  // JavaScript may pass a value that is not there: the name is checked all the same.
  const absent: string[] = []
  t.throws(() => headers.set('a\r\nb', absent[0] as string), { code: 'HTTP_HEADER_INVALID' })
  t.strictSame(headers.toRaw(), [])
  headers.set('a', 'caf\xe9\ttab')
  t.equal(headers.get('a'), 'caf\xe9\ttab', 'obs-text and tabs may pass')
})

t.test('any sequence of changes leaves what a plain list of pairs would hold', async t => {
  const name = fc.constantFrom('a', 'A', 'b', 'B', 'long-name')
  const change = fc.record({ act: fc.constantFrom('set', 'append', 'delete'), name, value: fc.constantFrom('1', '2') })
  fc.assert(
    fc.property(fc.array(change), changes => {
      const headers = new Headers()
      let pairs: [string, string][] = []
      for (const { act, name, value } of changes) {
        const isSame = ([other]: [string, string]) => other.toLowerCase() === name.toLowerCase()
        if (act === 'append') {
          headers.append(name, value)
          pairs.push([name, value])
        } else if (act === 'delete') {
          headers.delete(name)
          pairs = pairs.filter(pair => !isSame(pair))
        } else {
          headers.set(name, value)
          const first = pairs.findIndex(isSame)
          const spelled = pairs[first]?.[0] ?? name
          if (first === -1) pairs.push([name, value])
          else pairs = pairs.flatMap((pair, at) => (at === first ? [[spelled, value]] : isSame(pair) ? [] : [pair]))
        }
      }
      t.strictSame([...headers], pairs)
    }),
  )
})

t.test('headers that are created from others are a copy', async t => {
  const headers = new Headers([
    ['Vary', 'accept'],
    ['vary', 'cookie'],
  ])
  const copy = new Headers(headers)
  copy.set('etag', '"1"')
  t.strictSame([...copy], [...headers, ['etag', '"1"']])
  t.notOk(headers.has('etag'))
})

t.test('addMissing adds fields whose names are missing', async t => {
  const headers = new Headers({ 'X-One': '1', date: 'today' })
  const { revision } = headers
  headers.addMissing(new Headers({ 'x-one': '2' }))
  t.equal(headers.revision, revision)
  headers.addMissing(new Headers({ 'x-one': '2', 'x-two': '3' }))
  t.equal(headers.revision, revision + 1)
  t.strictSame(
    [...headers],
    [
      ['X-One', '1'],
      ['date', 'today'],
      ['x-two', '3'],
    ],
  )
})
