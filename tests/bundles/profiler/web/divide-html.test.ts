import assert from 'node:assert/strict'
import fc from 'fast-check'
import { t } from 'tap'
import { divideHtml } from '#bundles/profiler/web/fit-page.ts'
import { parseTags } from '#tests/support/html.ts'

const sizeOf = (html: string) => Buffer.byteLength(html)

const list = (length: number, toItem: (n: number) => string) => Array.from({ length }, (_, n) => toItem(n)).join('')

/** Whether each element ends where it should. */
function isBalanced(html: string): boolean {
  const open: string[] = []
  for (const { name } of parseTags(html)) {
    if (name.startsWith('/')) {
      if (open.pop() !== name.slice(1)) return false
    } else if (name !== 'br') open.push(name)
  }
  return open.length === 0
}

t.test('a short text is one part, without a change', async t => {
  t.strictSame(divideHtml('<p class="a">One<br>&amp; two', 1000), ['<p class="a">One<br>&amp; two</p>'])
})

t.test('parts are within the limit, complete, and have all texts', async t => {
  const rows = list(300, n => `<tr><td>row ${n}.</td><td><pre>${'é&quot;'.repeat(n)}</pre></td></tr>`)
  const html = `<div><section><h4>Rows</h4><table><thead><tr><th>Head</th></tr></thead><tbody>${rows}</tbody></table></section><p>End.</p></div>`
  const parts = divideHtml(html, 3000)
  t.ok(parts.length > 100)
  t.strictSame(
    parts.filter(part => sizeOf(part) > 3000 || !isBalanced(part)),
    [],
  )
  const whole = parts.join('')
  t.strictSame(whole.match(/row \d+\./g), rows.match(/row \d+\./g))
  const texts = (html: string) => [html.match(/é/g)?.length, html.match(/&quot;/g)?.length]
  t.strictSame(texts(whole), texts(rows), 'no character or reference is divided')
  t.strictSame(
    parts.filter(part => !part.startsWith('<div><section><h4>Rows</h4><table><thead>')).map(part => part.slice(-20)),
    [],
    'each part has the headings',
  )
})

t.test('a part repeats marked elements and opens what was folded', async t => {
  const item = (n: number) => `<li>${'item '.repeat(9)}${n}</li>`
  const html = `<div><form data-each-part><input></form><p>Once.</p><details><summary>More</summary><ul>${list(60, item)}</ul></details></div>`
  const [first = '', second = '', ...others] = divideHtml(html, 1000)
  t.match(first, /<details><summary>.*Once|Once.*<details><summary>/s)
  t.match(second, /^<div><form data-each-part><input><\/form><details open><summary>More<\/summary><ul><li>/)
  t.notMatch(second, 'Once')
  t.match(others[0], '<details open>')
  const opened = divideHtml(`<details open>${list(60, item)}</details>`, 1000)
  t.match(opened[1], /^<details open><li>/)
  const large = `<div><h2>${'x'.repeat(300)}</h2>${list(60, item)}</div>`
  t.notMatch(divideHtml(large, 1000)[1], '<h2>', 'a large heading is not repeated')
})

t.test('a divided row keeps its columns', async t => {
  const html = `<table><tbody><tr><th>Name</th><td>${'first '.repeat(20)}</td><td>${'second '.repeat(200)}</td></tr></tbody></table>`
  t.match(divideHtml(html, 1000)[1], /^<table><tbody><tr><th>Name<\/th><td><\/td><td>(?:second )?/)
})

t.test('rows that a filter hides are left out', async t => {
  const html = `<ul>${list(50, n => `<li${n % 2 ? ' hidden' : ''}>item ${n}</li>`)}</ul>`
  t.strictSame(
    divideHtml(html, 300)
      .join('')
      .match(/item [0-4]\b/g),
    ['item 0', 'item 2', 'item 4'],
  )
})

t.test('any HTML is divided', async t => {
  const deep = `${'<ul><li>'.repeat(40)}${'deep '.repeat(300)}`
  const parts = divideHtml(deep, 1000)
  t.ok(parts.every(isBalanced))
  t.equal(parts.join('').match(/deep/g)?.length, 300)
  const headings = `${list(30, n => `<div><h3>${n}${'x'.repeat(30)}</h3>`)}${'text '.repeat(300)}`
  t.strictSame(
    divideHtml(headings, 1000).filter(part => sizeOf(part) > 1000),
    [],
    'many headings leave room',
  )
  t.match(divideHtml('</p><!-- a --><b>x</i></b>', 100), ['<b>x</b>'])
  t.strictSame(divideHtml(`<a title="${'x'.repeat(3000)}" href="/">x</a>`, 5000), ['<a href="/">x</a>'])
  t.equal(
    divideHtml(`${'<i>'.repeat(20)}${'x'.repeat(500)}`, 100)
      .join('')
      .match(/x/g)?.length,
    500,
  )
})

t.test('a text is divided between characters and references, at every limit', async t => {
  const unit = fc.oneof(
    fc.constantFrom('&amp;', '&lt;', '&quot;', '&#x27;', '&#x60;', '&', ';', 'é', '日', '😀', '👩‍👩‍👧', 'a', ' '),
    fc.string({ unit: 'binary', maxLength: 1 }).map(text => text.toWellFormed().replaceAll(/[<>&\ufffd]/g, '.')),
  )
  const texts = fc.array(unit, { minLength: 100, maxLength: 400 }).map(units => units.join(''))
  const property = fc.property(texts, fc.integer({ min: 120, max: 180 }), (text, limit) => {
    const parts = divideHtml(`<p>${text}</p>`, limit).map(part => part.slice('<p>'.length, -'</p>'.length))
    assert.equal(parts.join(''), text)
    const torn = parts.filter((part, at) => {
      const [seam] = /&[#\w]{0,6}$/.exec(part) ?? []
      return seam !== undefined && /^[#\w]{0,6};/.test(parts[at + 1] ?? '') && isReference(seam + parts[at + 1])
    })
    assert.deepEqual(torn, [])
  })
  t.doesNotThrow(() => fc.assert(property, { numRuns: 300 }))
})

/** Whether a text begins with a reference that Handlebars writes. */
const isReference = (text: string) => /^&(?:amp|lt|gt|quot|#x27|#x60|#x3D);/.test(text)
