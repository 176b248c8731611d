import { readdirSync, readFileSync, statSync } from 'node:fs'
import path from 'node:path'
import { t } from 'tap'

/** Files and folders that a rule is held against. */
interface Room {
  readonly places: readonly string[]
  /** How the names of its files end. */
  readonly endings: readonly string[]
  /** Leaves only what users read of a file: the rest becomes blanks, so that line numbers stay. */
  readonly toShown: (text: string) => string
}

const documents: Room = {
  places: ['README.md', 'SECURITY.md', 'CONTRIBUTING.md', 'docs', 'tests/README.md', 'bench/README.md'],
  endings: ['.md'],
  toShown: text => blank(text, /^```[\s\S]*?^```$|`[^`\n]+`|\]\([^)]*\)/gm),
}

const templates: Room = {
  places: ['templates'],
  endings: ['.hbs'],
  toShown: text =>
    blank(text, /\{\{[\s\S]*?\}\}|(?<![-\w])(?:class|id|href|src|name|for|value|action|data-[\w-]+)="[^"]*"/g),
}

/** Sources whose texts are on screens, in a terminal or in logs. */
const texts: Room = {
  places: ['bin', 'kernel', 'lib', 'bundles'],
  endings: ['.ts'],
  toShown: text => keepSentences(blank(text, /\/\*[\s\S]*?\*\/|(?<![:'])\/\/.*$/gm)),
}

/** The rooms whose texts use the words of the glossary. */
const namedRooms: readonly Room[] = [documents, templates, texts]

/** The rooms that are written in plain English, comments and names of tests included. */
const plainRooms: readonly Room[] = [
  documents,
  {
    places: [
      'bin',
      'lib',
      'kernel',
      'templates',
      'bundles',
      'tests',
      'bench/bench.js',
      'bench/claims',
      'bench/http',
      '.ci',
    ],
    endings: ['.ts', '.js', '.hbs', '.css', '.md', 'run'],
    toShown: text => text,
  },
]

/** Words of the dialect that plain English avoids. */
const dialect = ['told', 'tells', 'tell', 'nobody', 'whoever', 'somebody', 'what is not', 'one who', 'those who']

/** Files that quote the words which they explain. */
const quotes = ['docs/reference/glossary.md', 'CONTRIBUTING.md', 'tests/glossary.test.ts']

/** Phrases in which an excluded word means something else; headings that recorded behaviour contains (decision 049). */
const exceptions = [
  'event subscriber',
  'early hint',
  'TypeScript plugin',
  'lib/redact/',
  "'nobody'",
  'Record<',
  'Sub Requests?',
]

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
  const all = room.places.flatMap(place => listFiles(place, room.endings))
  const files = all.filter(file => !quotes.includes(file))
  return files.flatMap(file => {
    const text = blank(toText(readFileSync(file, 'utf8')), new RegExp(exceptions.join('|'), 'gi'))
    const lineOf = (index: number) => text.slice(0, index).split('\n').length
    return Array.from(text.matchAll(pattern), ({ 0: word, index }) => `${file}:${lineOf(index)}: ${word}`)
  })
}

function listFiles(place: string, endings: readonly string[]): string[] {
  if (!statSync(place).isDirectory()) return [place]
  const files = readdirSync(place, { recursive: true, encoding: 'utf8' })
  return files
    .map(file => path.join(place, file))
    .filter(file => !file.includes('node_modules/') && endings.some(ending => file.endsWith(ending)))
}

/** Replaces what a pattern finds by blanks. */
function blank(text: string, pattern: RegExp): string {
  return text.replace(pattern, found => found.replace(/[^\n]/g, ' '))
}

/** Replaces all code of a source by blanks: only literals of several words stay, without their expressions. */
function keepSentences(code: string): string {
  let kept = ''
  let end = 0
  for (const { 0: literal, index } of code.matchAll(/'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`/g)) {
    const text = literal.includes(' ') ? blank(literal, /\$\{[^}]*\}/g) : blank(literal, /[^\n]/g)
    kept += blank(code.slice(end, index), /[^\n]/g) + text
    end = index + literal.length
  }
  return kept + blank(code.slice(end), /[^\n]/g)
}
