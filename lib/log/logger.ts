/** The data of a log record; errors in it are told with their stacks. */
export type LogContext = Readonly<Record<string, unknown>>

/**
 * Takes note of what happens. A message is a constant sentence; its `{placeholders}` are filled from the context, and one
 * the context lacks stays as it is. Secrets are masked. Logging never throws.
 */
export interface Logger {
  debug(message: string, context?: LogContext): void
  info(message: string, context?: LogContext): void
  warning(message: string, context?: LogContext): void
  error(message: string, context?: LogContext): void
  critical(message: string, context?: LogContext): void
  /** A logger whose records name another channel. */
  channel(name: string): Logger
  /** Tells every record of every channel, also those below the level; returns what ends that. */
  observe(observer: LogObserver): () => void
}

/** Hears of a record while it is being logged: its caller is still on the stack. */
export type LogObserver = (record: LogRecord) => void

/** A record as it is logged: plain data, masked and within bounds, ready to be kept. */
export interface LogRecord {
  /** ISO 8601 in UTC, with milliseconds. */
  readonly time: string
  readonly level: LogLevel
  readonly channel: string
  /** With its placeholders filled. */
  readonly message: string
  /** The constant sentence, where it had placeholders to fill. */
  readonly template?: string
  readonly context: Readonly<Record<string, unknown>>
}

/** How much a record matters, least first. */
export const logLevels = ['debug', 'info', 'warning', 'error', 'critical'] as const

/** One of {@link logLevels}. */
export type LogLevel = (typeof logLevels)[number]
