import { escapeControls } from '../text/escape-controls.ts'
import {
  type Document,
  formatJson,
  formatMarkdown,
  formatMarkdownRow,
  formatMarkdownTitles,
  formatText,
} from './document.ts'
import { type Paint, paintColours, paintNothing, type Tone } from './paint.ts'
import { createProgress, noProgress, type Progress } from './progress.ts'
import { type Cell, formatRows, formatTitles, layOut, type Table } from './table.ts'

/** Where texts go: a terminal, a pipe or a file. */
export interface OutputStream {
  write(text: string): unknown
  readonly isTTY?: boolean
  /** The width of a terminal. */
  readonly columns?: number
}

/** What documents are written as. */
export type OutputFormat = 'text' | 'json' | 'markdown'

/** What output is made of. */
export interface OutputOptions {
  readonly stdout: OutputStream
  readonly stderr: OutputStream
  /** Environment variables: `NO_COLOR` (no-color.org) and `TERM` have a say. */
  readonly env: Readonly<Record<string, string | undefined>>
  readonly format?: OutputFormat
  /** Milliseconds. */
  readonly clock?: () => number
}

/** Adds a row to a table that is open, with its data for programs. */
export type AddRow = (row: readonly Cell[], json: unknown) => void

/** Of terminals that do not tell their width. */
const usualWidth = 80

/**
 * Tells what a command has to say: results on stdout, as text, JSON or Markdown; everything else on stderr. Colours,
 * cutting and progress are for terminals only.
 */
export class Output {
  readonly format: OutputFormat
  readonly #options: OutputOptions
  readonly #paint: Paint
  readonly #paintError: Paint
  readonly #width: number | undefined

  constructor(options: OutputOptions) {
    const { env, format = 'text', stderr, stdout } = options
    this.#options = options
    this.format = format
    this.#paint = hasColours(stdout, env) ? paintColours : paintNothing
    this.#paintError = hasColours(stderr, env) ? paintColours : paintNothing
    this.#width = stdout.isTTY ? (stdout.columns ?? usualWidth) : undefined
  }

  /** Writes a document. */
  print(document: Document): void {
    this.#options.stdout.write(this.#format(document))
  }

  /** Writes a text that is the result as it stands, such as a file; on a terminal nothing in it acts upon that. */
  write(text: string): void {
    const { stdout } = this.#options
    stdout.write(stdout.isTTY ? text.split('\n').map(escapeControls).join('\n') : text)
  }

  /** Writes a table, and gives what adds rows to it later; programs get a line of JSON for each row. */
  open(table: Table, json: readonly unknown[]): AddRow {
    const { columns, rows } = table
    const write = (text: string) => void this.#options.stdout.write(text)
    if (this.format === 'json') {
      for (const each of json) write(formatJson(each, false))
      return (_row, each) => write(formatJson(each, false))
    }
    if (this.format === 'markdown') {
      write(formatMarkdownTitles(columns) + rows.map(formatMarkdownRow).join(''))
      return row => write(formatMarkdownRow(row))
    }
    const layout = layOut(table, this.#width)
    const format = (some: Table['rows']) =>
      formatRows({ columns, rows: some }, layout, this.#paint, this.#width).join('')
    write(formatTitles(columns, layout, this.#paint, this.#width) + format(rows))
    return row => write(format([row]))
  }

  /** Writes a remark on stderr, which is no part of the result. */
  note(text: string, tone: Tone = 'muted'): void {
    const lines = text.split('\n').map(line => `${this.#paintError(tone, escapeControls(line))}\n`)
    this.#options.stderr.write(lines.join(''))
  }

  /** Says on stderr what is wrong. */
  error(text: string): void {
    this.note(text, 'error')
  }

  /** Begins to tell how far long work has come: on stderr, where that is a terminal. */
  progress(label: string): Progress {
    const { clock = () => performance.now(), stderr } = this.#options
    if (!stderr.isTTY) return noProgress
    return createProgress({ label, width: stderr.columns ?? usualWidth, clock, write: text => stderr.write(text) })
  }

  #format(document: Document): string {
    if (this.format === 'json') return formatJson(document.json)
    return this.format === 'markdown' ? formatMarkdown(document) : formatText(document, this.#paint, this.#width)
  }
}

/** Whether a stream shows colours. */
export function hasColours({ isTTY }: OutputStream, env: OutputOptions['env']): boolean {
  return isTTY === true && (env.NO_COLOR ?? '') === '' && env.TERM !== 'dumb'
}
