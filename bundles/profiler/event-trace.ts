import { KernelEvent } from '../../kernel/events/kernel-event.ts'
import type { Event, EventClass } from '../../lib/event-dispatcher/event.ts'
import type { RegisteredListener } from '../../lib/event-dispatcher/event-dispatcher.ts'
import type { Span } from '../../lib/event-dispatcher/traceable-event-dispatcher.ts'
import type { Attributes } from '../../lib/http/request.ts'
import { ChangeWatch } from './change-watch.ts'
import { SpanFlag, SpanKind, type SpanRow } from './span-row.ts'

/** Whatever an application dispatches, the kernel's own events still find a place. */
const spanLimit = 1000
const kernelSpanLimit = 2000

/**
 * The tree of what was dispatched in one pass: each dispatch, each call of a listener, and where a sub-request was
 * handled. A call lies in the dispatch of its event, always. A dispatch is taken to be made by the call that began last
 * and is not over: true of everything that happens one after another. Where two dispatches of one pass overlap (by
 * `Promise.all`), the second may show up within a call of the first; durations are right nevertheless. To know better,
 * each call would need an asynchronous context of its own, which costs more than everything else here together.
 */
export class EventTrace {
  readonly #start: number
  readonly #inParent: Span | undefined
  readonly #watch: ChangeWatch
  readonly #spans: TraceSpan[] = []
  /** Those that are not over, in the order in which they began. */
  #open: TraceSpan[] = []
  readonly #onEnd = (span: TraceSpan, hasFailed: boolean): void => this.#end(span, hasFailed)
  #dropped = 0

  /** `start` is the pass's, by `performance.now()`; `inParent` ends with the pass, in the trace of its parent. */
  constructor(start: number, attributes: Attributes, inParent?: Span) {
    this.#start = start
    this.#watch = new ChangeWatch(attributes)
    this.#inParent = inParent
  }

  /** How many dispatches and sub-requests there was no room for. */
  get dropped(): number {
    return this.#dropped
  }

  beginDispatch(event: Event, listeners: readonly RegisteredListener[]): Span {
    const isKernelEvent = event instanceof KernelEvent
    if (!this.#hasRoom(isKernelEvent ? kernelSpanLimit : spanLimit)) return ignoredSpan
    const caller = this.#open.findLast(isCall)
    // What was changed before belongs to whoever dispatches: a listener, or the controller, of which nobody asks.
    const changes = this.#watch.take()
    if (caller !== undefined) addDetails(caller, changes)
    if (isKernelEvent) this.#watch.follow(event)
    const span = this.#begin(SpanKind.Dispatch, caller, nameOf(event), 0)
    span.event = event
    span.listeners = listeners
    return span
  }

  beginCall(event: Event, listener: RegisteredListener): Span {
    const dispatch = this.#findDispatch(event)
    if (dispatch === undefined) return ignoredSpan
    dispatch.last = listener
    const span = this.#begin(SpanKind.Call, dispatch, listener.name, listener.priority)
    span.event = event
    return span
  }

  /** A sub-request has begun; its own events are in its own trace. */
  beginSubRequest(token: string): Span {
    if (!this.#hasRoom(kernelSpanLimit)) return ignoredSpan
    return this.#begin(SpanKind.SubRequest, this.#open.findLast(isCall), token, 0)
  }

  /** The pass is handled. */
  finish(): void {
    this.#inParent?.end(false)
  }

  /** What was recorded so far, in the order in which it began. */
  toRows(): SpanRow[] {
    return this.#spans.map(toRow)
  }

  #hasRoom(limit: number): boolean {
    const hasRoom = this.#spans.length < limit
    if (!hasRoom) this.#dropped++
    return hasRoom
  }

  #begin(kind: SpanKind, parent: TraceSpan | undefined, name: string, priority: number): TraceSpan {
    const index = this.#spans.length
    const span = new TraceSpan(kind, index, parent === undefined ? -1 : parent.index, name, priority, this.#onEnd)
    this.#spans.push(span)
    this.#open.push(span)
    span.start = this.#now()
    return span
  }

  #end(span: TraceSpan, hasFailed: boolean): void {
    span.duration = this.#now() - span.start
    if (this.#open.at(-1) === span) this.#open.pop()
    else this.#open = this.#open.filter(other => other !== span)
    if (hasFailed) span.flags |= SpanFlag.Threw
    const { event } = span
    if (event === undefined) return
    if (span.kind === SpanKind.Dispatch) this.#endDispatch(span, event)
    else {
      if (event.isPropagationStopped) span.flags |= SpanFlag.Stopped
      addDetails(span, this.#watch.take())
    }
    span.event = undefined
  }

  #endDispatch(span: TraceSpan, event: Event): void {
    const { last, listeners } = span
    if (event.isPropagationStopped) span.flags |= SpanFlag.Stopped
    if (span.flags !== 0) {
      // The last one that was called is found by its function: names need not be unique.
      const called = listeners.findIndex(({ listener }) => listener === last?.listener)
      const skipped = listeners.slice(called + 1)
      if (skipped.length > 0) span.details = skipped.map(({ name }) => name)
    }
    span.listeners = nobody
    span.last = undefined
    const outer = this.#open.findLast(({ event }) => event instanceof KernelEvent)?.event
    if (outer instanceof KernelEvent) this.#watch.follow(outer)
  }

  #findDispatch(event: Event): TraceSpan | undefined {
    for (let at = this.#open.length - 1; at >= 0; at--) {
      const span = this.#open[at]
      if (span?.event === event && span.kind === SpanKind.Dispatch) return span
    }
    return undefined
  }

