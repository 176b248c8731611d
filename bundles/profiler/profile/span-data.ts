import * as v from 'valibot'
import { isAmount, isNumber, isTexts } from './json.ts'
import { check, count, flag, indexedList, list, maybe, number, text } from './schema.ts'
import type { SpanRow } from './span-rows.ts'

/**
 * A header of the response that a listener, the controller or the kernel has changed or removed: the index
 * of the span that has the change, the name in lower case, and the values before, masked, each a line.
 */
export type OldHeaderRow = [span: number, name: string, value: string]

/** The dispatches of a request. */
export type EventsData = v.InferOutput<typeof eventsSchema>

/** Every listener of the process, event by event, in the order in which they are called. */
export type EventsProcessData = v.InferOutput<typeof eventsProcessSchema>

/** A registered listener. */
export type ListenerData = EventsProcessData['listeners'][number]

function isSpanRow(row: unknown): boolean {
  if (!Array.isArray(row)) return false
  const [mark, name, start, duration, parent, flags, details, before] = row
  return (
    (mark === null || isNumber(mark) || mark === 'request' || mark === 'phase' || mark === 'function') &&
    typeof name === 'string' &&
    isAmount(start) &&
    (duration === null || isAmount(duration)) &&
    (parent === undefined || isNumber(parent)) &&
    (flags === undefined || isAmount(flags)) &&
    (details === undefined || isTexts(details)) &&
    (before === undefined || isTexts(before))
  )
}

export const eventsSchema = v.object({
  /** In the order in which they began; `null` for a row that is damaged, so that the others keep their index. */
  spans: indexedList<SpanRow | null>(v.custom<SpanRow>(isSpanRow), null),
  /** How many spans were left out because there were too many. */
  dropped: count,
  /** All dispatches and calls that were left out; absent without any. */
  more: maybe(
    v.object({
      /** The event (empty for all others together), how often it was dispatched, and how often with a listener. */
      dispatches: list(v.tuple([check.text, check.amount, check.amount])),
      /**
       * The event, the priority and the name of a listener (all others together have no name), its
       * calls, and their microseconds.
       */
      calls: list(v.tuple([check.text, check.number, check.text, check.amount, check.amount])),
      /** The times in which at least one of these listeners ran: start and duration in milliseconds. */
      periods: list(v.tuple([check.amount, check.amount])),
    }),
  ),
  /** In their order. Between them, the request was at work without a pause. */
  waits: list(v.tuple([check.amount, check.amount, check.amount])),
  /**
   * When the application waited for the body of the request: start and duration in microseconds.
   * Absent below a millisecond.
   */
  received: maybe(v.tuple([check.amount, check.amount])),
  /**
   * When the response waited for its client to read: starts and durations in microseconds. Absent
   * without such a time of a millisecond.
   */
  drains: maybe(list(v.tuple([check.amount, check.amount]))),
  /** Whether the process handled other main requests at the same time. */
  isShared: flag,
  /**
   * Where the functions of another framework were registered, by the index of their span: file, as
   * seen from the application, and line. Present if a framework was seen.
   */
  places: maybe(list(v.tuple([check.amount, check.text]))),
  /**
   * The headers of the response that were changed or removed, in the order of the changes: the index of
   * the span with the change, the name, and the values before, masked, each a line. Absent without any.
   */
  oldHeaders: maybe(list(v.tuple([check.amount, check.text, check.text]))),
})

export const eventsProcessSchema = v.object({
  listeners: list(
    v.object({
      event: text,
      name: text,
      priority: number,
      /** Where it was registered: file, as seen from the application, and line. */
      site: maybe(check.text),
      /**
       * The bundle of this package that has registered it, such as `framework`; absent of a
       * listener of the application.
       */
      bundle: maybe(check.text),
    }),
  ),
})
