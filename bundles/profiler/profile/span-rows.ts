/** How a span ended, as bits: its event was stopped; an error was thrown. */
export const SpanFlag = { Stopped: 1, Threw: 2 } as const

/**
 * One span of the event tree as it is stored: an array, and short, because each request has dozens of them. Times are
 * whole microseconds since the request began. Elements at the end are left out when they have their default.
 */
export type SpanRow = [
  /**
   * `null` for a dispatch; for a call, the listener's priority; `request` for a sub-request. Of
   * another framework, `phase` stands for a dispatch, and `function` for a call.
   */
  mark: null | number | 'request' | 'phase' | 'function',
  /** The event; the listener; the token of the sub-request; the phase; the function. */
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
 * A time between two recorded moments of a request in which the event loop has turned, and how long the loop has
 * waited in it: for timers, sockets and other threads. Whole microseconds, the start from that of the request.
 */
export type WaitRow = [start: number, duration: number, idle: number]
