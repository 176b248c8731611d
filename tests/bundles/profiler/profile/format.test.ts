import { t } from 'tap'
import { formatBytes, formatDuration, formatShare, TreeViewer, toValueRow } from '#bundles/profiler/profile/format.ts'

t.test('a measured number has two significant digits, and all of its digits before the point', async t => {
  const durations = [0, 0.004, 0.0421, 0.0996, 0.5, 0.996, 8.205, 9.96, 11.4, 236.4, 999.4, 999.6, 1007, 9960, 75_400]
  t.strictSame(durations.map(formatDuration), [
    ...['0 ms', '0.004 ms', '0.042 ms', '0.10 ms', '0.50 ms', '1.0 ms', '8.2 ms', '10 ms', '11 ms', '236 ms'],
    ...['999 ms', '1.0 s', '1.0 s', '10 s', '75 s'],
  ])
  const sizes = [0, -1023, 1024, -1536, 242_000, 1_500_000, 3 * 1024 ** 3]
  t.strictSame(sizes.map(formatBytes), ['0 B', '-1023 B', '1.0 KiB', '-1.5 KiB', '236 KiB', '1.4 MiB', '3.0 GiB'])
  const shares = [0, 0.0004, 0.004, 0.042, 0.125, 1]
  t.strictSame(
    shares.map(share => formatShare(share, 1)),
    ['0 %', '<0.1 %', '0.40 %', '4.2 %', '13 %', '100 %'],
  )
  t.equal(formatShare(1, 0), '0 %', 'of nothing')
})

t.test('a value has its kind; an empty one is visible', async t => {
  const viewer = new TreeViewer()
  const { entries } = viewer.viewJson({ text: 'a "b"', empty: '', none: null, list: [], object: {}, number: 1.5 })
  t.strictSame(
    entries.map(({ name, value }) => [name, value.kind, value.text, value.isNested]),
    [
      ['text', 'text', '"a "b""', false],
      ['empty', 'text', '""', false],
      ['none', 'value', 'null', false],
      ['list', 'object', '[]', false],
      ['object', 'object', '{}', false],
      ['number', 'value', '1.5', false],
    ],
  )
})

t.test('a small tree is open; of a larger one only if it is wanted, with the names of closed objects', async t => {
  const viewer = new TreeViewer()
  const large = {
    inner: Object.fromEntries(Array.from({ length: 20 }, (_, index) => [`name${index}`, index])),
    list: [[1]],
  }
  t.equal(viewer.viewJson({ a: { b: 1 } }).entries[0]?.value.isOpen, true)
  t.equal(viewer.viewJson(large).isOpen, false)
  const view = viewer.viewJson(large, true)
  t.equal(view.isOpen, true)
  t.hasStrict(view.entries, [
    { value: { isOpen: false, preview: 'name0, name1, name2, name3, name4, name5, name6, name7, name' } },
    { value: { isOpen: false, preview: '' } },
  ])
})

t.test('more than 50 entries are grouped', async t => {
  const { entries, groups } = new TreeViewer().viewJson(Array.from({ length: 120 }, (_, index) => index))
  t.equal(entries.length, 50)
  t.strictSame(
    groups.map(({ entries, label }) => [label, entries.length, entries[0]?.name]),
    [
      ['50 … 99', 50, '50'],
      ['100 … 119', 20, '100'],
    ],
  )
})

t.test('entries over the limit are text, the outer level last', async t => {
  const viewer = new TreeViewer(3)
  const view = viewer.viewJson({ a: { deep: [true, 'x', null] }, b: 2 })
  t.equal(view.source, '')
  const deep = view.entries[0]?.value.entries[0]?.value
  t.hasStrict(deep, { kind: 'note', text: '[true,"x",null]', isNested: false, start: '' })
  t.hasStrict(viewer.viewJson([1]), { kind: 'note', text: '[1]' }, 'values of one viewer share its limit')
  t.equal(viewer.viewJson(['x'.repeat(600)]).start, `["${'x'.repeat(118)} …`)
  const partly = new TreeViewer(2).viewJson([true, 'x', null, { y: 1 }])
  t.strictSame(
    [partly.entries.length, partly.source, partly.sourceCount],
    [2, '[\n  null,\n  {\n    "y": 1\n  }\n]', '2'],
  )
  const counted = new TreeViewer(2, false)
  t.hasStrict(counted.viewJson([true, 'x', null, { y: 1 }]), { source: '', rest: '2' }, 'another page has the rest')
  t.hasStrict(counted.viewJson(['y'.repeat(600)]), { text: `["${'y'.repeat(498)}…` })
  t.hasStrict(counted.viewJson([7]), { text: '[7]' })
  const other = new TreeViewer(1).view({
    kind: 'object',
    text: 'Map(2)',
    entries: [
      { name: 'first', value: { kind: 'value', text: '1' } },
      { name: 'date', value: { kind: 'value', text: '2026-11-22' } },
      { name: 'note', value: { kind: 'note', text: '[getter]' } },
    ],
    omitted: 1200,
  })
  t.strictSame([other.source, other.rest], ['{\n  "date": "2026-11-22",\n  "note": "[getter]"\n}', '1,200'])
})

t.test('deep values are text, and long strings are folded', async t => {
  let nested: unknown = 'end'
  for (let depth = 0; depth < 30; depth++) nested = [nested]
  let view = new TreeViewer().viewJson(nested)
  for (let next = view.entries[0]; next !== undefined; next = view.entries[0]) view = next.value
  t.strictSame([view.kind, view.text], ['note', `${'['.repeat(10)}"end"${']'.repeat(10)}`])
  const [long] = new TreeViewer().viewJson(['x'.repeat(501)]).entries
  t.equal(long?.value.start, `"${'x'.repeat(120)} …`)
})

t.test('a row is a tree if it is JSON that is not short', async t => {
  const list = Array.from({ length: 40 }, (_, index) => index)
  t.hasStrict(toValueRow({ name: 'a', value: JSON.stringify(list, undefined, 2) }), { tree: { text: 'Array(40)' } })
  t.hasStrict(toValueRow({ name: 'a', value: '[\n  1\n]' }), { value: '[1]', tree: false })
  t.hasStrict(toValueRow({ name: 'a', value: '{no json' }), { value: '{no json', tree: false })
})
