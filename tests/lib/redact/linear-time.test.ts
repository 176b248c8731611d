import { t } from 'tap'
import * as children from '#lib/redact/mask-child-words.ts'
import * as markup from '#lib/redact/mask-markup.ts'
import * as pairs from '#lib/redact/mask-pairs.ts'
import * as quoted from '#lib/redact/mask-quoted-values.ts'
import * as tables from '#lib/redact/mask-tables.ts'
import * as texts from '#lib/redact/mask-text.ts'
import * as copier from '#lib/redact/masking-copier.ts'
import * as prose from '#lib/redact/prose.ts'
import * as redactors from '#lib/redact/redactor.ts'
import * as scans from '#lib/redact/scan.ts'
import * as forms from '#lib/redact/secret-forms.ts'
import * as names from '#lib/redact/secret-names.ts'
import * as trees from '#lib/redact/value-tree.ts'
import * as finders from '#lib/text/word-finder.ts'
import { pieces } from '#tests/fixtures/masking-pieces.ts'
import { fill, findGrowth, growthLimit } from '#tests/support/growth.ts'
import { provenSample, sampleOf } from '#tests/support/sample.ts'

const { isSecretName } = names
const bounds = { depth: 5, entries: 1000, text: 1e9 }

/** Each has empty memos. */
function createRedactor() {
  const redactor = new redactors.Redactor({ APP_SECRET: 'a-long-secret', DATABASE_URL: 'pg://a:b@c' })
  redactor.reveal(['shown'])
  return redactor
}

/** What an object with the text in each place is for these functions. */
const objectOf = (text: string) => ({ [text]: text, message: text, path: ['password', text], name: text, value: text })

const pairOf = (text: string) =>
  ({ text, name: text, start: text.length, quote: '', position: 'line', before: '', separator: ':', from: 0 }) as const

/** Calls of each exported function with a text. */
const calls: Readonly<Record<string, readonly ((text: string) => unknown)[]>> = {
  WordFinder: [text => new finders.WordFinder(['ab¦b']).find(text, [])],
  createFinder: [() => forms.createFinder('')],
  findWords: [text => forms.findWords(text, [])],
  quoteAt: [text => scans.quoteAt(text, 0)],
  findQuoteEnd: [`"`, `'`, `\\"`].map(quote => text => scans.findQuoteEnd(text, 0, quote)),
  findGroupEnd: [text => scans.findGroupEnd(text, 0)],
  findLineEnd: [true, false].map(endsAtPair => text => scans.findLineEnd(text, 0, endsAtPair)),
  findWordEnd: [true, false].map(is => text => scans.findWordEnd(text, 0, is, !is)),
  skip: [text => scans.skip(/a*/y, text, 0)],
  maskQuotedValues: [text => quoted.maskQuotedValues(text, 'select a')],
  maskPairs: [text => pairs.maskPairs(text, isSecretName)],
  maskText: [texts.maskText],
  maskForms: [text => forms.maskForms(text, isSecretName, -1)],
  decodeCharacters: [text => markup.decodeCharacters(text)],
  maskMarkup: [text => markup.maskMarkup(text, createRedactor())],
  stripColors: [texts.stripColors],
  isUrl: [texts.isUrl],
  maskUrl: [text => texts.maskUrl(`/a?${text}`, isSecretName, part => part)],
  maskSource: [texts.maskSource],
  MaskingCopier: [
    text => new copier.MaskingCopier(createRedactor(), bounds).value(text, objectOf(text)),
    text => new copier.MaskingCopier(createRedactor(), bounds).value('', new Map([[text, [text]]])),
  ],
  namingOf: [text => copier.namingOf(text, [text, text], true)],
  isNamedBefore: [
    text => copier.isNamedBefore(text, text, createRedactor(), 'said'),
    text => copier.isNamedBefore('password:', text, createRedactor(), 'item'),
  ],
  maskChildWords: [text => children.maskChildWords([text, `-p${text}`, ...text.split(' ')])],
  maskLinks: [text => texts.maskLinks(`https://h/${text}`), texts.maskLinks],
  looksRandom: [texts.looksRandom],
  maskCommandLine: [text => copier.maskCommandLine([text, `-p${text}`, text], createRedactor())],
  isNote: [copier.isNote],
  isList: [copier.isList],
  classOf: [text => copier.classOf({ text })],
  functionName: [copier.functionName],
  propertiesOf: [text => [...copier.propertiesOf(objectOf(text), createRedactor())]],
  itemsOf: [text => [...copier.itemsOf(['token:', text], 'said', createRedactor())]],
  pairsOf: [text => [...copier.pairsOf(new Map([[text, text]]))]],
  readData: [text => names.readData(objectOf(text), text)],
  decodePart: [texts.decodePart],
  readOwn: [
    text => copier.readOwn({ path: text, spawnargs: [text, `-p${text}`] }, 'spawnargs', [], createRedactor()),
    text => copier.readOwn({ query: text, variables: { [text]: text } }, 'variables', [], createRedactor()),
    text => copier.readOwn({ columns: [text], rows: [[text]] }, 'rows', [], createRedactor()),
  ],
  maskAndCut: [text => copier.maskAndCut(text, 1e9, createRedactor())],
  cut: [text => copier.cut(text, text.length - 1)],
  Redactor: [
    text => createRedactor().text(text),
    text => createRedactor().text(`/a?${text}`),
    text => createRedactor().isSecret(text),
    text => createRedactor().source(text),
    text => createRedactor().commandLine(['--password', text, text]),
    text => new redactors.Redactor({ PATH: text, APP_SECRET: text, [text]: text }).environment(),
  ],
  isSecretName: [isSecretName],
  secretsUnder: [text => names.secretsUnder(objectOf(text), isSecretName)],
  isSecretBeside: [text => names.isSecretBeside('variables', new Map([['query', text]]))],
  secretVariables: [text => names.secretVariables(text, isSecretName)],
  maskElements: [text => markup.maskElements(text, isSecretName)],
  namesIn: [text => names.namesIn(text, 'value')],
  placesOf: [text => pairs.placesOf(text, new Set(['a', 'token']))],
  isNoName: [text => prose.isNoName(pairOf(text))],
  isAdvice: [prose.isAdvice],
  isFact: [text => prose.isFact(text, text)],
  isPlace: [text => prose.isPlace(pairOf(text), 0)],
  isProse: [text => prose.isProse(pairOf(text), 0)],
  isPublic: [text => prose.isPublic(pairOf(text), 0)],
  opensProse: [text => prose.opensProse(text, 0)],
  maskColumns: [
    text =>
      tables.maskColumns(
        text,
        isSecretName,
        [...text.matchAll(/en/g)].map(({ index }) => index),
      ),
  ],
  maskIssue: [text => names.maskIssue({ ...objectOf(text), input: text }, isSecretName)],
  hideInputs: [text => names.hideInputs(text, [text, objectOf(text)])],
  maskInputs: [text => names.maskInputs(text, [{ ...objectOf(text), input: text }], isSecretName)],
  describeTree: [text => trees.describeTree(objectOf(text), createRedactor(), { bounds })],
  describeTrees: [text => trees.describeTrees(['token:', text, objectOf(text)], createRedactor(), { bounds })],
  formatTree: [
    text => trees.formatTree({ kind: 'object', text, entries: [{ name: text, value: { kind: 'text', text } }] }),
  ],
}

