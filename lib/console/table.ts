import { escapeControls } from '../text/escape-controls.ts'
import type { Paint, TextTone } from './paint.ts'
import { displayWidth, fitWidth, padWidth, wrap } from './text-width.ts'

/** The text of a table cell. */
export type Cell = string | { readonly text: string; readonly tone: TextTone }

/** A column of a table. */
export interface Column {
  readonly title: string
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
  readonly columns: readonly Column[]
  readonly rows: readonly (readonly Cell[])[]
}

/** The width of each column of a table; 0 if it is left out. */
export type Layout = readonly number[]

const gap = 2
/** The default least width of a column that can be cut. */
const usualLeast = 16

/** The text of a cell with its control characters escaped. */
export function textOf(cell: Cell): string {
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
export function formatFields(
  fields: readonly (readonly [name: string, value: Cell])[],
  paint: Paint,
  width?: number,
): string {
  const widest = Math.max(0, ...fields.map(([name]) => displayWidth(name)))
  const lines = fields.map(([name, value]) => {
    const run = { text: textOf(value), tone: typeof value === 'string' ? 'plain' : value.tone } as const
    const text = wrap([run], { indent: widest + gap, paint, width })
    return `${paint('muted', padWidth(name, widest))}  ${text}`.trimEnd()
  })
  return lines.map(line => `${line}\n`).join('')
}
