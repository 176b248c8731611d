import { Redactor } from '../redact/redactor.ts'
import { escapeControls } from '../text/escape-controls.ts'
import {
  type LogContext,
  type Logger,
  type LogLevel,
  type LogObserver,
  type LogRecord,
  logLevels,
  type SpanIds,
} from './logger.ts'
import { formatReadable } from './readable.ts'
import { createRecord } from './record.ts'

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
  const parts = { level, clock, redactor, write: createWriter(options), observers: new Set<LogObserver>() }
  return new ChannelLogger('app', { ...parts, findSpan: undefined })
}

/** What the loggers of all channels share. */
interface Parts {
  readonly level: LogLevel
  readonly clock: () => Date
  readonly redactor: Redactor
  readonly write: (record: LogRecord) => void
  readonly observers: Set<LogObserver>
  findSpan: (() => SpanIds | undefined) | undefined
}

class ChannelLogger implements Logger {
  readonly #name: string
  readonly #parts: Parts

  constructor(name: string, parts: Parts) {
    this.#name = name
    this.#parts = parts
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
    return new ChannelLogger(name, this.#parts)
  }

  isLevelEnabled(level: LogLevel): boolean {
    return this.#isWritten(level) || this.#parts.observers.size > 0
  }

  #isWritten(level: LogLevel): boolean {
    return logLevels.indexOf(level) >= logLevels.indexOf(this.#parts.level)
  }

  observe(observer: LogObserver): () => void {
    const { observers } = this.#parts
    observers.add(observer)
    return () => observers.delete(observer)
  }

  correlate(findSpan: () => SpanIds | undefined): () => void {
    const parts = this.#parts
    parts.findSpan = findSpan
    return () => {
      parts.findSpan = undefined
    }
  }

  #log(level: LogLevel, message: string, context: LogContext = {}): void {
    const { write, clock, redactor, observers, findSpan } = this.#parts
    const isWritten = this.#isWritten(level)
    if (!isWritten && observers.size === 0) return
    try {
      const record = createRecord(clock(), level, this.#name, message, context, redactor, findSpan?.())
      if (isWritten) write(record)
      for (const observer of observers) observer(record)
    } catch {
      // Often the caller is handling an error already. An exception here would hide it.
    }
  }
}

/** Creates the function that writes a record. It never throws. */
function createWriter({ format, stream }: LoggerOptions): (record: LogRecord) => void {
  // A closed pipe or a full disk is an "error" event. Without a listener it would end the process.
  stream.on?.('error', () => undefined)
  const toText = format === 'json' ? toJsonLine : (record: LogRecord) => formatReadable(record, stream.isTTY === true)
  return record => {
    try {
      stream.write(toText(record))
    } catch {
      // The log itself has failed: there is no other place to report this.
    }
  }
}

/** Outside of strings JSON has no character to escape. */
function toJsonLine({ time, level, channel, message, template, context, span }: LogRecord): string {
  const hasContext = Object.keys(context).length > 0
  // The names are those of OpenTelemetry for logs in JSON.
  const ids = { trace_id: span?.traceId, span_id: span?.spanId }
  const line = { time, level, channel, message, template, ...ids, context: hasContext ? context : undefined }
  return `${escapeControls(JSON.stringify(line))}\n`
}
