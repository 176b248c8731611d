import { createRequire } from 'node:module'

/** What a piece of source is; plain text has no kind. */
export type TokenKind = '' | 'keyword' | 'name' | 'type' | 'string' | 'number' | 'comment'

/** A piece of one line of source. */
export interface Token {
  readonly kind: TokenKind
  readonly text: string
}

/**
 * Tells the tokens of each line of an excerpt of TypeScript or JavaScript; of any other file a line is one token. The
 * texts of a line's tokens are the line. They are plain texts, to be escaped by whoever writes them into a page.
 */
export function highlightSource(file: string, lines: readonly string[]): Token[][] {
  if (!/\.[cm]?[jt]sx?$/.test(file)) return lines.map(text => [{ kind: '', text }])
  highlighter ??= loadHighlighter()
  const { value } = highlighter.highlight(lines.join('\n'), { language: 'typescript', ignoreIllegals: true })
  return toLines(readTokens(value))
}

/** What is used of highlight.js: its own types bring those of browsers into every file of the project. */
interface Highlighter {
  newInstance(): Highlighter
  registerLanguage(name: string, grammar: unknown): void
  configure(options: { readonly classPrefix: string }): void
  highlight(source: string, options: { readonly language: string; readonly ignoreIllegals: boolean }): { value: string }
}

/** Loaded when it is needed first: most processes never show a source. */
let highlighter: Highlighter | undefined

function loadHighlighter(): Highlighter {
  const require = createRequire(import.meta.url)
  // What it exports is not typed otherwise.
  const core = require('highlight.js/lib/core') as Highlighter
  const instance = core.newInstance()
  instance.registerLanguage('typescript', require('highlight.js/lib/languages/typescript'))
  instance.configure({ classPrefix: '' })
  return instance
}

/** What the grammar distinguishes is more than a reader wants to. */
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

/** Reads what highlight.js writes: escaped text within `<span class="…">`, and nothing else. */
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
  return text.replace(/&[^;]+;/g, entity => String(entities[entity]))
}

/** Comments and templates may go over several lines. */
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
