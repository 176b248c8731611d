import type { ShownProfile } from '../insight/relatives.ts'

/** What a reader does not see, or sees elsewhere than it stands: control characters and those that turn the direction. */
const invisible = /[\p{Cc}\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/gu

const spanLimit = 500
const blockLimit = 8000

/**
 * Writes a recorded text as a code span (CommonMark 0.31, section 6.1) on one line: nothing in it can be read as
 * structure, as its fence is longer than any run of backticks within. Long ones are cut.
 */
export function toSpan(text: string): string {
  if (text === '') return '(empty)'
  const line = cut(text, spanLimit).replace(invisible, toEscape)
  const fence = '`'.repeat(longestRun(line) + 1)
  // One space at each end is not part of it.
  const space = /^[` ]|[` ]$/.test(line) ? ' ' : ''
  return `${fence}${space}${line}${space}${fence}`
}

/** Writes a recorded value as a code span: texts as they are, everything else as JSON. */
export function toValueSpan(value: unknown): string {
  return toSpan(typeof value === 'string' ? value : (JSON.stringify(value) ?? ''))
}

/** Writes a recorded text of many lines as a fenced code block (CommonMark 0.31, section 4.5). Long ones are cut. */
export function toBlock(text: string, language = 'text'): string {
  const lines = cut(text, blockLimit)
    .replace(/\r\n?/g, '\n')
    .replace(invisible, character => (character === '\n' || character === '\t' ? character : toEscape(character)))
  const fence = '`'.repeat(Math.max(2, longestRun(lines)) + 1)
  return `${fence}${language}\n${lines}\n${fence}`
}

/** Writes a recorded value as a block of indented JSON. */
export function toJsonBlock(value: unknown): string {
  return toBlock(JSON.stringify(value, undefined, 2) ?? '', 'json')
}

/** Writes items of a list, one a line, as far as there is room for them. */
export function toList<item>(items: readonly item[], limit: number, write: (item: item) => string): string {
  const lines = items.slice(0, limit).map(item => `- ${write(item)}`)
  if (items.length > limit) lines.push(`- … and ${(items.length - limit).toLocaleString('en')} more`)
  return lines.join('\n')
}

function cut(text: string, limit: number): string {
  const formed = text.toWellFormed()
  return formed.length <= limit ? formed : `${formed.slice(0, limit).toWellFormed()}…`
}

function longestRun(text: string): number {
  return Math.max(0, ...(text.match(/`+/g) ?? []).map(({ length }) => length))
}

const escapes: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' }

function toEscape(character: string): string {
  return escapes[character] ?? `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}

/** A part of a record as Markdown. */
export interface Section {
  /** The panel that shows the same. */
  readonly panel: string
  /** What is said when it has no blocks, where that is news. */
  readonly nothing?: string
  /** Its blocks, the headings (from level 2) among them; none where nothing was recorded. `limit` is that of its lists. */
  write(subject: ShownProfile, limit: number): readonly string[]
}