  /** To a microsecond: no clock here is better, and whole numbers are quickly written. */
  #now(): number {
    return Math.round((performance.now() - this.#start) * 1000)
  }
}

/** Stands for what is not traced. */
export const ignoredSpan: Span = { end() {} }

const nobody: readonly RegisteredListener[] = []

class TraceSpan implements Span {
  readonly kind: SpanKind
  readonly index: number
  readonly parent: number
  readonly name: string
  readonly priority: number
  readonly #onEnd: (span: TraceSpan, hasFailed: boolean) => void
  start = 0
  /** -1 while it is not over. */
  duration = -1
  flags = 0
  details: readonly string[] | undefined = undefined
  /** The event of a dispatch or a call that is not over. */
  event: Event | undefined = undefined
  listeners: readonly RegisteredListener[] = nobody
  /** The listener that was called last. */
  last: RegisteredListener | undefined = undefined

  constructor(
    kind: SpanKind,
    index: number,
    parent: number,
    name: string,
    priority: number,
    onEnd: (span: TraceSpan, hasFailed: boolean) => void,
  ) {
    this.kind = kind
    this.index = index
    this.parent = parent
    this.name = name
    this.priority = priority
    this.#onEnd = onEnd
  }

  end(hasFailed: boolean): void {
    this.#onEnd(this, hasFailed)
  }
}

function isCall({ kind }: TraceSpan): boolean {
  return kind === SpanKind.Call
}

function nameOf({ constructor }: Event): string {
  return (constructor as unknown as Partial<EventClass>).eventName ?? constructor.name
}

function addDetails(span: TraceSpan, details: readonly string[] | undefined): void {
  if (details !== undefined) span.details = span.details === undefined ? details : [...span.details, ...details]
}

function toRow({ details, duration, flags, kind, name, parent, priority, start }: TraceSpan): SpanRow {
  const row: SpanRow = [kind, parent, name, start, duration === -1 ? null : duration]
  if (details !== undefined) row.push(priority, flags, details)
  else if (flags !== 0) row.push(priority, flags)
  else if (priority !== 0) row.push(priority)
  return row
}
