/** What a row tells of: a dispatch, the call of a listener, or a sub-request that was handled meanwhile. */
export const SpanKind = { Dispatch: 0, Call: 1, SubRequest: 2 } as const

export type SpanKind = (typeof SpanKind)[keyof typeof SpanKind]

/** How a span ended, as bits: a listener has stopped the event; an error was thrown. */
export const SpanFlag = { Stopped: 1, Threw: 2 } as const

/**
 * One line of an event trace as it is kept: an array, because hundreds of them are written per second. Times are whole
 * microseconds since the pass began; what stands at the end is left out where it says nothing.
 */
export type SpanRow = [
  kind: SpanKind,
  /** The index of the row that this one lies in: of a call, its dispatch; else the call that it was made in; -1 for none. */
  parent: number,
  /** The event, the listener, or the token of the sub-request. */
  name: string,
  start: number,
  /** `null` while it is not over. */
  duration: number | null,
  /** Of a listener. */
  priority?: number,
  flags?: number,
  /** What a call has changed, such as `set header etag`; or the listeners that a dispatch has skipped. */
  details?: readonly string[],
]
