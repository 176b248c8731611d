import { mask, type NameTest } from './secret-names.ts'

/** Marks between columns, and the cells of a line. A cell with a mark is in quotes. */
const marks = [',', ';', '\t', '|', '│'].map(mark => ({
  mark,
  cells: new RegExp(`(?:\\s*"(?:[^"]|"")*"[^"${mark}]*|[^${mark}]*)(?:[${mark}]|$)`, 'g'),
}))
const columnName = /^\s*(["'`]?)[\w#(][\w .()-]{0,60}\1\s*$/
const ruler = /^[\s|+:=─│┼├┤┴└┘-]+$/
const lineLimit = 5000

/**
 * Masks columns with secret names: CSV, TSV, Markdown, and what psql, mysql and `console.table`
 * print. `places` are the ends of parts of secret names.
 */
export function maskColumns(text: string, isSecret: NameTest, places: readonly number[]): string {
  let masked = ''
  let done = 0
  let behindTable = 0
  for (const place of places) {
    if (place < done) continue
    const start = text.lastIndexOf('\n', place) + 1
    let end = text.indexOf('\n', place)
    if (end === -1) break
    const head = text.slice(start, end).trimEnd()
    const before = start <= behindTable ? '' : text.slice(Math.max(behindTable, start - 200), start - 1)
    const table = head.length > lineLimit ? undefined : readHead(head, isSecret, before)
    masked += text.slice(done, end)
    while (end < text.length && table !== undefined) {
      const next = text.indexOf('\n', end + 1)
      const line = text.slice(end, next === -1 ? text.length : next)
      const row = ruler.test(line) ? line : maskRow(line, table)
      if (row === undefined) break
      masked += row
      end += line.length
    }
    done = end
    if (table !== undefined) behindTable = end + 1
  }
  return masked + text.slice(done)
}

/** `undefined` if a line is no row of the table, or its head again. */
function maskRow(line: string, { cells, names, secret }: Head): string | undefined {
  const filled = line.trimEnd()
  const row = line.length > lineLimit ? [] : (filled.match(cells) ?? [])
  if (row.length !== names.length || secret.some(at => row[at]?.trim() === names[at])) return undefined
  return row.map((cell, at) => (secret.includes(at) ? maskCell(cell) : cell)).join('') + line.slice(filled.length)
}

/** The columns of a table. */
interface Head {
  readonly cells: RegExp
  readonly names: readonly string[]
  /** The places of those with secret names. */
  readonly secret: readonly number[]
}

/** Reads the names of the columns. Those of CSV have no blanks, and no line of the same form before them. */
function readHead(line: string, isSecret: NameTest, before: string): Head | undefined {
  for (const { cells, mark } of marks) {
    const all = line.includes(mark) ? (line.match(cells) ?? []).map(cell => cell.replace(mark, '')) : []
    const names = all.filter(name => name.trim() !== '')
    // The last match is empty.
    const isWhole =
      names.length === all.length - 1 && !/\s/.test(line) && !before.slice(before.lastIndexOf('\n') + 1).includes(mark)
    if (names.length < 2 || !(isWhole || /[\t|│]/.test(mark)) || !names.every(name => columnName.test(name))) continue
    const secret = [...all.keys()].filter(at => isSecret(readName(all[at])))
    if (secret.length > 0) return { cells, names: (line.match(cells) ?? []).map(name => name.trim()), secret }
  }
  return undefined
}

function readName(cell = ''): string {
  return cell.replace(/["'`,;\t|│]/g, '').trim()
}

function maskCell(cell: string): string {
  return cell.replace(/^(\s*["'`]?)([^\s"'`,;|│][^,;\t|│]*?|"[^"]*)(["'`]?\s*[,;\t|│]?)$/, `$1${mask}$3`)
}
