import { existsSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { t } from 'tap'
import { readDecisions } from './support/decisions.ts'
import { readRows } from './support/markdown.ts'

/** The documents in and below these folders. */
function listDocuments(...folders: string[]): string[] {
  const names = folders.flatMap(folder =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' }).map(name => path.join(folder, name)),
  )
  return names.filter(file => file.endsWith('.md') && !/(?:^|\/)(?:node_modules|\.tap)\//.test(file))
}

const documents = listDocuments('docs')

/** The documents of the package. Those of the repository alone may link to everything. */
const packed = [...documents.filter(isPacked), 'README.md', 'SECURITY.md', 'CHANGELOG.md']

const all = [
  ...new Set([...packed, ...documents]),
  'CONTRIBUTING.md',
  ...listDocuments('bench', 'bundles', 'kernel', 'lib', 'tests'),
]

t.test('links lead to files and headings, in a package to its own', async t => {
  const links = all.flatMap(linksOf)
  t.ok(links.length > 200, 'links are found')
  const broken = links.filter(({ anchor, document, file, isPicture }) => {
    if (!existsSync(file)) return true
    // A page of the repository shows the pictures of the README.
    if (packed.includes(document) && !isPicture && !isPacked(file)) return true
    return anchor !== '' && !anchorsOf(file).includes(anchor)
  })
  t.strictSame(broken, [])
})

t.test('documents and skeletons declare routes by methods; `routes.add` is for further properties', async t => {
  const examples = ['docs/examples', 'bundles/maker/skeletons'].flatMap(folder =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter(name => /\.ts(?:\.txt)?$/.test(name))
      .map(name => path.join(folder, name)),
  )
  const further = /\b(?:requirements|defaults|host|schemes|condition|priority|aliases|methods: \[method\])/
  const plain = [...packed, ...examples].flatMap(file => {
    const declared = readFileSync(file, 'utf8').match(/routes\.add\(\{[\s\S]*?\}\)(?=\n|`)/g) ?? []
    return declared.filter(text => !further.test(text)).map(text => `${file}: ${text}`)
  })
  t.strictSame(plain, [])
})

t.test('the index leads to all documents', async t => {
  const indexes = ['docs/README.md', 'docs/decisions/README.md']
  const listed = [...indexes, ...indexes.flatMap(linksOf).map(({ file }) => file)]
  t.strictSame(
    documents.filter(file => !listed.includes(file)),
    [],
  )
})

t.test('a decision has a number of its own, a reason to change, and at most five lines', async t => {
  const decisions = readDecisions()
  t.ok(decisions.length > 80, 'decisions are found')
  const numbers = decisions.map(({ number }) => number)
  const wrong = decisions.filter(
    ({ lines, number }, index) =>
      !/^\d{3}$/.test(number) ||
      numbers.indexOf(number) < index ||
      lines.length > 5 ||
      lines.some(line => line.length > 140) ||
      !lines.join(' ').includes('**Would change it:** '),
  )
  t.strictSame(
    wrong.map(({ anchor }) => anchor),
    [],
  )
})

t.test('each expectation has an answer, which begins with a word of the list', async t => {
  const text = readFileSync('docs/reference/expectations.md', 'utf8')
  const words = Array.from(text.matchAll(/^- \*\*(\w+)\*\*/gm), ([, word]) => String(word))
  const rows = readRows(text)
  t.ok(words.length > 3 && rows.length > 70, 'words and rows are found')
  t.strictSame(
    rows.filter(([, answer = '']) => !words.includes(String(/^\w+/.exec(answer)))),
    [],
  )
})

/** A link of a document to a file of the project. */
interface DocumentLink {
  readonly document: string
  readonly file: string
  /** The heading; empty for the whole file. */
  readonly anchor: string
  readonly isPicture: boolean
}

/** The links of a document, outside of its code. */
function linksOf(document: string): DocumentLink[] {
  const text = withoutCode(readFileSync(document, 'utf8')).replace(/`[^`\n]+`/g, '')
  return Array.from(
    text.matchAll(/(!?)\[[^\]]*\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)/g),
    ([, mark, target = '', anchor = '']) => ({
      document,
      file: target === '' ? document : path.join(path.dirname(document), target),
      anchor,
      isPicture: mark === '!',
    }),
  )
}

function isPacked(file: string): boolean {
  const { files } = JSON.parse(readFileSync('package.json', 'utf8')) as { readonly files: readonly string[] }
  const isIn = (name: string) => file === name || file.startsWith(`${name}/`)
  const excluded = files.filter(name => name.startsWith('!')).map(name => name.slice(1))
  // npm packs these without being asked.
  return [...files, 'README.md', 'LICENSE'].some(isIn) && !excluded.some(isIn)
}

/** The anchors that sites such as GitHub make of headings. */
function anchorsOf(file: string): string[] {
  const seen = new Map<string, number>()
  return Array.from(withoutCode(readFileSync(file, 'utf8')).matchAll(/^#+ (.+)$/gm), ([, title = '']) => {
    const anchor = title
      .toLowerCase()
      .replace(/[^\p{Letter}\p{Number}\s_-]/gu, '')
      .replaceAll(' ', '-')
    const count = seen.get(anchor) ?? 0
    seen.set(anchor, count + 1)
    return count === 0 ? anchor : `${anchor}-${count}`
  })
}

function withoutCode(markdown: string): string {
  return markdown.replace(/^```[\s\S]*?^```$/gm, '')
}
