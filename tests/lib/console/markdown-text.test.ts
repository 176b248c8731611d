import assert from 'node:assert'
import fc from 'fast-check'
import { t } from 'tap'
import { toSpan } from '#bundles/profiler/renderings/markdown/text.ts'
import { type Document, formatMarkdown, formatText } from '#lib/console/document.ts'
import { formatMarkdownText } from '#lib/console/markdown-text.ts'
import { paintColours, paintNothing } from '#lib/console/paint.ts'
import { parseMarkdown } from '#lib/console/parse-markdown.ts'
import { displayWidth, splitWidth, wrap } from '#lib/console/text-width.ts'

const told = (text: string, width?: number) => formatMarkdownText(text, paintNothing, width)

t.test('headings, paragraphs and code', async t => {
  t.equal(
    told('# 200: `GET /`\n\nText.\n\n## Part\n\n### Detail\n\nMore `of` it.\n\n```json\n{\n\t"a": 1\n}\n```\n', 20),
    ['200: GET /\n', 'Text.\n', 'Part ───────────────', 'Detail', 'More of it.\n', '  {', '    "a": 1', '  }\n'].join(
      '\n',
    ),
  )
  t.equal(told('## Part'), `Part ${'─'.repeat(75)}\n`)
  t.equal(told('## Part', 300), `Part ${'─'.repeat(115)}\n`)
  t.equal(told('```text\nnever ended'), '  never ended\n')
  t.equal(formatMarkdownText('# Failed', paintColours, 80, 'error'), '\u001b[31mFailed\u001b[39m\n')
})

t.test('the line of a source that is meant stands out, and long ones are cut', async t => {
  const source = '```ts\n    7 | calm()\n>   8 | fail(with, many, arguments)\n```\n'
  t.equal(told(source), '      7 | calm()\n  >   8 | fail(with, many, arguments)\n')
  t.equal(told(source, 24), '      7 | calm()\n  >   8 | fail(with, ma…\n')
  t.match(formatMarkdownText(source, paintColours), '\u001b[31m>   8 | fail')
  t.equal(told('```text\none two three four five\n```', 20), '  one two three four\n  five\n', 'other texts are whole')
})

t.test('names and values stand in columns', async t => {
  t.equal(
    told('- Token: `abc`, pinned\n- Duration: 12 ms\n- Sub-request `def` 404\n- … and 3 more\n'),
    'Token        abc, pinned\nDuration     12 ms\nSub-request  def 404\n             … and 3 more\n',
  )
  t.equal(told('- `host`: `a: b`\n- `x`: (empty)\n'), 'host  a: b\nx     (empty)\n')
  t.equal(
    told(`- \`a\`: ${'word '.repeat(8)}\n- \`long\`: x\n`, 30),
    'a     word word word word word\n      word word word\nlong  x\n',
  )
})

t.test('lists within lists are trees', async t => {
  const tree = [
    '- `request` 1.500 ms (own 1 ms); threw',
    '  - `First` 0.200 ms; priority 2',
    '    - sub-request `abc` 12.1 ms',
    '  - `Second` not over',
    '- `response` 10.000 ms',
    '  - `Last`',
    '    - `Only`',
  ].join('\n')
  t.equal(
    told(tree),
    [
      'request               1.500 ms  (own 1 ms); threw',
      '├ First               0.200 ms  priority 2',
      '│ └ sub-request abc    12.1 ms',
      '└ Second             not over',
      'response             10.000 ms',
      '└ Last',
      '  └ Only',
      '',
    ].join('\n'),
  )
  t.match(formatMarkdownText(tree, paintColours), '\u001b[31mthrew')
})

t.test('what lines begin with stands in columns', async t => {
  t.equal(
    told('- +1.0 ms error `app` `Lost.` at `a.ts:1`\n  - context: `{}`\n- +12.0 ms info `router` `Found.`\n'),
    '+1.0 ms error  app     Lost. at a.ts:1\n└ context: {}\n+12.0 ms info  router  Found.\n',
  )
  t.equal(
    told('- `GET` `http://a/`: 200\n- `DELETE` `http://b/`: 500; failed\n'),
    'GET     http://a/: 200\nDELETE  http://b/: 500; failed\n',
  )
  t.equal(told('- `first()` at `a.ts:1`\n- `it()` at `b.ts:2`\n'), 'first()  at a.ts:1\nit()     at b.ts:2\n')
  t.equal(told('- `only`\n- text\n- \n'), 'only\ntext\n\n')
  t.match(formatMarkdownText('- +1 ms warning `app` `Odd.`\n', paintColours), '\u001b[33m+1 ms warning\u001b[39m')
})

t.test('a name that is too long stands out of its column, and what belongs to it below', async t => {
  t.equal(
    told(`- \`${'n'.repeat(30)}\` at \`a.ts:1\`\n- \`f\` at \`b.ts:2\`\n`, 40),
    `${'n'.repeat(30)}\n    at a.ts:1\nf  at b.ts:2\n`,
  )
})

