import { styleText, types } from 'node:util'
import { type FlatError, flattenError } from '../errors/flat-error.ts'
import { isClientError } from '../errors/http-error.ts'
import {
  type CopyBounds,
  cut,
  MaskingCopier,
  maskAndCut,
  propertyBounds,
  type TextMasker,
} from '../redact/masking-copier.ts'
import { Redactor } from '../redact/redactor.ts'
import { formatFrame } from '../stack/stack-frames.ts'
import { describeValue, readProperty } from '../text/describe-value.ts'
import { escapeControls } from '../text/escapes.ts'
import { AccessEntry } from './access-entry.ts'
import {
  type LogContext,
  type Logger,
  type LogIds,
  type LogLevel,
  type LogObserver,
  type LogRecord,
  logLevels,
} from './logger.ts'

/** The stream that lines are written to, such as `process.stdout`. */
export interface LogStream {
  write(text: string): unknown
  /** Writes a text of ASCII characters. */
  write(text: string, encoding: 'latin1'): unknown
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
  const { level, redactor = new Redactor() } = options
  const clock = options.clock === undefined ? Date.now : () => Number(options.clock?.())
  const writer = new LogWriter(options)
  const least = logLevels.indexOf(level)
  return new ChannelLogger('app', { least, clock, redactor, writer, observers: new Set(), finders: new Set() })
}

/** The parts that the loggers of all channels share. */
interface Parts {
  /** The position of the least level that is written. */
  readonly least: number
  /** Milliseconds since 1970. */
  readonly clock: () => number
  readonly redactor: Redactor
  readonly writer: LogWriter
  readonly observers: Set<LogObserver>
  readonly finders: Set<() => LogIds | undefined>
}

export class ChannelLogger implements Logger {
  readonly #name: string
  readonly #parts: Parts
  readonly #ids: LogIds | undefined

  constructor(name: string, parts: Parts, ids?: LogIds) {
    this.#name = name
    this.#parts = parts
    this.#ids = ids
  }

  debug(message: string, context?: LogContext, ...more: readonly unknown[]): void {
    this.#log('debug', message, context, more)
  }

  info(message: string, context?: LogContext, ...more: readonly unknown[]): void {
    this.#log('info', message, context, more)
  }

  warning(message: string, context?: LogContext, ...more: readonly unknown[]): void {
    this.#log('warning', message, context, more)
  }

  error(message: string, context?: LogContext, ...more: readonly unknown[]): void {
    this.#log('error', message, context, more)
  }

