import * as v from 'valibot'
import { caller } from '../../profile/code.ts'
import { amount, check, count, flag, list, maybe, number, section, text } from '../../profile/schema.ts'

/** What the whole process used during a main request, until its response was sent. Times are in milliseconds. */
export type MemoryData = v.InferOutput<typeof memorySchema>

/** A synchronous call for files or processes. Times are in milliseconds, the start from that of the main request. */
export type SyncCallData = NonNullable<MemoryData['syncCalls']>[number]

/** The runs of the garbage collector during a request. */
type GcPauses = MemoryData['pauses']

/** A run of the garbage collector, in milliseconds from the start of the request. */
export type GcPause = GcPauses['longest'][number]

/** A time in which the event loop was blocked. Times are in milliseconds, the start from that of the request. */
export type LoopBlock = MemoryData['blocks'][number]

export const memorySchema = v.object({
  /** Until the response was sent. */
  wall: amount,
  /** The CPU time of the process. */
  cpu: section({
    /** Of the code of the process. */
    user: amount,
    /** Of the operating system for it. */
    system: amount,
  }),
  /** The time in which the event loop was busy, and in which it waited. */
  loop: section({
    /** Busy. */
    active: amount,
    /** Waiting. */
    idle: amount,
  }),
  /** In bytes. */
  heap: section({ before: count, after: count, limit: count }),
  /** The most bytes that the process ever held (resident set size). */
  peak: maybe(check.count),
  /** Other main requests in flight. */
  requests: section({
    /** At the start. */
    others: count,
    /** At most. */
    most: count,
  }),
  /** The runs of the garbage collector. */
  pauses: section({
    /** How many there were. */
    count,
    /** Milliseconds of all of them. */
    total: amount,
    /** The longest 100, in the order of their starts. */
    longest: list(
      v.object({
        start: number,
        duration: amount,
        /** `minor` frees short-lived objects, `major` all that can be freed, `incremental` is a step of a major one. */
        kind: maybe(check.text),
      }),
    ),
  }),
  /** Times of 50 ms or more in which the event loop was blocked. */
  blocks: list(
    v.object({
      start: number,
      duration: amount,
      /** How much of it was CPU time of the process. */
      cpu: amount,
      /** The token of the main request that was at work; empty if it is not known. */
      by: text,
      /** Whether the whole block is certainly work of the request `by`. */
      isOwn: flag,
      /** Whether no other recorded request was in flight. Work that is not recorded may still have blocked. */
      isAlone: flag,
      /**
       * The span of the function of another framework whose code, or what it has started, was at
       * work; absent if it is not known.
       */
      span: maybe(check.count),
    }),
  ),
  /**
   * Times of 50 ms or more in which the event loop was at work for others nearly all the time, in many callbacks: how
   * long this request has waited for anything else is not known. At most 200.
   */
  busy: maybe(list(v.object({ start: number, duration: amount }))),
  /**
   * Synchronous calls for files and processes that took 50 ms or more, also those of sub-requests,
   * at most 200. Only in development.
   */
  syncCalls: maybe(
    list(
      v.object({
        /** Such as `fs.readFileSync`. */
        name: text,
        start: number,
        duration: amount,
        caller: maybe(caller),
      }),
    ),
  ),
})
