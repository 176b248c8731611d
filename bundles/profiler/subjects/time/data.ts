import * as v from 'valibot'
import { amountsByName, check, count, flag, list, maybe, text } from '../../profile/schema.ts'

/** The measurements of the application with the stopwatch of a request. */
export type TimeData = v.InferOutput<typeof timeSchema>

/** One name of a stopwatch. Times are whole microseconds since the request began. */
export type MeasuredEvent = TimeData['measured'][number]

export const timeSchema = v.object({
  measured: list(
    v.object({
      name: text,
      category: text,
      /** Starts and durations. */
      periods: list(v.tuple([check.number, check.amount])),
      /** The sum of all periods, also of those that were left out. */
      duration: count,
      /** How many periods were left out. */
      dropped: count,
      isRunning: flag,
    }),
  ),
  /** How many names were left out. */
  dropped: count,
})

/**
 * The queries, cache calls and HTTP client calls of all sub-requests, and the milliseconds of
 * these queries, by the names of the fields of a summary; recorded if there are any.
 */
export const withinSchema = amountsByName

/** Recorded when work continued after the response was sent, or after the client had left. */
export const lateSchema = v.object({
  /**
   * When the response was sent, or the first recorded moment after the client had left, in
   * milliseconds from the start of the request.
   */
  since: check.number,
  /** Whether the client had left while the request was handled or answered. */
  hasClientLeft: maybe(flag),
})
