import { escapeControls } from '../text/escape-controls.ts'
import { formatMarkdownText } from './markdown-text.ts'
import type { Paint, Tone } from './paint.ts'
import { type Cell, type Column, formatFields, formatTable, type Table, textOf } from './table.ts'

/** A part of what is told. */
export type Block =
  | { readonly kind: 'title'; readonly text: string }
  | { readonly kind: 'text'; readonly text: string; readonly tone?: Tone }
  | { readonly kind: 'table'; readonly table: Table }
  | { readonly kind: 'fields'; readonly fields: readonly (readonly [name: string, value: Cell])[] }
  /** Lines that stay as they are. */
  | { readonly kind: 'code'; readonly language: string; readonly text: string }
  /** What is Markdown already, and safe to be read as that; `tone` is that of its title. */
  | { readonly kind: 'markdown'; readonly text: string; readonly tone?: Tone }

/** What a command tells: for people as blocks, for programs as data. */
export interface Document {
  readonly blocks: readonly Block[]
  /** What JSON can hold. */
  readonly json: unknown
}

/** Writes a document for a terminal of so many columns; whole, where there is no terminal. */
export function formatText({ blocks }: Document, paint: Paint, width?: number): string {
  return blocks.map(block => formatBlock(block, paint, width)).join('\n')
}

/** Writes a document as Markdown. */
export function formatMarkdown({ blocks }: Document): string {
  return blocks.map(formatMarkdownBlock).join('\n')
}

/** Writes data as JSON: indented, or as one line. Nothing in it can reach the terminal. */
export function formatJson(value: unknown, isIndented = true): string {
  const lines = JSON.stringify(value, null, isIndented ? 2 : 0).split('\n')
  return `${lines.map(escapeControls).join('\n')}\n`
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
      return `${block.text.split('\n').map(escapeControls).join('\n')}\n`
    case 'markdown':
      return formatMarkdownText(block.text, paint, width, block.tone)
  }
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

/** The fence is longer than any in the text. */
function formatCode(text: string, language: string): string {
  const longest = Math.max(2, ...Array.from(text.matchAll(/`+/g), ([run]) => run.length))
  const fence = '`'.repeat(longest + 1)
  return `${fence}${language}\n${text.split('\n').map(escapeControls).join('\n')}\n${fence}\n`
}

/** Writes a text so that nothing in it means anything in Markdown (GitHub's, CommonMark 0.31). */
export function escapeMarkdown(text: string): string {
  return (
    text
      .replace(/[\\`*~[\]<>|]/g, '\\$&')
      // Within a word it means nothing.
      .replace(/(?<![\p{L}\p{N}])_|_(?![\p{L}\p{N}])/gu, '\\_')
      .replace(/&(?=#?\w+;)/g, '\\&')
  )
}

/** Writes a table. */
export function formatMarkdownTable({ columns, rows }: Table): string {
  return [formatMarkdownTitles(columns), ...rows.map(formatMarkdownRow)].join('')
}

/** Writes the titles of a table, and the line below them. */
export function formatMarkdownTitles(columns: readonly Column[]): string {
  const rules = columns.map(({ align }) => (align === 'right' ? '--:' : '---'))
  return `${formatMarkdownRow(columns.map(({ title }) => title))}| ${rules.join(' | ')} |\n`
}

/** Writes a row of a table. */
export function formatMarkdownRow(cells: readonly Cell[]): string {
  return `| ${cells.map(cell => escapeMarkdown(textOf(cell).trim())).join(' | ')} |\n`
}
