import path from 'node:path'
import type { LogLevel, LogRecord } from '../../../lib/log/logger.ts'
import { isLogError } from '../../../lib/log/record.ts'
import { locateFrame, parseStack, type StackFrame } from '../../../lib/stack/stack-frames.ts'

/** A log record as it is kept. */
export interface TracedLog {
  /** Microseconds since the request began. */
  readonly at: number
  readonly level: LogLevel
  readonly channel: string
  /** With its placeholders filled. */
  readonly message: string
  /** The constant sentence, where it had placeholders to fill. */
  readonly template?: string
  readonly context?: Readonly<Record<string, unknown>>
  /** Where it was logged; of warnings and above, unless they are of an error, which has a place of its own. */
  readonly site?: CallSite
  /** Whether the context, and the end of a long message, were left out: there were too many long ones before. */
  readonly isCut?: true
}

/** The first and the last records tell most: how it began, and how it ended. */
const endLimit = 500

/** Characters of contexts and messages that are kept at each end; records in between are cut short. */
const textLimit = 250_000
const shortMessage = 200

/** Reading a stack costs more than all the rest of a record, and a flood of warnings has few origins. */
const siteLimit = 50

/** What was logged while one request was handled: masked and bounded by the logger, and bounded in number here. */
export class LogTrace {
  /** Records of level error and above, also of those that were dropped. */
  errors = 0
  /** Records of level warning, also of those that were dropped. */
  warnings = 0
  readonly #start: number
  readonly #first = new FirstLogs()
  readonly #last = new LastLogs()
  #sites = 0

  #latest = Number.NEGATIVE_INFINITY

  /** `start` is the trace's, by `performance.now()`. */
  constructor(start: number) {
    this.#start = start
  }

  /** When the last record was added, in milliseconds since the request began. */
  get latest(): number {
    return this.#latest / 1000
  }

  /** How many records, between the first and the last, there was no room for. */
  get dropped(): number {
    return this.#last.overwritten
  }

  /** Takes note of a record; `locate` is asked where it came from, while its caller is still on the stack. */
  add({ channel, context, level, message, template }: LogRecord, locate: () => CallSite | undefined): void {
    const at = Math.round((performance.now() - this.#start) * 1000)
    this.#latest = at
    const isWarning = level === 'warning'
    const isError = level === 'error' || level === 'critical'
    if (isWarning) this.warnings++
    else if (isError) this.errors++
    const isLocated = (isWarning || isError) && !isLogError(context.exception) && this.#sites++ < siteLimit
    const site = isLocated ? locate() : undefined
    const end = this.#first.isFull ? this.#last : this.#first
    end.add({
      at,
      level,
      channel,
      message,
      ...(template !== undefined && { template }),
      ...(hasEntries(context) && { context }),
      ...(site !== undefined && { site }),
    })
  }

  /** The records that were kept, in their order. */
  toArray(): TracedLog[] {
    return [...this.#first.toArray(), ...this.#last.toArray()]
  }
}

/** Keeps records until there are enough; those that come when there is too much text already are cut short. */
class FirstLogs {
  readonly #logs: TracedLog[] = []
  #size = 0

  get isFull(): boolean {
    return this.#logs.length === endLimit
  }

  add(log: TracedLog): void {
    const size = sizeOf(log)
    const isCut = this.#size + size > textLimit
    if (!isCut) this.#size += size
    this.#logs.push(isCut ? shorten(log) : log)
  }

  toArray(): readonly TracedLog[] {
    return this.#logs
  }
}

/** Keeps the newest records; when there is too much text the older ones are cut short. */
class LastLogs {
  /** A ring: each new record takes the place of the oldest. */
  readonly #entries: Entry[] = []
  #size = 0
  #added = 0
  /** How many, from the first one ever added, are overwritten or cut short. */
  #cut = 0

  get overwritten(): number {
    return this.#added - this.#entries.length
  }

  add(log: TracedLog): void {
    const at = this.#added % endLimit
    const size = sizeOf(log)
    this.#size += size - (this.#entries[at]?.size ?? 0)
    this.#entries[at] = { log, size }
    this.#added++
    this.#cut = Math.max(this.#cut, this.overwritten)
    while (this.#size > textLimit) this.#cutOldest()
  }

  toArray(): readonly TracedLog[] {
    const oldest = this.overwritten % endLimit
    return [...this.#entries.slice(oldest), ...this.#entries.slice(0, oldest)].map(({ log }) => log)
  }

  #cutOldest(): void {
    // There is one: the size is that of those that are not cut.
    const entry = this.#entries[this.#cut++ % endLimit] as Entry
    entry.log = shorten(entry.log)
    this.#size -= entry.size
    entry.size = 0
  }
}

interface Entry {
  log: TracedLog
  /** Of what is not cut short, its characters. */
  size: number
}

function hasEntries(context: Readonly<Record<string, unknown>>): boolean {
  for (const _name in context) return true
  return false
}

function shorten({ at, channel, level, message, site }: TracedLog): TracedLog {
  const start = message.length <= shortMessage ? message : `${message.slice(0, shortMessage).toWellFormed()}…`
  return { at, level, channel, message: start, ...(site !== undefined && { site }), isCut: true }
}

function sizeOf({ context, message, template = '' }: TracedLog): number {
  return message.length + template.length + (context === undefined ? 0 : measure(context))
}

/** About how many characters of JSON plain data makes. */
function measure(value: unknown): number {
  if (typeof value === 'string') return value.length + 2
  if (typeof value !== 'object' || value === null) return 8
  let size = 2
  for (const name of Object.keys(value)) size += name.length + measure((value as Record<string, unknown>)[name])
  return size
}

/** A place in the source. */
export interface CallSite {
  /** Relative to the project. */
  readonly file: string
  readonly line: number
  /** The function that it lies in. */
  readonly function?: string
}

/** Like the kernel, it is what the application is built upon: a line logged there is news of whoever has called it. */
const own = path.join('bundles', 'profiler') + path.sep

const frameLimit = 40

/**
 * Finds which code of the application has led here: the innermost frame within the project that is neither a package's
 * nor `lib/`, `kernel/` or the profiler; `undefined` when there is none. Costs tens of microseconds, and more where
 * source maps are applied.
 */
export function findCallSite(directory: string): CallSite | undefined {
  for (const frame of captureStack()) {
    const { function: name, line } = frame
    const { file, origin } = locateFrame(frame, directory)
    if (origin !== 'application' || file === undefined || line === undefined || file.startsWith(own)) continue
    return { file, line, ...(name !== undefined && { function: name }) }
  }
  return undefined
}

function captureStack(): readonly StackFrame[] {
  const { stackTraceLimit } = Error
  Error.stackTraceLimit = frameLimit
  const frames = parseStack(new Error())
  Error.stackTraceLimit = stackTraceLimit
  return frames
}
