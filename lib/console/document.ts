import { escapeControls } from '../log/escape-controls.ts'
import { escapeMarkdown, formatMarkdownTable } from './markdown.ts'
import { formatMarkdownText } from './markdown-text.ts'
import type { Paint, Tone } from './paint.ts'
import { type Cell, formatFields, formatTable, type Table, textOf } from './table.ts'

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
