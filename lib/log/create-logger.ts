import { styleText } from 'node:util'
import { cut } from '../redact/masking-copier.ts'
import { Redactor } from '../redact/redactor.ts'
import { describeValue } from '../text/describe-value.ts'
import { escapeControls } from '../text/escapes.ts'
import {
  type LogContext,
  type Logger,
  type LogIds,
  type LogLevel,
  type LogObserver,
  type LogRecord,
  logLevels,
} from './logger.ts'
import { createRecord, isLogError, type LogError, placeholdersOf } from './record.ts'

/** The stream that lines are written to, such as `process.stdout`. */
export interface LogStream {
  write(text: string): unknown
  /** Readable lines are coloured if this is true. */
  readonly isTTY?: boolean
  on?(event: 'error', listener: () => void): unknown
}

/** The level, format and stream of a logger. */
export interface LoggerOptions {
  /** The least level that is written. */
  readonly level: LogLevel
  /** One JSON object per line, or lines for people. */
  readonly format: 'json' | 'readable'
  readonly stream: LogStream
  readonly clock?: () => Date
  readonly redactor?: Redactor
}

/** Creates the logger of the channel `app`; its method `channel` gives those of other channels. */
export function createLogger(options: LoggerOptions): Logger {
  const { level, clock = () => new Date(), redactor = new Redactor() } = options
  const writer = new LogWriter(options)
  const least = logLevels.indexOf(level)
  return new ChannelLogger('app', { least, clock, redactor, writer, observers: new Set(), finders: new Set() })
}

/** What the loggers of all channels share. */
interface Parts {
  /** The position of the least level that is written. */
  readonly least: number
  readonly clock: () => Date
  readonly redactor: Redactor
  readonly writer: LogWriter
  readonly observers: Set<LogObserver>
  readonly finders: Set<() => LogIds | undefined>
}

class ChannelLogger implements Logger {
  readonly #name: string
  readonly #parts: Parts
  readonly #ids: LogIds | undefined

  constructor(name: string, parts: Parts, ids?: LogIds) {
    this.#name = name
    this.#parts = parts
    this.#ids = ids
  }

  debug(message: string, context?: LogContext): void {
    this.#log('debug', message, context)
  }

  info(message: string, context?: LogContext): void {
    this.#log('info', message, context)
  }

  warning(message: string, context?: LogContext): void {
    this.#log('warning', message, context)
  }

  error(message: string, context?: LogContext): void {
    this.#log('error', message, context)
  }

  critical(message: string, context?: LogContext): void {
    this.#log('critical', message, context)
  }

  channel(name: string): Logger {
    return new ChannelLogger(name, this.#parts, this.#ids)
  }

  withRequestId(requestId: string): Logger {
    return new ChannelLogger(this.#name, this.#parts, { requestId })
  }

  access(message: string, requestId: string, context: LogContext): void {
    const { clock, finders, observers, writer } = this.#parts
    try {
      const time = writer.toTime(clock())
      const ids = findIds(finders, { requestId })
      const record: LogRecord = { time, level: 'info', channel: 'access', message, context, ...ids }
      writer.append(record)
      for (const observer of observers) observer(record)
    } catch {
      // An observer has failed. The line is written.
    }
  }

  isLevelEnabled(level: LogLevel): boolean {
    return this.#isWritten(level) || this.#parts.observers.size > 0
  }

  #isWritten(level: LogLevel): boolean {
    return logLevels.indexOf(level) >= this.#parts.least
  }

  observe(observer: LogObserver): () => void {
    const { observers } = this.#parts
    observers.add(observer)
    return () => observers.delete(observer)
  }

  correlate(findIds: () => LogIds | undefined): () => void {
    const { finders } = this.#parts
    finders.add(findIds)
    return () => finders.delete(findIds)
  }

  #log(level: LogLevel, message: string, context: LogContext = {}): void {
    const { clock, finders, observers, redactor, writer } = this.#parts
    const isWritten = this.#isWritten(level)
    if (!isWritten && observers.size === 0) return
    if (typeof message !== 'string') {
      // As in other libraries, whose first argument may be an error or the context.
      this.#log(level, 'A message must be a string, not {type}. Its context has both arguments.', {
        type: describeValue(message),
        arguments: [message, context],
      })
      return
    }
    try {
      const record = createRecord(clock(), level, this.#name, message, context, redactor, findIds(finders, this.#ids))
      if (isWritten) writer.write(record)
      for (const observer of observers) observer(record)
    } catch {
      // Often the caller is handling an error already. An exception here would hide it.
    }
  }
}

/** The ids of a record: those of its logger come before those of the running code. */
function findIds(finders: ReadonlySet<() => LogIds | undefined>, own: LogIds | undefined): LogIds | undefined {
  let ids = own
  for (const find of finders) ids = { ...find(), ...ids }
  return ids
}

/** Writes records to a stream. Its methods never throw. */
class LogWriter {
  readonly #stream: LogStream
  readonly #toText: (record: LogRecord) => string
  /** The lines of the access log that are not written yet. */
  #batch = ''
  #timer: NodeJS.Timeout | undefined
  #ms = Number.NaN
  #time = ''

  constructor({ format, stream }: LoggerOptions) {
    // A closed pipe or a full disk is an "error" event. Without a listener it would end the process.
    stream.on?.('error', () => undefined)
    this.#stream = stream
    this.#toText = format === 'json' ? toJsonLine : record => formatReadable(record, stream.isTTY === true)
  }

  /** Writes a record at once, after the lines that wait. */
  write(record: LogRecord): void {
    this.flush()
    this.#write(this.#toText(record))
  }