/** Long texts of a piece: alone, behind another long text, and with a beginning or an end. */
const shapes: readonly ((piece: string, length: number) => string)[] = [
  (piece, length) => fill(piece, length),
  (piece, length) => fill('a', length / 2) + fill(piece, length / 2),
  (piece, length) => fill(piece, length / 2) + fill(' ', length / 2),
  (piece, length) => `password="${fill(piece, length)}`,
  (piece, length) => `{"a":"${fill(piece, length)}\\`,
  (piece, length) => `${fill(piece, length)}=[`,
]

const all = shapes.flatMap((shape, number) => pieces.map(piece => ({ shape, piece, number })))
/** The texts that have taken quadratic time once. */
const slowOnce = ['key', 'key=(', 'mysql login(password:$a)', 'password=', "token='"]
const known = all.filter(({ number, piece }) => number < 2 && slowOnce.includes(piece))

t.test('the table has each function of lib/redact that others call', async t => {
  const exported = [
    children,
    quoted,
    finders,
    forms,
    markup,
    pairs,
    prose,
    scans,
    texts,
    copier,
    redactors,
    names,
    tables,
    trees,
  ].flatMap(module => Object.entries(module).flatMap(([name, value]) => (typeof value === 'function' ? [name] : [])))
  t.strictSame(exported.sort(), Object.keys(calls).sort())
})

t.test('a text that is twice as long takes twice as long', async t => {
  const slow = Object.entries(calls).flatMap(([name, list]) =>
    list.flatMap((call, index) =>
      [...known, ...provenSample(sampleOf(all, 100), 3)].flatMap(({ number, piece, shape }) => {
        const growth = findGrowth(call, length => shape(piece, length))
        return growth < growthLimit ? [] : [`${name} ${index}, shape ${number} of ${JSON.stringify(piece)}: ${growth}`]
      }),
    ),
  )
  t.strictSame(slow, [])
})
