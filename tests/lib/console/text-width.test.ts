import assert from 'node:assert'
import fc from 'fast-check'
import { t } from 'tap'
import {
  displayWidth,
  fitWidth,
  padWidth,
  paintColours,
  paintNothing,
  splitWidth,
  wrap,
} from '#lib/console/terminal-text.ts'
import { anyCharacter } from '#tests/support/sample.ts'

t.test('a text is as wide as its characters are in a terminal', async t => {
  const cases: [text: string, width: number][] = [
    ['', 0],
    ['plain', 5],
    ['größer', 6],
    ['gro\u0308ßer', 6],
    ['漢字', 4],
    ['ｆｕｌｌ', 8],
    ['한국어', 6],
    ['👍🏽', 2],
    ['👨‍👩‍👧', 2],
    ['🇩🇪', 2],
    ['❤️', 2],
    ['a\u200bb', 2],
    ['\ud800', 1],
  ]
  for (const [text, width] of cases) t.equal(displayWidth(text), width, text)
})

t.test('a text that is too wide is cut, which a … shows', async t => {
  t.equal(fitWidth('partnership', 11), 'partnership')
  t.equal(fitWidth('partnership', 5), 'part…')
  t.equal(fitWidth('lib/http/request.ts:12', 13, 'start'), '…equest.ts:12')
  t.equal(fitWidth('漢字漢字', 5), '漢字…')
  t.equal(fitWidth('漢字漢字', 4), '漢…', 'no half of a character')
  t.equal(fitWidth('漢字', 1), '…')
  t.equal(fitWidth('text', 0), '')
  t.equal(padWidth('漢', 4), '漢  ')
  t.equal(padWidth('7', 3, 'right'), '  7')
  t.equal(padWidth('longer', 3), 'longer')
})

t.test('a text is wrapped at spaces; a long word is cut', async t => {
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

/** The slow version: takes one character after another as long as there is room, then does the same with the rest. */
function splitSlowly(text: string, first: number, width: number): string[] {
  const graphemes = Array.from(new Intl.Segmenter('en').segment(text), ({ segment }) => segment)
  let count = 0
  while (count < graphemes.length && displayWidth(graphemes.slice(0, count + 1).join('')) <= first) count++
  const start = graphemes.slice(0, count).join('')
  return count === graphemes.length ? [text] : [start, ...splitSlowly(text.slice(start.length), width, width)]
}

t.test('a text is split as in the slow version', async t => {
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
  const some = fc
    .array(fc.oneof(pieces, fc.string({ unit: anyCharacter })), { maxLength: 8 })
    .map(texts => texts.join(''))
  const times = fc.oneof(fc.constant(1), fc.nat(20))
  const property = fc.property(fc.nat(600), some, times, fc.nat(9), fc.integer({ min: 2, max: 60 }), (...draw) => {
    const [before, text, times, first, width] = draw
    const long = 'é'.repeat(before) + text.repeat(times)
    assert.deepEqual(splitWidth(long, first, width), splitSlowly(long, first, width))
  })
  t.doesNotThrow(() => fc.assert(property, { numRuns: 40 }))
})

/** Counts the characters that are segmented or tested by a pattern during a call. */
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

t.test('for a text that is twice as long, twice as many characters are looked at', async t => {
  const count = (text: string) =>
    countCharacters(() => wrap([{ text, tone: 'plain' }], { indent: 0, width: 80, paint: paintNothing }))
  for (const unit of ['x', '😀', '漢 ', 'é', '😀x ', 'e\u0301', '\u0301', '\u200d😀']) {
    const [some, twice] = [count(unit.repeat(2_000)), count(unit.repeat(4_000))]
    t.ok(some >= 2_000, `${unit}: ${some} characters`)
    t.ok(twice < 2.2 * some, `${unit}: then ${twice}`)
  }
})
