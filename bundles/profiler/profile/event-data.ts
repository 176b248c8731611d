import * as v from 'valibot'
import {
  amount,
  check,
  flag,
  indexedList,
  isAmount,
  isNumber,
  isTexts,
  list,
  maybe,
  number,
  type Schema,
  text,
} from './schema.ts'

/** How a span ended, as bits: its event was stopped; an error was thrown. */
export const SpanFlag = { Stopped: 1, Threw: 2 } as const

/**
 * One span of the event tree as it is stored: an array, and short, because each request has dozens of them. Times are
 * whole microseconds since the request began. Elements at the end are left out when they have their default.
 */
export type SpanRow = [
  /** `null` for a dispatch; for a call, the listener's priority; `request` for a sub-request. */
  mark: null | number | 'request',
  /** The event; the listener; the token of the sub-request. */
  name: string,
  start: number,
  /** `null` while it is not over. */
  duration: number | null,
  /**
   * The index of the row that contains this one. For a call: its dispatch, by default the nearest one above. For the
   * others: the call in which they began, by default none (-1).
   */
  parent?: number,
  /** Bits of {@link SpanFlag}. */
  flags?: number,
  /** What a call changed, such as `set header etag`; the listeners that a dispatch skipped. */
  details?: readonly string[],
  /** The changes just before a dispatch that the controller or the kernel made. */
  before?: readonly string[],
]

/**
 * A time between two recorded moments of a request in which the event loop has turned, and how long the loop has waited in
 * it: for timers, sockets and other threads. Whole microseconds, the start from that of the request.
 */
export type WaitRow = [start: number, duration: number, idle: number]

/** The dispatches of a request. */
export interface EventsData {
  /** In the order in which they began; `null` for a row that is damaged, so that the others keep their index. */
  readonly spans: readonly (SpanRow | null)[]
  /** How many spans were left out because there were too many. */
  readonly dropped: number
  /** In their order. Between them, the request was at work without a pause. */
  readonly waits: readonly Readonly<WaitRow>[]
  /** Whether the process handled other main requests at the same time. */
  readonly isShared: boolean
}

/** Every listener of the process, event by event, in the order in which they are called. */
export interface EventsProcessData {
  readonly listeners: readonly ListenerData[]
}

/** A registered listener. */
export interface ListenerData {
  readonly event: string
  readonly name: string
  readonly priority: number
  /** Where it was registered: file, as seen from the application, and line. */
  readonly site?: string | undefined
  /** The bundle of this package that has registered it, such as `framework`; absent of a listener of the application. */
  readonly bundle?: string | undefined
}

/** The measurements of the application with the stopwatch of a request. */
export interface TimeData {
  readonly measured: readonly MeasuredEvent[]
  /** How many names were left out. */
  readonly dropped: number
}

/** One name of a stopwatch. Times are whole microseconds since the request began. */
export interface MeasuredEvent {
  readonly name: string
  readonly category: string
  readonly periods: readonly (readonly [start: number, duration: number])[]
  /** The sum of all periods, also of those that were left out. */
  readonly duration: number
  /** How many periods were left out. */
  readonly dropped: number
  readonly isRunning: boolean
}

function isSpanRow(row: unknown): boolean {
  if (!Array.isArray(row)) return false
  const [mark, name, start, duration, parent, flags, details, before] = row
  return (
    (mark === null || mark === 'request' || isNumber(mark)) &&
    typeof name === 'string' &&
    isAmount(start) &&
    (duration === null || isAmount(duration)) &&
    (parent === undefined || isNumber(parent)) &&
    (flags === undefined || isAmount(flags)) &&
    (details === undefined || isTexts(details)) &&
    (before === undefined || isTexts(before))
  )
}

export const eventsSchema: Schema<EventsData> = v.object({
  spans: indexedList<SpanRow | null>(v.custom<SpanRow>(isSpanRow), null),
  dropped: amount,
  waits: list(v.tuple([check.amount, check.amount, check.amount])),
  isShared: flag,
})

export const eventsProcessSchema: Schema<EventsProcessData> = v.object({
  listeners: list(
    v.object({ event: text, name: text, priority: number, site: maybe(check.text), bundle: maybe(check.text) }),
  ),
})

export const timeSchema: Schema<TimeData> = v.object({
  measured: list(
    v.object({
      name: text,
      category: text,
      periods: list(v.tuple([check.number, check.amount])),
      duration: amount,
      dropped: amount,
      isRunning: flag,
    }),
  ),
  dropped: amount,
})
