import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import t from 'tap'
import { Redactor } from '#lib/redact/redactor.ts'
import { ordinaryForms } from '#tests/fixtures/ordinary-forms.ts'
import { productForms, quotedForms, tableForms, tokenForms, wordForms } from '#tests/fixtures/secret-forms.ts'

const redactor = new Redactor()
const size = 4

/** Letters and digits that no form and no mask contains: capital letters, small letters and digits take turns. */
const word = fc
  .array(fc.tuple(fc.constantFrom(...'KQWZ'), fc.constantFrom(...'jqvz'), fc.constantFrom(...'3456789')), {
    minLength: 3,
    maxLength: 6,
  })
  .map(parts => parts.flat().join(''))
/** Words with blanks and marks between them, as passwords have them. */
const phrase = fc
  .array(fc.tuple(word, fc.constantFrom(' ', '#', '?', '/', '&', '=', '!', ':')), { minLength: 2, maxLength: 3 })
  .map(parts => parts.flat().slice(0, -1).join(''))
const longWord = fc.array(word, { minLength: 5, maxLength: 6 }).map(words => words.join(''))

const before = fc.constantFrom(
  ...['', 'Error: ', 'TypeError: it has failed: ', '2026-11-23T14:44:23Z ERROR ', '[app] '],
  ...['first line\n', 'the client said '],
)
const after = fc.constantFrom('', ' ', '\nnext line', '\n    at f (/srv/a.ts:1:2)')
/** How a text gets into another one. */
const written = fc.constantFrom<(text: string) => string>(
  text => text,
  text => JSON.stringify({ message: text }),
  text => JSON.stringify({ log: JSON.stringify({ message: text }) }),
  text => `/search?q=${encodeURIComponent(text)}`,
  text => `${'2026-11-23 14:44:23 a line of the log\n'.repeat(30)}${text}`,
)

/** The forms in which a part of the secret survives, each with the masked text. */
function findLeaks(forms: readonly string[], secrets: fc.Arbitrary<string>, runs: number, begins = before): string[] {
  const leaks = new Map<string, string>()
  fc.assert(
    fc.property(fc.constantFrom(...forms), secrets, begins, after, written, (form, secret, before, after, write) => {
      const masked = redactor.text(write(before + form.replaceAll('§', () => secret) + after))
      const fragments = Array.from({ length: secret.length - size + 1 }, (_, at) => secret.slice(at, at + size))
      if (fragments.some(fragment => masked.includes(fragment))) leaks.set(form, masked.slice(-200))
    }),
    { numRuns: runs },
  )
  return [...leaks].map(([form, masked]) => `${form} → ${masked}`)
}

t.test('no four characters of a secret survive, whatever is around it, and however the text is written', async t => {
  for (const [kind, forms] of Object.entries(wordForms))
    t.strictSame(findLeaks(forms, word, 30 * forms.length), [], kind)
})

t.test('no four characters of a secret with blanks and marks survive in quotes, lines and blocks', async t => {
  t.strictSame(findLeaks(quotedForms, phrase, 40 * quotedForms.length), [])
})

t.test('no four characters of a secret survive in a table of lines', async t => {
  const begins = fc.constantFrom('', 'The rows:\n', 'first line\n\n')
  t.strictSame(findLeaks(tableForms, word, 60 * tableForms.length, begins), [])
})

t.test('no four characters of a token of a known provider survive', async t => {
  t.strictSame(findLeaks(tokenForms, longWord, 20 * tokenForms.length), [])
})

t.test('a secret is masked as often as its form occurs', async t => {
  const forms = [...Object.values(wordForms).flat(), ...quotedForms, ...tableForms]
  const leaking = forms.filter(form => {
    const text = form.replaceAll('§', 'Kq3Wz5Zv7')
    return redactor.text(`${text}\n${text}`).includes('Kq3W')
  })
  t.strictSame(leaking, [])
})

t.test('texts of products show no secret: as they are, twice, in JSON, and as the value of a query', async t => {
  const writers = [
    (text: string) => text,
    (text: string) => `${text}\n${text}`,
    (text: string) => JSON.stringify({ message: text }),
    (text: string) => `/search?q=${encodeURIComponent(text)}`,
  ]
  const leaking = productForms.flatMap(form =>
    writers
      .map(write => redactor.text(write(form.replaceAll('§', 'Kq3Wz5Zv7Qj4'))))
      .filter(masked => /Kq3W|z5Zv|7Qj4/.test(masked)),
  )
  t.strictSame(leaking, [])
})

t.test('masking a masked text changes nothing', async t => {
  const forms = [...Object.values(wordForms).flat(), ...quotedForms, ...tableForms, ...productForms]
  const changed = forms.filter(form => {
    const masked = redactor.text(form.replaceAll('§', 'Kq3Wz5Zv7'))
    return redactor.text(masked) !== masked
  })
  t.strictSame(changed, [])
})

t.test('ordinary texts of logs and error messages stay as they are', async t => {
  const lines = readFileSync('tests/fixtures/ordinary-texts.txt', 'utf8').split('\n')
  const kept = lines.filter(line => line !== '' && !line.startsWith('## ')).map(line => line.replaceAll('\\n', '\n'))
  const texts = [...kept, ...ordinaryForms]
  t.ok(texts.length >= 1000, `${texts.length} texts`)
  t.strictSame(
    texts.filter(text => redactor.text(text) !== text).map(text => `${text} → ${redactor.text(text)}`),
    [],
  )
})
