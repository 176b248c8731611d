import { createRequire } from 'node:module'
import type { pino as Pino, Level as PinoLevel, Logger as PinoLogger } from 'pino'
import { Redactor } from '../redact/redactor.ts'
import { escapeControls } from '../text/escape-controls.ts'
import { type LogContext, type Logger, type LogLevel, type LogObserver, type LogRecord, logLevels } from './logger.ts'
import { formatReadable } from './readable.ts'
import { createRecord } from './record.ts'

/** Where lines go, such as `process.stdout`. */
export interface LogStream {
  write(text: string): unknown
  /** Readable lines are coloured where this is true. */
  readonly isTTY?: boolean
  on?(event: 'error', listener: () => void): unknown
}

/** How records are written. */
export interface LoggerOptions {
  /** The least level that is written. */
  readonly level: LogLevel
  /** One JSON object a line, or lines for people. */
  readonly format: 'json' | 'readable'
  readonly stream: LogStream
  readonly clock?: () => Date
  readonly redactor?: Redactor
}

/** Creates the logger of the channel `app`; its method `channel` gives those of the others. */
export function createLogger(options: LoggerOptions): Logger {
  const { clock = () => new Date(), redactor = new Redactor() } = options
  return new ChannelLogger('app', {
    createSink: prepareSink(options),
    level: options.level,
    clock,
    redactor,
    observers: new Set(),
  })
}

interface Parts {
  /** Gives the same one each time. */
  readonly createSink: () => PinoLogger
  /** The least that is written. */
  readonly level: LogLevel
  readonly clock: () => Date
  readonly redactor: Redactor
  readonly observers: Set<LogObserver>
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

  observe(observer: LogObserver): () => void {
    const { observers } = this.#parts
    observers.add(observer)
    return () => observers.delete(observer)
  }

  #log(level: LogLevel, message: string, context: LogContext = {}): void {
    const { createSink, clock, redactor, observers } = this.#parts
    const isWritten = logLevels.indexOf(level) >= logLevels.indexOf(this.#parts.level)
    if (!isWritten && observers.size === 0) return
    try {
      const record = createRecord(clock(), level, this.#name, message, context, redactor)
      if (isWritten) write(createSink(), record)
      for (const observer of observers) observer(record)
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

/** The package is loaded with the first line: a server that has just started has nothing to say. */
function prepareSink({ level, format, stream }: LoggerOptions): () => PinoLogger {
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
  const write = (line: string) => {
    try {
      stream.write(toText(line))
    } catch {
      // Nobody is left to be told.
    }
  }
  let sink: PinoLogger | undefined
  return () => {
    sink ??= loadPino()(settings, { write })
    return sink
  }
}

function loadPino(): typeof Pino {
  const require = createRequire(import.meta.url)
  return require('pino')
}

function write(sink: PinoLogger, { level, message, context, ...fields }: LogRecord): void {
  const hasContext = Object.keys(context).length > 0
  sink[pinoLevels[level]](hasContext ? { ...fields, context } : fields, message)
}

/** Outside of strings JSON has no character to escape, except the line break at the end. */
function toJsonLine(line: string): string {
  return `${escapeControls(line.trimEnd())}\n`
}
