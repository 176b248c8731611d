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
import { displayWidth, fitWidth, type Paint, paintColours, paintNothing, type TextTone } from './terminal-text.ts'

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
  /** Milliseconds. */
  readonly clock?: () => number
}

/** Adds a row to an open table, with its data for programs. */
type AddRow = (row: readonly Cell[], json: unknown) => void

/** The width of a terminal that does not report it. */
const usualWidth = 80

/**
 * The output of a command: results on stdout, as text, JSON or Markdown; everything else on stderr. Only a terminal
 * gets colours and progress bars, and only there long texts are cut.
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

  /** Shows the progress of long work on stderr, if that is a terminal. */
  progress(label: string): Progress {
    const { clock = () => performance.now(), stderr } = this.#options
    if (!stderr.isTTY) return noProgress
    return createProgress({ label, width: stderr.columns ?? usualWidth, clock, write: text => stderr.write(text) })
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

/** The progress of long work. */
interface Progress {
  update(done: number, total: number): void
  /** Removes the bar. */
  end(): void
}

const barWidth = 24

/** Formats a bar: `Reading profiles  ██████░░░░  60 %  600 of 1,000`. */
export function formatProgress(label: string, done: number, total: number, width: number): string {
  const share = total <= 0 ? 0 : Math.min(1, Math.max(0, done / total))
  const filled = Math.round(share * barWidth)
  const bar = '█'.repeat(filled) + '░'.repeat(barWidth - filled)
  const percent = `${Math.floor(share * 100)} %`.padStart(5)
  const counts = `${done.toLocaleString('en')} of ${total.toLocaleString('en')}`
  const line = `${label}  ${bar} ${percent}  ${counts}`
  return displayWidth(line) <= width ? line : fitWidth(`${label} ${percent.trim()}`, width)
}

/** Shows nothing: for an output that is not a terminal. */
const noProgress: Progress = { update: () => undefined, end: () => undefined }

/** The label, width and output of a bar. */
interface ProgressOptions {
  readonly label: string
  readonly write: (text: string) => unknown
  readonly width: number
  /** Milliseconds. */
  readonly clock: () => number
}

/** Milliseconds before the first bar, because short work needs none, and between two updates. */
const delay = 150
const interval = 50

/** Shows a bar on the line of the cursor and updates it. */
export function createProgress({ label, write, width, clock }: ProgressOptions): Progress {
  let next = clock() + delay
  let isShown = false
  return {
    update(done, total) {
      if (clock() < next) return
      next = clock() + interval
      isShown = true
      // The last column stays free: a character there makes some terminals begin a new line.
      write(`\r${formatProgress(label, done, total, width - 1)}\u001b[K`)
    },
    end() {
      if (isShown) write('\r\u001b[K')
      isShown = false
    },
  }
}
