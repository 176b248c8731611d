import type { Foundation } from '../../../../kernel/bundle.ts'
import { loggedLines } from '../../../../kernel/contracts/process-calls.ts'
import { guard } from '../../../../lib/guard.ts'
import { copyContext, isLogError, type LogError, messageLimit, severityOf } from '../../../../lib/log/create-logger.ts'
import type { LogLevel, LogRecord } from '../../../../lib/log/logger.ts'
import { readClock } from '../../../../lib/own-globals.ts'
import { maskAndCut } from '../../../../lib/redact/masking-copier.ts'
import { type Caller, Callers } from '../../../../lib/stack/callers.ts'
import { locateFrame, parseStack } from '../../../../lib/stack/stack-frames.ts'
import { recordError } from '../../record/code-places.ts'
import type { CollectorOf } from '../../record/collect.ts'
import { warningChannels } from '../../record/node-warnings.ts'
import type { RecordedSubject } from '../../record/recorded-subject.ts'
import { type FindTrace, TracePart } from '../../record/trace.ts'
import type { LeftMessages, LoggerData, LogMessage } from './data.ts'

/** The log messages of requests. In production, the warnings of Node.js are not observed. */
export const logsSubject: RecordedSubject = {
  observeProcess: (foundation, { findTrace }) => [
    observeLog(foundation, findTrace),
    observeLines(foundation, findTrace),
    ...(foundation.debugGate.isDebug ? [observeWarnings(foundation, findTrace)] : []),
  ],
  createCollectors: ({ directory }) => [createLoggerCollector(directory)],
}

/** Collects the log messages of a request, which the logger has masked. Paths are relative to the directory. */
function createLoggerCollector(directory: string): CollectorOf<'logger'> {
  return {
    name: 'logger',
    collectsLate: true,
    collect(trace): LoggerData | undefined {
      const logs = logPart.find(trace)
      if (logs === undefined) return undefined
      const { dropped, left } = logs
      const records = logs.toArray().map(log => recordLog(log, directory))
      return { records, dropped, ...(left.length > 0 && { left }) }
    },
    summarize(trace) {
      const { errors = 0, warnings = 0 } = logPart.find(trace) ?? {}
      return { errors, warnings }
    },
    hasWorked: (trace, since) => (logPart.find(trace)?.latest ?? since) > since,
  }
}

/** A log message as it is stored. */
interface TracedLog {
  /** Microseconds since the request began. */
  readonly at: number
  readonly level: LogLevel
  readonly channel: string
  /** With filled placeholders. */
  readonly message: string
  /** The message before its placeholders were filled; absent without placeholders. */
  readonly template?: string
  readonly context?: Readonly<Record<string, unknown>>
  /**
   * Where it was logged; of warnings and above, except for those about an error, which has a place
   * of its own, and of the message with which a request has logged too much.
   */
  readonly site?: Caller
  /** Whether the context and the end of a long message were left out, after too many long messages. */
  readonly isCut?: true
}

/** What is kept of the messages of a severity from the start of the request, and as much from its end. */
interface EndLimit {
  readonly messages: number
  /** Characters of contexts and messages; messages beyond are shortened. */
  readonly text: number
}

const plainLimit: EndLimit = { messages: 500, text: 250_000 }

const severeLimit: EndLimit = { messages: 200, text: 150_000 }

/** The number of different messages that are counted one by one when they are dropped. */
const leftLimit = 100

const shortMessage = 200

/**
 * The number of messages of a severity that get a place: reading a stack costs more than recording
 * the rest of a message.
 */
const siteLimit = 50

/** Limit of `many-logs`: messages that are not too many. The next one is located: its line is mostly that of a loop. */
export const mostLogs = 100

/** The log messages of one request. The logger masks and bounds each; their number is bounded here. */
export class LogTrace {
  /** Messages of level error and above, including dropped ones. */
  errors = 0
  /** Messages of level warning, including dropped ones. */
  warnings = 0
  readonly #start: number
  /** A flood of one severity leaves room for the others. */
  readonly #kept: Partial<Record<ReturnType<typeof severityOf>, KeptLogs>> = {}
  /** The dropped messages, counted by level, channel and message. */
  readonly #left = new Map<string, LeftMessages>()
  /** Messages above the level debug. */
  #written = 0
  #added = 0
  #latest = Number.NEGATIVE_INFINITY

  /** `start` is the start of the request, by `performance.now()`. */
  constructor(start: number) {
    this.#start = start
  }

