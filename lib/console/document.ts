import { escapeControls } from '../text/escape-controls.ts'
import type { Paint, TextTone } from './paint.ts'
import { type Cell, type Column, formatFields, formatTable, type Table, textOf } from './table.ts'
import { type Run, wrap } from './text-width.ts'

/** A part of the output of a command, such as a heading, a table or a text. */
export type Block =
  | { readonly kind: 'title'; readonly text: string }
  | { readonly kind: 'text'; readonly text: string; readonly tone?: TextTone }
  | { readonly kind: 'table'; readonly table: Table }
  | { readonly kind: 'fields'; readonly fields: readonly (readonly [name: string, value: Cell])[] }
  /** Lines that stay as they are. */
  | { readonly kind: 'code'; readonly language: string; readonly text: string }
  /** Finished Markdown, in which recorded texts are escaped; `tone` is that of its title. */
  | { readonly kind: 'markdown'; readonly text: string; readonly tone?: TextTone }

/** The result of a command: blocks for people, data for programs. */
export interface Document {
  readonly blocks: readonly Block[]
  /** Data that JSON can hold. */
  readonly json: unknown
}

/** Formats a document as text, for a terminal of `width` columns; without a width nothing is cut or wrapped. */
export function formatForTerminal({ blocks }: Document, paint: Paint, width?: number): string {
  return blocks.map(block => formatBlock(block, paint, width)).join('\n')
}

/** Formats a document as Markdown. */
export function formatMarkdown({ blocks }: Document): string {
  return blocks.map(formatMarkdownBlock).join('\n')
}

/** Formats data as JSON: indented, or as one line. No text in it can control a terminal. */
export function formatJson(value: unknown, isIndented = true): string {
  return `${escapeLines(JSON.stringify(value, null, isIndented ? 2 : 0))}\n`
}

function formatBlock(block: Block, paint: Paint, width: number | undefined): string {
  switch (block.kind) {
    case 'title':
      return `${paint('strong', escapeControls(block.text))}\n`
    case 'text':
      return `${paint(block.tone ?? 'plain', escapeControls(block.text))}\n`
    case 'table':
      return formatTable(block.table, paint, width)
    case 'fields':
      return formatFields(block.fields, paint, width)
    case 'code':
      return `${escapeLines(block.text)}\n`
    case 'markdown':
      return paintMarkdown(block.text, paint, width, block.tone)
  }
}

function escapeLines(text: string): string {
  return text.split('\n').map(escapeControls).join('\n')
}

/** Markdown is readable as it is: lines are only wrapped, and headings and the marked line of a source stand out. */
function paintMarkdown(text: string, paint: Paint, width?: number, tone: TextTone = 'strong'): string {
  const formatLine = (line: string) => {
    const safe = escapeControls(line.replaceAll('\t', '  '))
    // The rest of a long item is indented like its text, the rest of a source line stands behind the line numbers.
    const [indent = ''] = /^(?: *- |[> ] +\d+ \| | {1,20})/.exec(safe) ?? []
    return indent + wrap(toRuns(safe.slice(indent.length), indent, tone), { indent: indent.length, paint, width })
  }
  return text.split('\n').map(formatLine).join('\n')
}

/** The backticks around recorded texts recede. */
function toRuns(text: string, indent: string, titleTone: TextTone): Run[] {
  if (indent.startsWith('>')) return [{ text, tone: 'error' }]
  const [, level] = /^(#{1,6}) /.exec(text) ?? []
  if (level !== undefined) return [{ text, tone: level === '#' ? titleTone : 'strong' }]
  return text.split(/(^`{3,}\w*|`+)/).map(part => ({ text: part, tone: part.startsWith('`') ? 'muted' : 'plain' }))
}

function formatMarkdownBlock(block: Block): string {
  switch (block.kind) {
    case 'title':
      return `## ${escapeMarkdown(escapeControls(block.text))}\n`
    case 'text':
      return `${escapeMarkdown(escapeControls(block.text))}\n`
    case 'table':
      return formatMarkdownTable(block.table)
    case 'fields':
      return block.fields.map(([name, value]) => `- ${name}: ${escapeMarkdown(textOf(value))}\n`).join('')
    case 'code':
      return formatCode(block.text, block.language)
    case 'markdown':
      return block.text
  }
}

/** The fence is longer than any run of backticks in the text. */
function formatCode(text: string, language: string): string {
  const longest = Math.max(2, ...Array.from(text.matchAll(/`+/g), ([run]) => run.length))
  const fence = '`'.repeat(longest + 1)
  return `${fence}${language}\n${escapeLines(text)}\n${fence}\n`
}

/** Escapes every character of a text that has a meaning in Markdown (GitHub's, CommonMark 0.31). */
export function escapeMarkdown(text: string): string {
  return (
    text
      .replace(/[\\`*~[\]<>|]/g, '\\$&')
      // Within a word an underscore has no meaning.
      .replace(/(?<![\p{L}\p{N}])_|_(?![\p{L}\p{N}])/gu, '\\_')
      .replace(/&(?=#?\w+;)/g, '\\&')
  )
}

/** Formats a table as Markdown. */
export function formatMarkdownTable({ columns, rows }: Table): string {
  return [formatMarkdownTitles(columns), ...rows.map(formatMarkdownRow)].join('')
}

/** Formats the titles of a table as Markdown, and the line below them. */
export function formatMarkdownTitles(columns: readonly Column[]): string {
  const rules = columns.map(({ align }) => (align === 'right' ? '--:' : '---'))
  return `${formatMarkdownRow(columns.map(({ title }) => title))}| ${rules.join(' | ')} |\n`
}

/** Formats a row of a table as Markdown. */
export function formatMarkdownRow(cells: readonly Cell[]): string {
  return `| ${cells.map(cell => escapeMarkdown(textOf(cell).trim())).join(' | ')} |\n`
}
