/** How a span ended, as bits: its event was stopped; an error was thrown. */
export const SpanFlag = { Stopped: 1, Threw: 2 } as const

/**
 * One span of an event trace as it is kept: an array, and short, because dozens of them are written for every request.
 * Times are whole microseconds since the pass began. What stands at the end is left out where it says nothing.
 */
export type SpanRow = [
  /** `null` for a dispatch; for a call, the listener's priority; `request` for a sub-request that was handled meanwhile. */
  mark: null | number | 'request',
  /** The event; the listener; the token of the sub-request. */
  name: string,
  start: number,
  /** `null` while it is not over. */
  duration: number | null,
  /**
   * The index of the row that this one lies in: for a call its dispatch, the nearest one above unless told else; for
   * the others the call that they were made in, none (-1) unless told else.
   */
  parent?: number,
  /** Bits of {@link SpanFlag}. */
  flags?: number,
  /** What a call has changed, such as `set header etag`; the listeners that a dispatch has skipped. */
  details?: readonly string[],
  /** What was changed just before a dispatch by no listener: by the controller, or by the kernel itself. */
  before?: readonly string[],
]