  /** When the last message was added that shows work, in milliseconds since the request began. */
  get latest(): number {
    return this.#latest / 1000
  }

  /** The number of messages that were not kept. */
  get dropped(): number {
    return this.left.reduce((sum, { times }) => sum + times, 0)
  }

  /** The messages that were not kept. */
  get left(): readonly LeftMessages[] {
    return [...this.#left.values()]
  }

  /**
   * Adds a message; `locate` finds its place while its caller is on the stack. `isWork` is whether it shows that the
   * work goes on.
   */
  add(
    { channel, context, level, message, template }: Omit<LogRecord, 'time'>,
    locate: () => Caller | undefined,
    isWork = true,
  ): void {
    const at = Math.round((readClock() - this.#start) * 1000)
    if (isWork) this.#latest = at
    const severity = severityOf(level)
    this.#kept[severity] ??= new KeptLogs(severity === 'plain' ? plainLimit : severeLimit, log => this.#count(log))
    const kept = this.#kept[severity]
    if (severity === 'warning') this.warnings++
    else if (severity === 'error') this.errors++
    const isLocated = severity !== 'plain' && !isLogError(context.exception) && kept.sites++ < siteLimit
    const isOneTooMany = level !== 'debug' && this.#written++ === mostLogs
    const site = isLocated || isOneTooMany ? locate() : undefined
    kept.add(this.#added++, {
      at,
      level,
      channel,
      message,
      ...(template !== undefined && { template }),
      ...(hasEntries(context) && { context }),
      ...(site !== undefined && { site }),
    })
  }

  /** The messages that were kept, in their order. */
  toArray(): TracedLog[] {
    const entries = Object.values(this.#kept).flatMap(kept => kept.toArray())
    return entries.sort((one, other) => one.number - other.number).map(({ log }) => log)
  }

  #count({ channel, level, message: text, template = text }: TracedLog): void {
    const message = cutText(template)
    const key = `${level} ${channel} ${message}`
    const isCounted = this.#left.has(key) || this.#left.size < leftLimit
    const counted = isCounted ? { level, channel, message } : { level, channel: '', message: '' }
    const counter = isCounted ? key : level
    this.#left.set(counter, { ...counted, times: (this.#left.get(counter)?.times ?? 0) + 1 })
  }
}

const logPart: TracePart<LogTrace> = new TracePart(({ start }) => new LogTrace(start))

/** Keeps the first and the newest messages of a severity. With too much text, those in the middle are shortened. */
class KeptLogs {
  /** How many messages were to get a place. */
  sites = 0
  readonly #limit: EndLimit
  readonly #drop: (log: TracedLog) => void
  readonly #first: Entry[] = []
  #firstSize = 0
  /** A ring: each new message replaces the oldest. */
  readonly #last: Entry[] = []
  #lastSize = 0
  /** The messages that were added to the ring. */
  #added = 0
  /** How many messages of the ring, counted from the first, are overwritten or shortened. */
  #cut = 0

  /** Keeps messages up to the limit at each end; `drop` is called with each message that is not kept. */
  constructor(limit: EndLimit, drop: (log: TracedLog) => void) {
    this.#limit = limit
    this.#drop = drop
  }

  /** Adds the message with a number, by which the messages of all severities are in order. */
  add(number: number, log: TracedLog): void {
    const size = sizeOf(log)
    if (this.#first.length === this.#limit.messages) this.#addLast({ number, log, size })
    else if (this.#firstSize + size > this.#limit.text) this.#first.push({ number, log: shorten(log), size: 0 })
    else {
      this.#firstSize += size
      this.#first.push({ number, log, size })
    }
  }

  toArray(): readonly Entry[] {
    return [...this.#first, ...this.#last]
  }

  #addLast(entry: Entry): void {
    const at = this.#added % this.#limit.messages
    const oldest = this.#last[at]
    if (oldest !== undefined) this.#drop(oldest.log)
    this.#lastSize += entry.size - (oldest?.size ?? 0)
    this.#last[at] = entry
    this.#added++
    this.#cut = Math.max(this.#cut, this.#added - this.#last.length)
    while (this.#lastSize > this.#limit.text) this.#cutOldest()
  }

  #cutOldest(): void {
    // It exists: the size counts messages that are not shortened.
    const entry = this.#last[this.#cut++ % this.#limit.messages] as Entry
    entry.log = shorten(entry.log)
    this.#lastSize -= entry.size
    entry.size = 0
  }
}

interface Entry {
  /** Its place among all messages of the request. */
  readonly number: number
  log: TracedLog
  /** Its characters; 0 when it is shortened. */
  size: number
}

function hasEntries(context: Readonly<Record<string, unknown>>): boolean {
  for (const name in context) if (Object.hasOwn(context, name)) return true
  return false
}

function shorten({ at, channel, level, message, site }: TracedLog): TracedLog {
  return { at, level, channel, message: cutText(message), ...(site !== undefined && { site }), isCut: true }
}

function cutText(message: string): string {
  return message.length <= shortMessage ? message : `${message.slice(0, shortMessage).toWellFormed()}…`
}

function sizeOf({ context, message, template = '' }: TracedLog): number {
  return message.length + template.length + (context === undefined ? 0 : measure(context))
}

/** Estimates the characters of plain data as JSON. */
function measure(value: unknown): number {
  if (typeof value === 'string') return value.length + 2
  if (typeof value !== 'object' || value === null) return 8
  let size = 2
  for (const name of Object.keys(value)) size += name.length + measure((value as Record<string, unknown>)[name])
  return size
}

/** Adds each log message to the trace of its request, until the returned function is called. */
function observeLog({ directory, logger }: Pick<Foundation, 'directory' | 'logger'>, findTrace: FindTrace): () => void {
  const callers = new Callers(directory)
  const locate = () => callers.find()
  return logger.observe(record => {
    // The access log is about a request, and not a part of its work. So is the line that names its profile.
    const isAbout = record.channel === 'access' || (record.channel === 'profiler' && record.level === 'critical')
    const trace = isAbout ? undefined : findTrace()
    if (trace === undefined) return
    logPart.of(trace).add(record, locate)
    trace.touch()
  })
}

/**
 * Adds the lines of libraries for logs, masked, until the returned function is called. A line behind the response is
 * no work that goes on: most are about the response itself.
 */
function observeLines(
  { directory, redactor }: Pick<Foundation, 'directory' | 'redactor'>,
  findTrace: FindTrace,
): () => void {
  const callers = new Callers(directory)
  const locate = () => callers.find()
  return loggedLines.observe((level, read) => {
    const trace = findTrace()
    if (trace === undefined) return
    const line = read()
    const channel = maskAndCut(line.channel, channelLength, redactor)
    const message = maskAndCut(line.message, messageLimit, redactor)
    logPart.of(trace).add({ level, channel, message, context: copyContext(line.context, redactor) }, locate, false)
    trace.touch()
  })
}

const channelLength = 100

/** Characters of a warning. */
const warningLength = 2000

/**
 * Records warnings of Node.js and of packages on the traces of their requests, as log messages of
 * the channels `deprecation` and `listeners`, until the returned function is called. Node.js
 * prints them as before, and reports most of them once per process.
 */
function observeWarnings(
  { directory, redactor }: Pick<Foundation, 'directory' | 'redactor'>,
  findTrace: FindTrace,
): () => void {
  const onWarning = guard('warnings', (warning: Error & { readonly code?: string }) => {
    const channel = warningChannels.get(warning.name)
    const trace = channel === undefined ? undefined : findTrace()
    if (channel === undefined || trace === undefined) return
    const { code, message } = warning
    const text = maskAndCut(code === undefined ? message : `${code}: ${message}`, warningLength, redactor)
    const record = { level: 'warning', channel, message: text, context: {} } as const
    logPart.of(trace).add(record, () => findCaller(warning, directory))
    trace.touch()
  })
  process.on('warning', onWarning)
  return () => process.off('warning', onWarning)
}

/** Finds the first place of the application on the stack of an error. */
function findCaller(error: Error, directory: string): Caller | undefined {
  for (const frame of parseStack(error)) {
    const { file, origin } = locateFrame(frame, directory)
    if (origin === 'application' && file !== undefined) return { file, line: frame.line, column: frame.column }
  }
  return undefined
}

/** Makes a log message for a profile: errors of its context become exceptions. The logger has masked all of it. */
function recordLog(log: TracedLog, directory: string): LogMessage {
  const { context = {}, ...rest } = log
  const entries = Object.entries(context)
  const errors = entries.filter((entry): entry is [string, LogError] => isLogError(entry[1]))
  if (errors.length === 0) return log
  const others = entries.filter(([, value]) => !isLogError(value))
  return {
    ...rest,
    ...(others.length > 0 && { context: Object.fromEntries(others) }),
    exceptions: Object.fromEntries(errors.map(([name, error]) => [name, recordError(error, [], directory)])),
  }
}
