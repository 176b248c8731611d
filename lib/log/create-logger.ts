import { type Level as PinoLevel, type Logger as PinoLogger, pino } from 'pino'
import { Redactor } from '../redact/redactor.ts'
import { escapeControls } from './escape-controls.ts'
import { type LogLevel, logLevels } from './levels.ts'
import type { LogContext, Logger, LogRecord } from './logger.ts'
import { formatReadable } from './readable.ts'
import { createRecord } from './record.ts'

/** Where lines go, such as `process.stdout`. */
export interface LogStream {
  write(text: string): unknown
  /** Readable lines are coloured where this is true. */
  readonly isTTY?: boolean
  on?(event: 'error', listener: () => void): unknown
}

/** How records are written, and who else hears of them. */
export interface LoggerOptions {
  /** The least level that is written. */
  readonly level: LogLevel
  /** One JSON object a line, or lines for people. */
  readonly format: 'json' | 'readable'
  readonly stream: LogStream
  readonly clock?: () => Date
  readonly redactor?: Redactor
  /** Hears every record of every channel, also those below the level. */
  readonly onRecord?: (record: LogRecord) => void
}

/** Creates the logger of the channel `app`; its method `channel` gives those of the others. */
export function createLogger(options: LoggerOptions): Logger {
  const { clock = () => new Date(), redactor = new Redactor(), onRecord = undefined } = options
  return new ChannelLogger('app', { sink: createSink(options), clock, redactor, onRecord })
}

interface Parts {
  readonly sink: PinoLogger
  readonly clock: () => Date
  readonly redactor: Redactor
  readonly onRecord: ((record: LogRecord) => void) | undefined
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

  #log(level: LogLevel, message: string, context: LogContext = {}): void {
    const { sink, clock, redactor, onRecord } = this.#parts
    const isWritten = sink.isLevelEnabled(pinoLevels[level])
    if (!isWritten && onRecord === undefined) return
    try {
      const record = createRecord(clock(), level, this.#name, message, context, redactor)
      if (isWritten) write(sink, record)
      onRecord?.(record)
    } catch {
      // Whoever logs is often handling an error already: that a context cannot be read must not hide it.
    }
  }
}

const pinoLevels: Readonly<Record<LogLevel, PinoLevel>> = {
  debug: 'debug',
  info: 'info',
  warning: 'warn',
  error: 'error',
  critical: 'fatal',
}

function createSink({ level, format, stream }: LoggerOptions): PinoLogger {
  // A closed pipe or a full disk is told by an event; unheard, it would end the process.
  stream.on?.('error', () => undefined)
  const toText =
    format === 'json' ? toJsonLine : (line: string) => formatReadable(JSON.parse(line), stream.isTTY === true)
  const settings = {
    level: pinoLevels[level],
    base: null,
    // The time is that of the record.
    timestamp: false,
    formatters: { level: (label: string) => ({ level: logLevels.find(name => pinoLevels[name] === label) }) },
    messageKey: 'message',
    // Records are within bounds already.
    depthLimit: 100,
    edgeLimit: 10_000,
  }
  return pino(settings, {
    write(line) {
      try {
        stream.write(toText(line))
      } catch {
        // Nobody is left to be told.
      }
    },
  })
}

function write(sink: PinoLogger, { level, message, context, ...fields }: LogRecord): void {
  const hasContext = Object.keys(context).length > 0
  sink[pinoLevels[level]](hasContext ? { ...fields, context } : fields, message)
}

/** Outside of strings JSON has no character to escape, except the line break at the end. */
function toJsonLine(line: string): string {
  return `${escapeControls(line.trimEnd())}\n`
}
