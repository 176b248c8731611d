import { createRequire } from 'node:module'
import { isLikePostgres } from '../sql/tokens.ts'

/** The kind of a piece of source. Plain text has none. */
export type TokenKind = '' | 'keyword' | 'name' | 'type' | 'string' | 'number' | 'comment'

/** A piece of one line of source. */
export interface Token {
  readonly kind: TokenKind
  readonly text: string
}

/**
 * Splits each line of TypeScript or JavaScript into tokens. In any other file each line is one token.
 * The texts of a line's tokens add up to the line. They are plain texts: a template has to escape them.
 */
export function highlightSource(file: string, lines: readonly string[]): Token[][] {
  if (!/\.[cm]?[jt]sx?$/.test(file)) return lines.map(text => [{ kind: '', text }])
  return highlight('typescript', lines.join('\n'))
}

/** Splits each line of an SQL statement of a system into tokens, as {@link highlightSource} does for a source. */
export function highlightSql(statement: string, system: string): Token[][] {
  // The other grammar reads $1 as two tokens.
  return highlight(isLikePostgres(system) ? 'pgsql' : 'sql', statement)
}

/** The grammars in use. */
type Language = 'typescript' | 'sql' | 'pgsql'

function highlight(language: Language, source: string): Token[][] {
  const { value } = findHighlighter(language).highlight(source, { language, ignoreIllegals: true })
  return toLines(readTokens(value))
}

/** The used part of highlight.js. Its own types would add the types of browsers to every file. */
interface Highlighter {
  newInstance(): Highlighter
  registerLanguage(name: string, grammar: unknown): void
  configure(options: { readonly classPrefix: string }): void
  highlight(source: string, options: { readonly language: string; readonly ignoreIllegals: boolean }): { value: string }
}

/** Loaded with the first source of a language, because most processes never show one. */
const highlighters = new Map<Language, Highlighter>()

function findHighlighter(language: Language): Highlighter {
  const known = highlighters.get(language)
  if (known !== undefined) return known
  const require = createRequire(import.meta.url)
  // `require` gives no type.
  const core = require('highlight.js/lib/core') as Highlighter
  const highlighter = core.newInstance()
  highlighter.registerLanguage(language, require(`highlight.js/lib/languages/${language}`))
  highlighter.configure({ classPrefix: '' })
  highlighters.set(language, highlighter)
  return highlighter
}

/** The grammar has more kinds than a reader needs. */
const kinds: Readonly<Record<string, TokenKind>> = {
  keyword: 'keyword',
  literal: 'keyword',
  variable: 'keyword',
  title: 'name',
  built_in: 'type',
  type: 'type',
  string: 'string',
  regexp: 'string',
  number: 'number',
  comment: 'comment',
  doctag: 'comment',
  subst: '',
}

/** Parses the output of highlight.js: escaped text, and `<span class="…">` elements. */
function* readTokens(html: string): Generator<Token> {
  const open: TokenKind[] = []
  for (const [piece, scope] of html.matchAll(/<span class="([^" ]*)[^"]*">|<\/span>|[^<]+/g)) {
    const around = open.at(-1) ?? ''
    if (scope !== undefined) open.push(kinds[scope] ?? around)
    else if (piece === '</span>') open.pop()
    else yield { kind: around, text: decodeEntities(piece) }
  }
}

const entities: Readonly<Record<string, string>> = {
  '&amp;': '&',
  '&lt;': '<',
  '&gt;': '>',
  '&quot;': '"',
  '&#x27;': "'",
}

function decodeEntities(text: string): string {
  return text.replace(/&[^;]+;/g, entity => entities[entity] ?? entity)
}

/** Splits tokens at line breaks: comments and template literals may have several lines. */
function toLines(tokens: Iterable<Token>): Token[][] {
  let line: Token[] = []
  const lines = [line]
  for (const { kind, text } of tokens) {
    for (const [index, part] of text.split('\n').entries()) {
      if (index > 0) {
        line = []
        lines.push(line)
      }
      if (part !== '') line.push({ kind, text: part })
    }
  }
  return lines
}
