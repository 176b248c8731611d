import { escapeControls, escapeLines, toVisibleJson } from '../text/escapes.ts'
import { displayWidth, fitWidth, type Paint, padWidth, type Run, type TextTone, wrap } from './terminal-text.ts'

/** A part of the output of a command, such as a heading, a table or a text. */
export type Block =
  | KindOfBlock<'title', Text>
  | KindOfBlock<'text', TonedText>
  | KindOfBlock<'table', Rows>
  | KindOfBlock<'fields', Fields>
  /** Lines that stay as they are. */
  | KindOfBlock<'code', Lines>
  /** Finished Markdown, in which recorded texts are escaped; `tone` is that of its title. */
  | KindOfBlock<'markdown', TonedText>

type KindOfBlock<kind extends string, content> = {
  /** What the block is: a title, a text, a table, fields, code or Markdown. */
  readonly kind: kind
} & content

interface Text {
  /** The text as it is shown. */
  readonly text: string
}

interface Lines extends Text {
  /** The language of the lines, such as `json`. */
  readonly language: string
}

interface Rows {
  /** The rows, below the titles of the columns. */
  readonly table: Table
}

interface Fields {
  /** Names with their values, one a line. */
  readonly fields: readonly (readonly [name: string, value: Cell])[]
}

interface TonedText extends Text {
  /** The colour by its meaning, such as that of an error. */
  readonly tone?: TextTone
}

/** The result of a command: blocks for people, data for programs. */
export interface Document {
  /** The parts of the output, from top to bottom. */
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
  return `${toVisibleJson(value, isIndented ? 2 : 0)}\n`
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

/** The text of a table cell. */
export type Cell = string | { readonly text: string; readonly tone: TextTone }

/** A column of a table. */
export interface Column {
  /** The heading of the column. */
  readonly title: string
  /** The default is `left`. */
  readonly align?: 'left' | 'right'
  /** The end at which long texts are cut; `never` for texts that are useless when cut. */
  readonly cut?: 'end' | 'start' | 'never'
  /** The least width to which the column is cut; by default 16. */
  readonly least?: number
  /** Whether the column is left out if the terminal is too narrow. The last one is left out first. */
  readonly isOptional?: boolean
}

/** Rows of cells below titles. */
export interface Table {
  /** The columns from left to right. */
  readonly columns: readonly Column[]
  /** The cells of each row, one for each column. */
  readonly rows: readonly (readonly Cell[])[]
}

/** The width of each column of a table; 0 if it is left out. */
type Layout = readonly number[]

const gap = 2
/** The default least width of a column that can be cut. */
const usualLeast = 16

/** The text of a cell with its control characters escaped. */
function textOf(cell: Cell): string {
  return escapeControls(typeof cell === 'string' ? cell : cell.text)
}

/** Computes the widths of columns. If the table is too wide, optional columns are left out, then the widest are cut. */
export function layOut({ columns, rows }: Table, width: number = Number.POSITIVE_INFINITY): Layout {
  const wanted = columns.map(({ title }, index) =>
    rows.reduce((widest, row) => Math.max(widest, displayWidth(textOf(row[index] ?? ''))), displayWidth(title)),
  )
  const smallest = columns.map(({ cut, least = usualLeast }, index) => {
    const whole = wanted[index] ?? 0
    return cut === 'never' ? whole : Math.min(whole, least)
  })
  const shown = columns.map(() => true)
  const total = (widths: readonly number[]) =>
    widths.reduce((sum, each, index) => (shown[index] ? sum + each + gap : sum), -gap)
  for (let last = columns.length - 1; last >= 0 && total(smallest) > width; last--) {
    if (columns[last]?.isOptional) shown[last] = false
  }
  let cap = Math.max(...wanted)
  const capped = () => wanted.map((each, index) => Math.max(smallest[index] ?? 0, Math.min(each, cap)))
  while (cap > usualLeast && total(capped()) > width) cap--
  return capped().map((each, index) => (shown[index] ? each : 0))
}

/** Removes the column with this title if all of its cells are empty. */
export function withoutEmpty(table: Table, title: string): Table {
  const at = table.columns.findIndex(column => column.title === title)
  if (table.rows.some(row => textOf(row[at] ?? '') !== '')) return table
  const remove = <item>(items: readonly item[]) => items.filter((_, index) => index !== at)
  return { columns: remove(table.columns), rows: table.rows.map(remove) }
}

/** Formats a table: the titles, and the rows below them. */
export function formatTable(table: Table, paint: Paint, width?: number): string {
  const layout = layOut(table, width)
  return [formatTitles(table.columns, layout, paint, width), ...formatRows(table, layout, paint, width)].join('')
}

/** Formats the titles of a table as a line. */
export function formatTitles(columns: readonly Column[], layout: Layout, paint: Paint, width?: number): string {
  const titles = columns.map(({ title }) => ({ text: title, tone: 'strong' }) as const)
  return formatRow(columns, titles, layout, paint, width)
}

/** Formats each row of a table as a line. */
export function formatRows({ columns, rows }: Table, layout: Layout, paint: Paint, width?: number): string[] {
  return rows.map(row => formatRow(columns, row, layout, paint, width))
}

function formatRow(
  columns: readonly Column[],
  row: readonly Cell[],
  layout: Layout,
  paint: Paint,
  width = Number.POSITIVE_INFINITY,
): string {
  let line = ''
  let blanks = 0
  let left = width
  for (const [index, { align, cut }] of columns.entries()) {
    const room = Math.min(layout[index] ?? 0, left)
    if (room <= 0) continue
    const cell = row[index] ?? ''
    // Without a width nothing is cut, even if a row that was added later is wider than the layout.
    const text = Number.isFinite(width) ? fitWidth(textOf(cell), room, cut === 'start' ? 'start' : 'end') : textOf(cell)
    const missing = Math.max(0, room - displayWidth(text))
    const tone = typeof cell === 'string' ? 'plain' : cell.tone
    if (align === 'right') blanks += missing
    if (text !== '') {
      line += ' '.repeat(blanks) + paint(tone, text)
      blanks = 0
    }
    blanks += gap + (align === 'right' ? 0 : missing)
    left -= room + gap
  }
  return `${line}\n`
}

/** Formats names and values, one pair per line; on a terminal a long value is wrapped below its own beginning. */
function formatFields(fields: readonly (readonly [name: string, value: Cell])[], paint: Paint, width?: number): string {
  const widest = Math.max(0, ...fields.map(([name]) => displayWidth(name)))
  const lines = fields.map(([name, value]) => {
    const run = { text: textOf(value), tone: typeof value === 'string' ? 'plain' : value.tone } as const
    const text = wrap([run], { indent: widest + gap, paint, width })
    return `${paint('muted', padWidth(name, widest))}  ${text}`.trimEnd()
  })
  return lines.map(line => `${line}\n`).join('')
}
