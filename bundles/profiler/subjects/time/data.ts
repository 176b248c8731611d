import * as v from 'valibot'
import { caller } from '../../profile/code.ts'
import { amountsByName, check, count, flag, list, maybe, moreWorkSchema, number, text } from '../../profile/schema.ts'

/** The measurements of the application with the stopwatch of a request, and its asynchronous calls. */
export type TimeData = v.InferOutput<typeof timeSchema>

/** A call whose work another thread or a process did. Times are in milliseconds since the request began. */
export type AsyncCallData = NonNullable<TimeData['asyncCalls']>[number]

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
  /**
   * Calls of 5 ms or more whose work another thread or a process did, if they had ended before the profile was
   * stored: the longest 100, in the order of their ends. A thread or a process of its own counts as ended with its
   * first message. Only in development.
   */
  asyncCalls: maybe(
    list(
      v.object({
        /** Such as `crypto.scrypt`, `child process` or `worker thread`. */
        name: text,
        /** The command line of a process. */
        command: maybe(check.text),
        /** Milliseconds since the start of the request. */
        start: number,
        end: number,
        /** The code or the name of the error that its callback got. */
        error: maybe(check.text),
        /** How a process has ended, if its exit code was not 0: `exit code 3`, `SIGTERM`. */
        exit: maybe(check.text),
        /** The innermost function of the application that made it. */
        caller: maybe(caller),
      }),
    ),
  ),
  /** The times of the calls over the limit. */
  moreAsyncCalls: maybe(moreWorkSchema),
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
