import assert from 'node:assert'
import fc from 'fast-check'
import { Request } from 'sinfonietta'
import { t } from 'tap'
import { addSizeHelpers } from '#bundles/profiler/web/page.ts'
import type { Helper } from '#lib/view/view.ts'

const helpers = new Map<string, Helper>()
addSizeHelpers({ addHelper: (name, helper) => helpers.set(name, helper) })

const call = (name: string, target: string, ...positional: unknown[]) =>
  helpers.get(name)?.({ positional, named: {}, request: new Request({ target }) })

interface Page {
  readonly rows: readonly { readonly index: number }[]
  readonly pages: { readonly range: string; readonly previousLink: string; readonly nextLink: string }
}

const page = (target: string, rows: unknown, prefix?: string) =>
  call('profilerPage', target, rows, 'logs', prefix) as Page

const rowsOf = (count: number) => Array.from({ length: count }, (_, index) => ({ index, ids: [index + 1000] }))

t.test('a long line breaks after commas, semicolons and slashes first', async t => {
  const parts = (text: string) => call('profilerParts', '/_profiler/abc', text)
  t.strictSame(parts('text/html,application/xml;q=0.9, */*;q=0.8'), [
    'text/',
    'html,',
    'application/',
    'xml;',
    'q=0.9, */',
    '*;',
    'q=0.8',
  ])
  t.strictSame(parts('text/html;charset=UTF-8'), ['text/html;charset=UTF-8'], 'a short line is one part')
})

t.test('a table with more rows than a page has pages by the query', async t => {
  const first = page('/_profiler/abc?panel=logger', rowsOf(250))
  t.equal(first.rows.length, 75)
  t.strictSame(first.pages, {
    table: 'logs',
    range: '1–75 of 250',
    previousLink: '',
    nextLink: '/_profiler/abc?panel=logger&logs=2#logs',
  })
  const last = page('/_profiler/abc?logs=4&text=x', rowsOf(250))
  t.strictSame([last.rows.length, last.pages.range, last.pages.nextLink], [25, '226–250 of 250', ''])
  t.equal(last.pages.previousLink, '/_profiler/abc?logs=3&text=x#logs')
  t.strictSame(
    page('/_profiler/x?logs=99', rowsOf(250)).pages,
    page('/_profiler/x?logs=4', rowsOf(250)).pages,
    'a page that is too high',
  )
  for (const search of ['logs=', 'logs=x', 'logs=-3', 'logs=0'])
    t.equal(page(`/_profiler/x?${search}`, rowsOf(250)).rows[0]?.index, 0)
})

t.test('a short table is one page, with the rows that a filter hides', async t => {
  const rows = rowsOf(75).map(row => ({ ...row, isHidden: row.index > 5 }))
  t.strictSame(page('/_profiler/x?logs=2', rows), { rows, pages: false })
  t.strictSame(page('/_profiler/x', undefined), { rows: [], pages: false })
})

t.test('rows of several pages are without those that a filter hides', async t => {
  const rows = rowsOf(250).map(row => ({ ...row, isHidden: row.index % 100 !== 7 }))
  const { pages, rows: shown } = page('/_profiler/x', rows)
  t.strictSame([shown.map(({ index }) => index), pages.range], [[7, 107, 207], '1–3 of 250'])
  const none = page(
    '/_profiler/x',
    rows.map(row => ({ ...row, isHidden: true })),
  )
  t.strictSame([none.rows, none.pages.range, none.pages.nextLink], [[], '0 of 250', ''])
})

t.test('the page of a row is found by the id of its element', async t => {
  const rows = rowsOf(250).map(row => ({ ...row, again: [row.index + 5000], id: `own-${row.index}` }))
  for (const id of ['log-150', 'log-1150', 'log-5150', 'own-150']) {
    const found = page(`/_profiler/x?find=${id}&logs=3`, rows, 'log-')
    t.strictSame([found.rows[0]?.index, found.pages.nextLink], [150, '/_profiler/x?logs=4#logs'], id)
  }
  t.equal(page('/_profiler/x?find=log-999&logs=3', rows, 'log-').rows[0]?.index, 150, 'no row has it')
})

t.test('the pages have each row once, and are within the limits of rows and of characters', async t => {
  const lengths = fc.array(fc.nat({ max: 40_000 }), { maxLength: 300 })
  const property = fc.property(lengths, lengths => {
    const rows = lengths.map((length, index) => ({ index, text: 'x'.repeat(length) }))
    const seen: number[] = []
    for (let number = 1; ; number++) {
      const { pages, rows: shown } = page(`/_profiler/x?logs=${number}`, rows)
      seen.push(...shown.map(({ index }) => index))
      assert(shown.length <= 75)
      assert(shown.length === 1 || JSON.stringify(shown).length <= 76_000)
      if (!pages || pages.nextLink === '') break
    }
    assert.deepEqual(
      seen,
      rows.map(({ index }) => index),
    )
  })
  t.doesNotThrow(() => fc.assert(property, { numRuns: 50 }))
})

t.test('a long text is cut, with a link to all of it on the page of a profile', async t => {
  t.equal(call('profilerCut', '/_profiler/x', 'x'.repeat(1000)), 'x'.repeat(1000))
  t.equal(
    call('profilerCut', '/_profiler/x', `${'x'.repeat(999)}😀 and more`),
    `${'x'.repeat(999)}\ufffd … 10 more characters`,
  )
  t.equal(call('profilerCut', '/_profiler/x', undefined), '')
  t.equal(call('profilerWhole', '/_profiler/abc?panel=request', 'x'.repeat(1001)), '/_profiler/abc.json')
  t.equal(call('profilerWhole', '/_profiler/abc', 'x'.repeat(1000)), '')
})

t.test('an error page and a standalone file are whole', async t => {
  t.strictSame(page('/shop', rowsOf(250)), { rows: rowsOf(250), pages: false })
  t.equal(call('profilerCut', '/shop', 'x'.repeat(1001)), 'x'.repeat(1001))
  t.equal(call('profilerWhole', '/shop', 'x'.repeat(1001)), '')
})
