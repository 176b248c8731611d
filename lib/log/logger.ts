/** The data of a log message. Errors in it are logged with their stacks. */
export type LogContext = Readonly<Record<string, unknown>>

/**
 * Logs messages. A message is a constant sentence; its `{placeholders}` are filled from the context, and a placeholder
 * without a value stays as it is. Secrets are masked. Logging never throws.
 */
export interface Logger {
  /** Logs a detail for developers. `{name}` in the message stands for a value of the context. */
  debug(message: string, context?: LogContext): void
  /** Logs something usual. `{name}` in the message stands for a value of the context. */
  info(message: string, context?: LogContext): void
  /** Logs something that is no error, but should be looked at. */
  warning(message: string, context?: LogContext): void
  /** Logs a failure of one request or job. The context has the error as `exception`. */
  error(message: string, context?: LogContext): void
  /** Logs a failure of the application itself. */
  critical(message: string, context?: LogContext): void
  /** Whether messages of a level are written or observed: asked before the context of a frequent message is made. */
  isLevelEnabled(level: LogLevel): boolean
  /** Creates a logger of another channel. */
  channel(name: string): Logger
  /** Creates a logger of the same channel whose records have the id of a request. */
  withRequestId(requestId: string): Logger
  /**
   * Writes a line of the access log: level `info` and channel `access`, also if the least level is higher. The texts
   * must be masked. Lines are written together: each one after at most 20 ms, and before the next other message.
   */
  access(message: string, requestId: string, context: LogContext): void
  /** Adds ids to all records, those of other channels included. Returns a function that ends this. */
  correlate(findIds: () => LogIds | undefined): () => void
  /** Passes the records of all channels and levels to an observer. Returns a function that removes it. */
  observe(observer: LogObserver): () => void
}

/** Called while a record is logged: the caller of the logger is still on the stack. */
export type LogObserver = (record: LogRecord) => void

/** The ids of the work in which a message was logged. */
export interface LogIds {
  /** The id of the request. */
  readonly requestId?: string
  /** The span, if tracing is on. */
  readonly span?: SpanIds
}

/** The ids of a span of OpenTelemetry, as lower-case hexadecimal digits. */
interface SpanIds {
  readonly traceId: string
  readonly spanId: string
}

/** A log message as it is written and observed: plain data, masked and bounded. */
export interface LogRecord extends LogIds {
  /** ISO 8601 in UTC, with milliseconds. */
  readonly time: string
  /** How serious it is. */
  readonly level: LogLevel
  /** The part of the application that has logged it. */
  readonly channel: string
  /** The message with its placeholders filled. */
  readonly message: string
  /** The message before its placeholders were filled, if it has any. */
  readonly template?: string
  /** The values of the message, with masked secrets. */
  readonly context: Readonly<Record<string, unknown>>
}

/** The levels, least first. */
export const logLevels = ['debug', 'info', 'warning', 'error', 'critical'] as const

/** One of {@link logLevels}. */
export type LogLevel = (typeof logLevels)[number]