  /** Writes a record a moment later, together with others; at the latest when the process exits. */
  append(record: LogRecord): void {
    if (this.#batch === '') this.#timer = setTimeout(this.flush, batchTime).unref()
    if (writers.size === 0) process.once('exit', flushAll)
    writers.add(this)
    this.#batch += this.#toText(record)
    if (this.#batch.length > batchLength) this.flush()
  }

  /** A time as ISO 8601. The text of the last one is kept: to make it costs half as much as the rest of a line. */
  toTime(date: Date): string {
    const ms = date.getTime()
    if (ms !== this.#ms) {
      this.#ms = ms
      this.#time = date.toISOString()
    }
    return this.#time
  }

  readonly flush = (): void => {
    if (this.#batch === '') return
    clearTimeout(this.#timer)
    const text = this.#batch
    this.#batch = ''
    this.#write(text)
  }

  #write(text: string): void {
    try {
      this.#stream.write(text)
    } catch {
      // The log itself has failed: there is no other place to report this.
    }
  }
}

/** Milliseconds that a line of the access log may wait. */
const batchTime = 20

/** Characters of lines that are written without a wait. */
const batchLength = 65_536

/** The writers of access logs. */
const writers = new Set<LogWriter>()

function flushAll(): void {
  for (const writer of writers) writer.flush()
}

/** Outside of strings JSON has no character to escape. */
function toJsonLine({ time, level, channel, message, template, context, requestId, span }: LogRecord): string {
  // The names of the last two are those of OpenTelemetry for logs in JSON.
  const ids = { request_id: requestId, trace_id: span?.traceId, span_id: span?.spanId }
  const line = { time, level, channel, message, template, ...ids }
  const hasContext = Object.keys(context).length > 0
  const plainLine = writePlain(line)
  const plainContext = plainLine && writePlain(context)
  if (plainContext !== undefined)
    return hasContext ? `{${plainLine},"context":{${plainContext}}}\n` : `{${plainLine}}\n`
  return `${escapeControls(JSON.stringify({ ...line, context: hasContext ? context : undefined }))}\n`
}

/** Printable ASCII without the two characters that JSON escapes. */
const plainText = /^[ !#-[\]-~]*$/

/** The members of an object as `JSON.stringify` writes them, in half of its time; `undefined` if a value is neither a plain text nor a number. */
function writePlain(values: Readonly<Record<string, unknown>>): string | undefined {
  let text = ''
  for (const name of Object.keys(values)) {
    const value = values[name]
    if (value === undefined) continue
    const isText = typeof value === 'string'
    if (!(isText ? plainText.test(value) : Number.isFinite(value)) || !plainText.test(name)) return undefined
    text += `${text === '' ? '' : ','}"${name}":${isText ? `"${value}"` : value}`
  }
  return text
}

const colours = {
  debug: 'gray',
  info: 'cyan',
  warning: 'yellow',
  error: 'red',
  critical: 'magenta',
} as const satisfies Record<LogLevel, string>

/**
 * Formats a record for people: local time, level, channel, message, the part of the context that is not in the message,
 * the beginnings of the ids of request and trace, and each error with its stack on indented lines. No text of a record can begin a line or control the terminal.
 */
function formatReadable(record: LogRecord, isColoured: boolean): string {
  const { level, channel, message, template = '', context, requestId, span } = record
  const style = (colour: Parameters<typeof styleText>[0], text: string) =>
    isColoured ? styleText(colour, text, { validateStream: false }) : text

  const filled = new Set(placeholdersOf(template))
  const isRest = (name: string, value: unknown) => value !== undefined && !filled.has(name) && !isLogError(value)
  const rest = Object.entries(context).filter(([name, value]) => isRest(name, value))
  // An error without a stack whose message is part of the line adds nothing.
  const addsDetails = ({ message: own, stack }: LogError) => stack !== '' || !message.includes(own)
  const errors = Object.values(context).filter(isLogError).filter(addsDetails)
  const line = [
    style('gray', toLocalTime(record.time)),
    style(colours[level], level.toUpperCase().padEnd('CRITICAL'.length)),
    `${escapeControls(channel)} `,
    escapeControls(message),
    ...(rest.length > 0 ? [style('gray', escapeControls(JSON.stringify(Object.fromEntries(rest))))] : []),
    ...(requestId === undefined ? [] : [style('gray', `request=${requestId.slice(0, 8)}`)]),
    ...(span ? [style('gray', `trace=${span.traceId.slice(0, 8)}`)] : []),
  ].join(' ')
  return [line, ...errors.flatMap(error => linesOf(error, ''))].map(text => `${text}\n`).join('')
}

function toLocalTime(time: string): string {
  const date = new Date(time)
  const pad = (value: number, length = 2) => String(value).padStart(length, '0')
  const seconds = `${pad(date.getSeconds())}.${pad(date.getMilliseconds(), 3)}`
  return `${pad(date.getHours())}:${pad(date.getMinutes())}:${seconds}`
}

function linesOf(error: LogError, relation: string): string[] {
  const code = error.code === undefined || error.code === error.name ? '' : ` [${error.code}]`
  const head = `  ${relation}${error.name}${code}: ${error.message}`
  const properties = Object.entries(error.properties ?? {}).map(([name, value]) => `    ${name}: ${toLine(value)}`)
  const frames = error.stack === '' ? [] : error.stack.split('\n').map(frame => `    ${frame}`)
  const note = error.note === undefined ? [] : [`    ${error.note}`]
  return [
    ...[head, ...properties, ...frames, ...note].map(escapeControls),
    ...(error.cause ? linesOf(error.cause, 'caused by ') : []),
    ...(error.errors ?? []).flatMap(inner => linesOf(inner, 'gathers ')),
  ]
}

const lineLimit = 500

function toLine(value: unknown): string {
  return cut(typeof value === 'string' ? value : String(JSON.stringify(value)), lineLimit)
}