t.test('a text is wrapped at spaces; what has none is cut', async t => {
  const put = (text: string, width: number, indent = 0) =>
    wrap([{ text, tone: 'plain' }], { indent, width, paint: paintNothing })
  t.equal(put('one two three four', 18), 'one two three four')
  t.equal(put('one two three four', 17), 'one two three\nfour')
  t.equal(put('  one   two', 40), '  one   two')
  t.equal(put('one two three four', 24, 8), 'one two three\n        four')
  t.equal(put(`a ${'x'.repeat(40)}`, 20), `a ${'x'.repeat(18)}\n${'x'.repeat(20)}\nxx`)
  t.equal(put(`twelve letter ${'x'.repeat(40)}`, 20), `twelve letter\n${'x'.repeat(20)}\n${'x'.repeat(20)}`)
  t.equal(put('漢'.repeat(20), 21), `${'漢'.repeat(10)}\n${'漢'.repeat(10)}`)
  t.strictSame(splitWidth('漢字', 3, 2), ['漢', '字'])
  t.strictSame(splitWidth('漢字', 4, 2), ['漢字'])
  t.strictSame(splitWidth('漢字', 0, 4), ['', '漢字'])
  t.strictSame(splitWidth('', 0, 4), [''])
  const painted = wrap(
    [
      { text: 'one two ', tone: 'error' },
      { text: 'three', tone: 'ok' },
    ],
    { indent: 0, width: 16, paint: paintColours },
  )
  t.equal(painted, '\u001b[31mone two \u001b[39m\u001b[32mthree\u001b[39m')
})

/** As many characters as have room, tried one after the other, and then the same with what is left. */
function splitSlowly(text: string, first: number, width: number): string[] {
  const graphemes = Array.from(new Intl.Segmenter('en').segment(text), ({ segment }) => segment)
  let count = 0
  while (count < graphemes.length && displayWidth(graphemes.slice(0, count + 1).join('')) <= first) count++
  const start = graphemes.slice(0, count).join('')
  return count === graphemes.length ? [text] : [start, ...splitSlowly(text.slice(start.length), width, width)]
}

t.test('a text is cut as if each character had been tried', async t => {
  const pieces = fc.constantFrom(
    'a',
    ' ',
    '漢',
    '👍🏽',
    '👨‍👩‍👧',
    '🇩🇪',
    '❤️',
    '\u0308',
    '\u200b',
    '\u200d',
    '\ud800',
    'क्ष',
  )
  const some = fc.array(fc.oneof(pieces, fc.string({ unit: 'binary' })), { maxLength: 8 }).map(texts => texts.join(''))
  const times = fc.oneof(fc.constant(1), fc.nat(20))
  const property = fc.property(fc.nat(600), some, times, fc.nat(9), fc.integer({ min: 2, max: 60 }), (...draw) => {
    const [before, text, times, first, width] = draw
    const long = 'é'.repeat(before) + text.repeat(times)
    assert.deepEqual(splitWidth(long, first, width), splitSlowly(long, first, width))
  })
  t.doesNotThrow(() => fc.assert(property, { numRuns: 40 }))
})

/** How many characters are segmented, or tested by a pattern, while something is done. */
function countCharacters(act: () => void): number {
  const { segment } = Intl.Segmenter.prototype
  const { test } = RegExp.prototype
  let count = 0
  Intl.Segmenter.prototype.segment = function (text) {
    count += text.length
    return segment.call(this, text)
  }
  RegExp.prototype.test = function (text) {
    count += text.length
    return test.call(this, text)
  }
  try {
    act()
  } finally {
    Object.assign(Intl.Segmenter.prototype, { segment })
    Object.assign(RegExp.prototype, { test })
  }
  return count
}

t.test('a text that is twice as long has twice as many characters to be looked at', async t => {
  const count = (text: string) =>
    countCharacters(() => wrap([{ text, tone: 'plain' }], { indent: 0, width: 80, paint: paintNothing }))
  for (const unit of ['x', '😀', '漢 ', 'é', '😀x ', 'e\u0301', '\u0301', '\u200d😀']) {
    const [some, twice] = [count(unit.repeat(2_000)), count(unit.repeat(4_000))]
    t.ok(some >= 2_000, `${unit}: ${some} characters`)
    t.ok(twice < 2.2 * some, `${unit}: then ${twice}`)
  }
})

const piece = fc.oneof(
  fc.constantFrom('`', '``', ' ', '- ', '# ', '  - ', '\n', ': ', '```', '漢', ' 1.5 ms'),
  fc.string(),
)
const texts = fc.array(piece, { maxLength: 30 }).map(pieces => pieces.join(''))

t.test('nothing but text reaches the terminal, and no line is wider than it', async t => {
  const check = (text: string, width: number) => {
    for (const line of told(text, width).split('\n')) {
      assert.doesNotMatch(line, /\p{Cc}|\p{Bidi_Control}|[\u2028\u2029]/u)
      assert.ok(displayWidth(line) <= width, `${displayWidth(line)} ${JSON.stringify(line)}`)
    }
  }
  t.doesNotThrow(() => fc.assert(fc.property(texts, fc.integer({ min: 40, max: 120 }), check), { numRuns: 500 }))
})

t.test('a code span is read as it was written', async t => {
  const property = fc.property(texts, text => {
    const [line] = parseMarkdown(`a ${toSpan(text)} b`)
    const expected = text === '' ? undefined : /^ +$/.test(text) ? undefined : text
    if (expected === undefined || /[\p{C}\u2028\u2029]/u.test(text) || text.length > 400) return
    assert.deepStrictEqual(line, {
      kind: 'paragraph',
      line: [
        { text: 'a ', isCode: false },
        { text: expected, isCode: true },
        { text: ' b', isCode: false },
      ],
    })
  })
  t.doesNotThrow(() => fc.assert(property, { numRuns: 500 }))
})

t.test('as Markdown it stays as it is', async t => {
  const document: Document = { blocks: [{ kind: 'markdown', text: '# Title\n\n- `a`: b\n', tone: 'ok' }], json: null }
  t.equal(formatMarkdown(document), '# Title\n\n- `a`: b\n')
  t.equal(formatText(document, paintNothing), 'Title\n\na  b\n')
})