  critical(message: string, context?: LogContext, ...more: readonly unknown[]): void {
    this.#log('critical', message, context, more)
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
      const span = findIds(finders, undefined)?.span
      if (context instanceof AccessEntry && span === undefined && observers.size === 0 && context.message === message) {
        writer.appendEntry({ at: clock(), requestId, context })
        return
      }
      const time = writer.toTime(clock())
      const record: LogRecord = {
        time,
        level: 'info',
        channel: 'access',
        message,
        context,
        requestId,
        ...(span && { span }),
      }
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

  #log(level: LogLevel, message: string, context: LogContext = {}, more: readonly unknown[] = []): void {
    const { clock, finders, observers, redactor, writer } = this.#parts
    const isWritten = this.#isWritten(level)
    if (!isWritten && observers.size === 0) return
    if (typeof message !== 'string') {
      // As in other libraries, whose first argument may be an error or the context.
      this.#log(level, 'A message must be a string, not {type}. Its context has both arguments.', {
        type: describeValue(message),
        arguments: [message, context, ...more],
      })
      return
    }
    if (typeof context !== 'object' || context === null || types.isNativeError(context) || more.length > 0) {
      const name = types.isNativeError(context) && more.length === 0 ? 'exception' : 'context'
      this.#log(level, message, { [name]: more.length === 0 ? context : [context, ...more] })
      return
    }
    try {
      const record = createRecord(
        writer.toTime(clock()),
        level,
        this.#name,
        message,
        context,
        redactor,
        findIds(finders, this.#ids),
      )
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
  for (const find of finders) {
    const found = find()
    if (found !== undefined) ids = { ...found, ...ids }
  }
  return ids
}

const borne = new WeakSet<object>()

/**
 * A closed pipe or a full disk is an "error" event, which would end the process without a
 * listener. One is enough for all loggers.
 */
function bearErrors(stream: LoggerOptions['stream']): void {
  if (borne.has(stream)) return
  borne.add(stream)
  stream.on?.('error', () => undefined)
}

/** Writes records to a stream. Its methods never throw. */
class LogWriter {
  readonly #stream: LogStream
  readonly #toText: (record: LogRecord) => string
  /** The lines of the access log that are not written yet. */
  #batch = ''
  /** Whether these lines are ASCII: Node writes them faster as Latin-1, in which they have the same bytes. */
  #isAscii = true
  /** The entries of lines behind them. Many lines that are made together take half of the time. */
  #entries: WaitingEntry[] = []
  #timer: NodeJS.Timeout | undefined
  #ms = Number.NaN
  #second = Number.NaN
  /** The time of the second as ISO 8601, without milliseconds. */
  #start = ''
  #time = ''

  constructor({ format, stream }: LoggerOptions) {
    bearErrors(stream)
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
    this.#begin()
    this.#makeLines()
    this.#addRecord(record)
    if (this.#batch.length > batchLength) this.flush()
  }

  /** Appends a record of the access log like {@link append}, and makes its line when it is written. */
  appendEntry(entry: WaitingEntry): void {
    this.#begin()
    if (this.#entries.push(entry) === entryLimit) this.flush()
  }

  /** The first line that waits sets the time of all. */
  #begin(): void {
    if (this.#hasLines()) return
    this.#timer = setTimeout(this.flush, batchTime).unref()
    if (writers.size === 0) process.once('exit', flushAll)
    writers.add(this)
  }

  #hasLines(): boolean {
    return this.#entries.length > 0 || this.#batch !== ''
  }

  /** Makes the lines of the entries that wait. */
  #makeLines(): void {
    const isJson = this.#toText === toJsonLine
    const entries = this.#entries
    this.#entries = []
    for (const { at, requestId, context } of entries) {
      const time = this.toTime(at)
      const line = isJson ? context.toLine(time, requestId) : undefined
      if (line === undefined) {
        this.#addRecord({ time, level: 'info', channel: 'access', message: context.message, context, requestId })
      } else this.#batch += line
    }
  }

  #addRecord(record: LogRecord): void {
    this.#batch += this.#toText(record)
    this.#isAscii = false
  }

  /**
   * A time as ISO 8601. The texts of the last time and second are kept: to make one costs half as
   * much as the rest of a line.
   */
  toTime(ms: number): string {
    if (ms === this.#ms) return this.#time
    const second = Math.floor(ms / 1000)
    if (second !== this.#second) {
      this.#start = new Date(ms).toISOString().slice(0, -'000Z'.length)
      this.#second = second
    }
    this.#time = `${this.#start}${String(ms - second * 1000).padStart(3, '0')}Z`
    this.#ms = ms
    return this.#time
  }

  readonly flush = (): void => {
    if (!this.#hasLines()) return
    clearTimeout(this.#timer)
    this.#makeLines()
    const text = this.#batch
    const isAscii = this.#isAscii
    this.#batch = ''
    this.#isAscii = true
    this.#write(text, isAscii)
  }

  #write(text: string, isAscii = false): void {
    try {
      if (isAscii) this.#stream.write(text, 'latin1')
      else this.#stream.write(text)
    } catch {
      // The log itself has failed: there is no other place to report this.
    }
  }
}

/** A record of the access log whose line is not made yet. */
interface WaitingEntry {
  /** Milliseconds since 1970. */
  readonly at: number
  readonly requestId: string
  readonly context: AccessEntry
}

/** Entries that wait. */
const entryLimit = 200

/** Milliseconds that a line of the access log may wait. */
const batchTime = 20

/** Characters of lines that are written without a wait. */
const batchLength = 65_536

const writers = new Set<LogWriter>()

function flushAll(): void {
  for (const writer of writers) writer.flush()
}

/** Outside of strings JSON has no character to escape. */
function toJsonLine({ time, level, channel, message, template, context, requestId, span }: LogRecord): string {
  // The names of the last two are those of OpenTelemetry for logs in JSON.
  const ids = { request_id: requestId, trace_id: span?.traceId, span_id: span?.spanId }
  const hasContext = Object.keys(context).length > 0
  const line = { time, level, channel, message, template, ...ids, context: hasContext ? context : undefined }
  return `${escapeControls(JSON.stringify(line))}\n`
}

const colours = {
  debug: 'gray',
  info: 'cyan',
  warning: 'yellow',
  error: 'red',
  critical: 'magenta',
} as const satisfies Record<LogLevel, string>

/** Whether a level means an error or a warning. */
export function severityOf(level: LogLevel): 'plain' | 'warning' | 'error' {
  if (level === 'error' || level === 'critical') return 'error'
  return level === 'warning' ? 'warning' : 'plain'
}

/**
 * Formats a record for people: local time, level, channel, message, the part of the context that
 * is not in the message, the beginnings of the ids of request and trace, and each error with its
 * stack on indented lines. No text of a record can begin a line or control the terminal.
 */
function formatReadable(record: LogRecord, isColoured: boolean): string {
  const { level, channel, message, template = '', context, requestId, span } = record
  const style = (colour: Parameters<typeof styleText>[0], text: string) =>
    isColoured ? styleText(colour, text, { validateStream: false }) : text

  const filled = new Set(channel === 'access' ? accessNames : placeholdersOf(template))
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

/** The parts of a line of the access log that its message has. */
const accessNames: readonly string[] = ['method', 'path', 'status']

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

/** Characters of a message. */
export const messageLimit = 4096

/** Creates a record: the context is copied and masked, the message filled and cut to 4,096 characters. */
function createRecord(
  time: string,
  level: LogLevel,
  channel: string,
  template: string,
  values: LogContext,
  redactor: Redactor,
  ids?: LogIds,
): LogRecord {
  const context = copyContext(values, redactor)
  const filled = splitBehindErrorNames(template, context).map(part => fill(part, context))
  return {
    time,
    level,
    channel,
    message: cut(filled.map(part => maskAndCut(part, messageLimit, redactor)).join(''), messageLimit),
    ...(filled.join('') !== template && { template: maskAndCut(template, messageLimit, redactor) }),
    context,
    ...ids,
  }
}

/** The names of the placeholders of a message, in order. */
function placeholdersOf(template: string): string[] {
  return Array.from(template.matchAll(placeholder), ([, name = '']) => name)
}

const placeholder = /\{([\w.-]+)\}/g
const placeholderBeforeColon = /\{([\w.-]{1,60})\}(?=: )/g

/**
 * Splits `{name}: {message}` behind the name of a logged error. The parts are masked alone: else
 * the message behind a name such as `TokenExpired` is masked as the value of a secret.
 */
function splitBehindErrorNames(template: string, context: Readonly<Record<string, unknown>>): string[] {
  const errors = Object.values(context).filter(isLogError)
  if (errors.length === 0) return [template]
  const ends = Array.from(template.matchAll(placeholderBeforeColon))
    .filter(([, key = '']) => errors.some(({ name }) => name === context[key]))
    .map(({ 0: found, index }) => index + found.length)
  return [0, ...ends].map((start, at) => template.slice(start, ends[at]))
}

function fill(template: string, context: Readonly<Record<string, unknown>>): string {
  return template.replace(placeholder, (unfilled, name: string) =>
    Object.hasOwn(context, name) ? toText(context[name]) : unfilled,
  )
}

function toText(value: unknown): string {
  if (isLogError(value)) return value.message
  return typeof value === 'string' ? value : String(JSON.stringify(value))
}

const bounds: CopyBounds = { depth: 6, entries: 500, text: 2048 }

/**
 * Copies a context into plain data: masked, six levels deep, 500 entries in all, texts of at most 2,048 characters; `…`
 * stands for parts that are left out. Errors are copied with their stacks; of instances of other classes only the name
 * is copied. Getters and `toJSON` are not called.
 */
export function copyContext(context: LogContext, redactor: Redactor): Record<string, unknown> {
  try {
    return new MaskingCopier(redactor, bounds, copyError).record(context)
  } catch {
    // A proxy may throw. The message is logged anyway.
    return { '…': 'The context could not be read.' }
  }
}

function copyError(error: object, mask: (text: string) => string, masker: TextMasker): LogError {
  // The stack of a client's mistake is of no interest, and to read it is costly.
  const hasFrames = !isClientError(Number(readProperty(error, 'status')))
  let copier: MaskingCopier | undefined
  // Most errors have no further properties.
  const copy: CopyProperties = properties => {
    copier ??= new MaskingCopier(masker, propertyBounds)
    return copier.record(properties)
  }
  return toLogError(flattenError(error, { hasFrames, mask }), mask, copy)
}

/** An error in the context of a record. */
export interface LogError {
  readonly name: string
  readonly message: string
  readonly code?: string | number
  readonly status?: number
  /** One frame per line, without the message; empty for a client's mistake (status 4xx). */
  readonly stack: string
  readonly cause?: LogError
  readonly errors?: readonly LogError[]
  readonly note?: string
  /** Further properties of the error, such as `detail` of an error of PostgreSQL, or the `issues` of a validator. */
  readonly properties?: Readonly<Record<string, unknown>>
}

const frameLimit = 30

type CopyProperties = (properties: object) => Record<string, unknown>

/** Shortens an error for the log; `mask` is applied to its texts, and `copy` copies its properties. */
function toLogError(error: FlatError, mask: (text: string) => string, copy: CopyProperties): LogError {
  const { name, message, code, frames, cause, errors, properties, ...rest } = error
  return {
    ...rest,
    name: mask(name),
    message,
    ...(code !== undefined && { code: typeof code === 'string' ? mask(code) : code }),
    ...(properties && { properties: copy(properties) }),
    stack: frames
      .slice(0, frameLimit)
      .map(frame => mask(formatFrame(frame)))
      .join('\n'),
    ...(cause && { cause: toLogError(cause, mask, copy) }),
    ...(errors && { errors: errors.map(inner => toLogError(inner, mask, copy)) }),
  }
}

/** Whether a value of a context is an error. */
export function isLogError(value: unknown): value is LogError {
  const error = value as Partial<LogError> | null | undefined
  return typeof error?.message === 'string' && typeof error.stack === 'string' && typeof error.name === 'string'
}
