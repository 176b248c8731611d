import { readdirSync, readFileSync, statSync } from 'node:fs'
import path from 'node:path'
import { t } from 'tap'

/** A set of files, and which of their texts a user reads. */
interface Room {
  /** Files and folders. */
  readonly places: readonly string[]
  /** How the names of its files end. */
  readonly endings: readonly string[]
  /** Takes the text of a file, and leaves only what users read: the rest becomes blanks, so that line numbers stay. */
  readonly toShown: (text: string) => string
}

const documents: Room = {
  places: ['README.md', 'SECURITY.md', 'CONTRIBUTING.md', 'docs', 'tests/README.md', 'bench/README.md'],
  endings: ['.md'],
  toShown: text => blank(text, /^```[\s\S]*?^```$|`[^`\n]+`|\]\([^)]*\)/gm),
}

/** The rooms whose texts use the words of the glossary. */
const namedRooms: readonly Room[] = [documents]

/** The rooms that are written in plain English, comments and names of tests included. */
const plainRooms: readonly Room[] = [documents]

/** Words of the dialect that plain English avoids. */
const dialect = ['told', 'tells', 'tell', 'nobody', 'whoever', 'somebody', 'what is not', 'one who', 'those who']

/** Files that quote the words which they explain. */
const quotes = [
  'docs/reference/glossary.md',
  'CONTRIBUTING.md',
  'docs/decisions/012-segmented-store.md',
  'docs/decisions/019-reading-records-softly.md',
  'docs/decisions/044-log-lines-without-a-package.md',
]

/** Phrases in which an excluded word means something else. */
const exceptions = ['event subscriber', 'TypeScript plugin', 'lib/redact/']

t.test('documents and screens use the words of the glossary', async t => {
  const excluded = readExcludedWords()
  t.ok(excluded.includes('outgoing request'), 'the words are found')
  t.strictSame(
    namedRooms.flatMap(room => findOffenders(room, excluded, room.toShown)),
    [],
  )
})

t.test('sources, screens and documents are written in plain English', async t => {
  t.strictSame(
    plainRooms.flatMap(room => findOffenders(room, dialect, text => text)),
    [],
  )
})

/** Reads the column "Not" of the glossary. */
function readExcludedWords(): string[] {
  const rows = readFileSync('docs/reference/glossary.md', 'utf8').matchAll(/^\| [^|]+ \| [^|]+ \|([^|\n]+)\|$/gm)
  return Array.from(rows, ([, words = '']) => words.split(',').map(word => word.trim()))
    .flat()
    .filter(word => word !== '' && word !== 'Not' && word !== '---')
}

/** Finds excluded words, as `file:line: word`. */
function findOffenders(room: Room, words: readonly string[], toText: (text: string) => string): string[] {
  const pattern = new RegExp(`\\b(?:${words.join('|')})\\b`, 'gi')
  const files = room.places.flatMap(place => listFiles(place, room.endings)).filter(file => !quotes.includes(file))
  return files.flatMap(file => {
    const text = blank(toText(readFileSync(file, 'utf8')), new RegExp(exceptions.join('|'), 'gi'))
    const lineOf = (index: number) => text.slice(0, index).split('\n').length
    return Array.from(text.matchAll(pattern), ({ 0: word, index }) => `${file}:${lineOf(index)}: ${word}`)
  })
}

function listFiles(place: string, endings: readonly string[]): string[] {
  if (!statSync(place).isDirectory()) return [place]
  const files = readdirSync(place, { recursive: true, encoding: 'utf8' })
  return files.map(file => path.join(place, file)).filter(file => endings.some(ending => file.endsWith(ending)))
}

/** Replaces what a pattern finds by blanks. */
function blank(text: string, pattern: RegExp): string {
  return text.replace(pattern, found => found.replace(/[^\n]/g, ' '))
}
