import { type Cell, type Column, type Table, textOf } from './table.ts'

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
