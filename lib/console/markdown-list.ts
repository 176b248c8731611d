import type { Paint, Tone } from './paint.ts'
import type { MarkdownItem, MarkdownSpan } from './parse-markdown.ts'
import { displayWidth, type Run, wrap } from './text-width.ts'

/**
 * Writes a list for a terminal: what has names and values as two columns, a list within a list as a tree, everything else
 * line by line, with what all lines begin with in columns. What has no room goes on below itself.
 */
export function formatList(items: readonly MarkdownItem[], paint: Paint, width?: number): string {
  const rows = toFields(items) ?? toRows(items)
  const widths = [0, 1, 2].map(column => measure(rows, column, width))
  return rows.map(row => formatRow(row, widths, paint, width)).join('')
}

interface Row {
  /** Lines from the items around it. */
  readonly branch: string
  readonly cells: readonly Cell[]
  readonly rest: readonly Run[]
}

interface Cell extends Run {
  readonly align?: 'right'
}

/** So wide is a column at most, and this share of a terminal; what is wider stands out of it. */
const columnLimit = 56
const columnShare = 0.5
const farShare = 0.7

function measure(rows: readonly Row[], column: number, width = Number.POSITIVE_INFINITY): number {
  const limit = Math.min(columnLimit, Math.floor(width * columnShare))
  const widths = rows.map(({ branch, cells }) => {
    const text = cells[column]?.text ?? ''
    return displayWidth(column === 0 ? branch + text : text)
  })
  return Math.max(0, ...widths.filter(each => each <= limit))
}

function formatRow({ branch, cells, rest }: Row, widths: readonly number[], paint: Paint, width?: number): string {
  let line = paint('muted', branch)
  let indent = displayWidth(branch)
  for (const [index, { align, text, tone }] of cells.entries()) {
    const room = Number(widths[index]) - (index === 0 ? indent : 0)
    const padding = ' '.repeat(Math.max(0, room - displayWidth(text)))
    const painted = paint(tone, text)
    line += (align === 'right' ? padding + painted : painted + padding) + ' '.repeat(gap)
    indent += displayWidth(text) + padding.length + gap
  }
  if (rest.length === 0) return `${line.trimEnd()}\n`
  // What stands far out would leave no room for what comes after it.
  if (width === undefined || indent <= width * farShare) return `${line}${wrap(rest, { indent, paint, width })}\n`
  const below = Math.min(indent, displayWidth(branch) + 4)
  return `${line.trimEnd()}\n${' '.repeat(below)}${wrap(rest, { indent: below, paint, width })}\n`
}

const gap = 2

/** A list of nothing but names and values: `Token: …`. */
function toFields(items: readonly MarkdownItem[]): Row[] | undefined {
  const rows = items.map(({ depth, line }) => (depth > 0 ? undefined : toField(line)))
  if (!items.some(({ line }) => line[line[0]?.isCode ? 1 : 0]?.text.includes(':'))) return undefined
  return rows.every(row => row !== undefined) ? rows : undefined
}

function toField(line: readonly MarkdownSpan[]): Row | undefined {
  const [first, second, ...more] = line
  if (first?.isCode) {
    if (second?.text.startsWith(':') !== true) return undefined
    return createField(first.text, [{ ...second, text: second.text.replace(/^: ?/, '') }, ...more])
  }
  const text = first?.text ?? ''
  // What says that there are more.
  if (text.startsWith('…')) return createField('', line)
  const [, name, value = ''] = /^(\p{L}[\p{L}\p{N} -]{0,40}?)(?:: ?(.*)| )$/u.exec(text) ?? []
  return name === undefined ? undefined : createField(name, [{ text: value, isCode: false }, ...line.slice(1)])
}

function createField(name: string, value: readonly MarkdownSpan[]): Row {
  const rest = value.filter(({ text }) => text !== '').map(({ text }) => ({ text, tone: 'plain' }) as const)
  return { branch: '', cells: [{ text: name, tone: 'muted' }], rest }
}

function toRows(items: readonly MarkdownItem[]): Row[] {
  const branches = toBranches(items)
  const isTree = items.some(({ depth }) => depth > 0)
  return items.map(({ depth, line }, index) => {
    const [cells, rest] = splitLine(line, isTree && depth === 0 ? 'strong' : 'plain')
    return { branch: String(branches[index]), cells, rest: rest.flatMap(toRuns) }
  })
}

/**
 * What stands before the rest of a line, in two columns at most: what comes before a name (a time, a level), names with
 * nothing but a space after them, and how long something took.
 */
function splitLine(line: readonly MarkdownSpan[], tone: Tone): [Cell[], readonly MarkdownSpan[]] {
  const cells: Cell[] = []
  let rest = joinName(line)
  while (cells.length < 2) {
    const [first, second, ...more] = rest
    if (first === undefined || second === undefined) break
    if (first.isCode ? !second.text.startsWith(' ') : cells.length > 0 || !/\d/.test(first.text)) break
    if (first.isCode) {
      cells.push({ text: first.text, tone: duration.test(second.text) ? tone : 'plain' })
      rest = takeDuration(cells, second, more)
    } else {
      cells.push({ text: first.text.trim(), tone: toneOf(first.text) })
      rest = [second, ...more]
    }
  }
  return [cells, rest]
}

/** A word before a name belongs to it. */
function joinName(line: readonly MarkdownSpan[]): readonly MarkdownSpan[] {
  const [word, name, ...more] = line
  if (word === undefined || name === undefined || word.isCode || !/^[a-z-]+ $/.test(word.text)) return line
  return [{ text: word.text + name.text, isCode: true }, ...more]
}

const duration = /^ ([\d.,]+ m?s)\b/

function takeDuration(cells: Cell[], next: MarkdownSpan, more: readonly MarkdownSpan[]): readonly MarkdownSpan[] {
  const [start = '', time] = duration.exec(next.text) ?? []
  if (time !== undefined) cells.push({ text: time, tone: 'plain', align: 'right' })
  const text = next.text.slice(start.length).replace(/^[ ;]+/, '')
  return text === '' ? more : [{ text, isCode: false }, ...more]
}

/** Draws which item lies in which: from the end, where it is known what comes after each. */
function toBranches(items: readonly MarkdownItem[]): string[] {
  const goesOn: boolean[] = []
  return items
    .toReversed()
    .map(({ depth }) => {
      const levels = Array.from({ length: depth }, (_, index) => {
        const isOpen = goesOn[index + 1] === true
        if (index + 1 === depth) return isOpen ? '├ ' : '└ '
        return isOpen ? '│ ' : '  '
      })
      goesOn.length = depth
      goesOn[depth] = true
      return levels.join('')
    })
    .reverse()
}

/** Words between what was recorded recede, unless they tell of something bad. */
function toRuns({ isCode, text }: MarkdownSpan): Run[] {
  if (isCode) return [{ text, tone: 'plain' }]
  return text.split(/\b(error|critical|failed|threw|gone|warning)\b/).map(word => ({ text: word, tone: toneOf(word) }))
}

function toneOf(text: string): Tone {
  if (/\b(?:error|critical|failed|threw|gone)\b/.test(text)) return 'error'
  return /\bwarning\b/.test(text) ? 'warning' : 'muted'
}
