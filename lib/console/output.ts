import { ARGUMENT_INVALID } from '../errors/arguments.ts'
import { describeValue, readProperty } from '../text/describe-value.ts'
import { escapeControls, escapeLines } from '../text/escapes.ts'
import {
  type Cell,
  type Document,
  formatForTerminal,
  formatJson,
  formatMarkdown,
  formatMarkdownRow,
  formatMarkdownTitles,
  formatRows,
  formatTitles,
  layOut,
  type Table,
} from './document.ts'
import { type Paint, paintColours, paintNothing, type TextTone } from './terminal-text.ts'

/** The stream that texts are written to: a terminal, a pipe or a file. */
export interface OutputStream {
  write(text: string): unknown
  readonly isTTY?: boolean
  /** The width of the terminal in characters. */
  readonly columns?: number
}

/** The format of documents. */
type OutputFormat = 'text' | 'json' | 'markdown'

/** The streams, environment and format of an output. */
interface OutputOptions {
  readonly stdout: OutputStream
  readonly stderr: OutputStream
  /** Environment variables: `NO_COLOR` (no-color.org) and `TERM` can switch colours off. */
  readonly env: Readonly<Record<string, string | undefined>>
  readonly format?: OutputFormat
}

/** Adds a row to an open table, with its data for programs. */
type AddRow = (row: readonly Cell[], json: unknown) => void

/** The width of a terminal that does not report it. */
const usualWidth = 80

/**
 * The output of a command: results on stdout, as text, JSON or Markdown; everything else on stderr. Only a terminal
 * gets colours, and only there long texts are cut.
 */
export class Output {
  /** The format that the user has chosen. */
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
    if (!Array.isArray(readProperty(document, 'blocks'))) {
      const mistake = `it takes a document such as { blocks: [{ kind: 'text', text }], json }, not ${describeValue(document)}; a text is for output.write(text)`
      throw new ARGUMENT_INVALID(['output.print(document)', mistake])
    }
    this.#options.stdout.write(this.#format(document))
  }

  /** Writes a text unchanged, such as an exported file; on a terminal its control characters are escaped. */
  write(text: string): void {
    const { stdout } = this.#options
    stdout.write(stdout.isTTY ? escapeLines(text) : text)
  }

  /** Writes a table and returns a function that adds rows to it. As JSON each row is a line. */
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

  /** Writes a remark to stderr. */
  note(text: string, tone: TextTone = 'muted'): void {
    const lines = text.split('\n').map(line => `${this.#paintError(tone, escapeControls(line))}\n`)
    this.#options.stderr.write(lines.join(''))
  }

  /** Writes an error message to stderr. */
  error(text: string): void {
    this.note(text, 'error')
  }

  #format(document: Document): string {
    if (this.format === 'json') return formatJson(document.json)
    return this.format === 'markdown' ? formatMarkdown(document) : formatForTerminal(document, this.#paint, this.#width)
  }
}

/** Whether a stream shows colours. */
export function hasColours({ isTTY }: OutputStream, env: OutputOptions['env']): boolean {
  return isTTY === true && (env.NO_COLOR ?? '') === '' && env.TERM !== 'dumb'
}
