import assert from 'node:assert'
import fc from 'fast-check'
import { t } from 'tap'
import { parseRange } from '#lib/http/file-response.ts'

t.test('ranges of ten bytes', async t => {
  const cases: readonly [string, string][] = [
    ['bytes=0-4', '0-4'],
    ['bytes=0-0', '0-0'],
    ['bytes=9-', '9-9'],
    ['bytes=5-', '5-9'],
    ['bytes=5-99', '5-9'],
    ['bytes=-3', '7-9'],
    ['bytes=-10', '0-9'],
    ['bytes=-99', '0-9'],
    ['BYTES=0-4', '0-4'],
    [' bytes= 0-4 ', '0-4'],
    ['bytes=,0-4,', '0-4'],
    ['bytes=0-4,20-30', '0-4'],
    ['bytes=10-', 'unsatisfiable'],
    ['bytes=20-30,40-', 'unsatisfiable'],
    ['bytes=-0', 'unsatisfiable'],
    [`bytes=${'9'.repeat(400)}-`, 'unsatisfiable'],
    ['bytes=0-1,3-4', 'all'],
    ['bytes=0-9,0-9', 'all'],
    ['bytes=4-2', 'all'],
    ['bytes=0-4,x', 'all'],
    ['bytes=0-4,4-2', 'all'],
    ['bytes=-', 'all'],
    ['bytes=', 'all'],
    ['bytes=,', 'all'],
    ['bytes', 'all'],
    ['bytes=1x-4', 'all'],
    ['bytes=0--1', 'all'],
    ['bytes=0 - 4', 'all'],
    ['bytes=1.0-2', 'all'],
    ['lines=0-4', 'all'],
    ['', 'all'],
  ]
  for (const [header, expected] of cases) t.equal(say(parseRange(header, 10)), expected, header)
  t.equal(parseRange('bytes=0-', 0), undefined, 'of nothing, nothing is a part')
})

t.test('a range is what counting byte by byte finds', async t => {
  const bound = fc.nat({ max: 14 }).map(String)
  const spec = fc.oneof(
    fc.tuple(bound, bound).map(([first, last]) => `${first}-${last}`),
    bound.map(first => `${first}-`),
    bound.map(length => `-${length}`),
    fc.constantFrom('', ' ', 'x', '-', '1-2-3'),
  )
  const header = fc.array(spec, { minLength: 1, maxLength: 4 }).map(specs => `bytes=${specs.join(',')}`)
  const property = fc.property(header, fc.integer({ min: 1, max: 12 }), (text, size) => {
    assert.strictEqual(say(parseRange(text, size)), countBytes(text, size), `${text} of ${size}`)
  })
  t.doesNotThrow(() => fc.assert(property, { numRuns: 2_000 }))
})

function say(range: ReturnType<typeof parseRange>): string {
  if (range === undefined) return 'all'
  return range === 'unsatisfiable' ? range : `${range.start}-${range.end}`
}

/** Looks at each byte: is it in the range or not? */
function countBytes(header: string, size: number): string {
  const specs = header
    .slice('bytes='.length)
    .split(',')
    .map(spec => spec.trim())
    .filter(Boolean)
  const isValid = (spec: string) => /^(\d+-\d*|-\d+)$/.test(spec) && !isDescending(spec)
  if (specs.length === 0 || !specs.every(isValid)) return 'all'
  const bytes = Array.from({ length: size }, (_, at) => at)
  const found = specs.map(spec => bytes.filter(at => isIn(spec, at, size))).filter(({ length }) => length > 0)
  const [only, another] = found
  if (only === undefined) return 'unsatisfiable'
  return another === undefined ? `${only.at(0)}-${only.at(-1)}` : 'all'
}

function isDescending(spec: string): boolean {
  const [first = '', last = ''] = spec.split('-')
  return first !== '' && last !== '' && Number(last) < Number(first)
}

function isIn(spec: string, at: number, size: number): boolean {
  if (spec.startsWith('-')) return size - at <= Number(spec.slice(1))
  const [first = '', last = ''] = spec.split('-')
  return at >= Number(first) && (last === '' || at <= Number(last))
}
