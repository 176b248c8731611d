import { KernelEvent } from '../../../kernel/events.ts'
import type { Event, EventClass, RegisteredListener } from '../../../lib/event-dispatcher/event-dispatcher.ts'
import type { TraceSpan } from '../../../lib/event-dispatcher/traceable-event-dispatcher.ts'
import { SpanFlag, type SpanRow, type WaitRow } from '../profile/span-data.ts'
import { ChangeWatch } from './change-watch.ts'
import { type Actor, eventLoop, leastPause, noteActivity } from './loop-activity.ts'

/** The kernel's own events have room even if an application dispatches very many. */
const spanLimit = 1000

const kernelSpanLimit = 2000

const waitLimit = 200

/**
 * The tree of the dispatches of one request: each dispatch, each call of a listener, and each sub-request. A call is
 * always inside the dispatch of its event. A dispatch is assigned to the call that began last and has not ended, which
 * is right for everything that happens in sequence. If two dispatches of one request overlap (`Promise.all`), the
 * second may appear inside a call of the first; its duration is right nevertheless. An asynchronous context for each
 * call would avoid that, and would cost more than all the rest of the recording.
 */
export class EventTrace {
  /** The spans so far, in the order in which they began. */
  readonly rows: SpanRow[] = []
  /** The times in which the event loop has turned. */
  readonly waits: WaitRow[] = []
  /** The number of dispatches and sub-requests without room. */
  dropped = 0
  readonly #actor: Actor
  readonly #inParent: TraceSpan | undefined
  readonly #watch: ChangeWatch
  /** The spans that have not ended, in the order in which they began. */
  #dispatches: DispatchSpan[] = []
  #calls: CallSpan[] = []
  #lastDispatch = -1
  /** The latest activity of this request, and what was known of the event loop then. */
  #latest: number
  #idle = 0
  #turn = 0

  /** `actor` is the main request; `inParent` is the span of this sub-request in the trace of its parent. */
  constructor(actor: Actor, attributes: ReadonlyMap<string, unknown>, inParent?: TraceSpan) {
    this.#actor = actor
    this.#watch = new ChangeWatch(attributes)
    this.#inParent = inParent
    this.#latest = actor.start
    this.note(actor.start)
  }

  beginDispatch(event: Event, listeners: readonly RegisteredListener[]): TraceSpan {
    const kernelEvent = event instanceof KernelEvent ? event : undefined
    if (!this.#hasRoom(kernelEvent === undefined ? spanLimit : kernelSpanLimit)) return ignoredSpan
    const caller = this.#calls.at(-1)
    // Changes before a dispatch were made by its caller: a listener, else the controller or the kernel.
    const changes = this.#watch.take()
    if (caller !== undefined && changes !== undefined) caller.addChanges(changes)
    if (kernelEvent !== undefined) this.#watch.follow(kernelEvent)

    const row: SpanRow = [null, nameOf(event), 0, null]
    if (caller !== undefined) row[4] = caller.index
    // The values at the first dispatch came with the request: they are no changes.
    else if (changes !== undefined && this.rows.length > 0) row.push(-1, 0, [], changes)
    const span = new DispatchSpan(this, row, this.rows.length, event, listeners)
    this.#lastDispatch = span.index
    this.#dispatches.push(span)
    this.rows.push(row)
    row[2] = this.now()
    return span
  }

  beginCall(event: Event, listener: RegisteredListener): TraceSpan {
    const dispatch = this.#findDispatch(event)
    if (dispatch === undefined) return ignoredSpan
    dispatch.last = listener
    const row: SpanRow = [listener.priority, listener.name, 0, null]
    if (dispatch.index !== this.#lastDispatch) row[4] = dispatch.index
    const span = new CallSpan(this, row, this.rows.length, dispatch, listener)
    this.#calls.push(span)
    this.rows.push(row)
    row[2] = this.now()
    return span
  }

  /** Records the start of a sub-request; its events are in its own trace. */
  beginSubRequest(token: string): TraceSpan {
    if (!this.#hasRoom(kernelSpanLimit)) return ignoredSpan
    const row: SpanRow = ['request', token, this.now(), null]
    const caller = this.#calls.at(-1)
    if (caller !== undefined) row[4] = caller.index
    this.rows.push(row)
    return {
      end: () => {
        row[3] = this.now() - row[2]
      },
    }
  }

  /** The call that began last and has not ended. */
  get openCall(): OpenCall | undefined {
    return this.#calls.at(-1)?.toOpenCall()
  }

  /** The listener of that call. */
  get openListener(): RegisteredListener | undefined {
    return this.#calls.at(-1)?.listener
  }

  /** Called when the request is handled. */
  finish(): void {
    this.#inParent?.end(false)
  }

  /** Microseconds since the request began: no clock here is finer, and whole numbers are short in JSON. */
  now(): number {
    const now = performance.now()
    this.note(now)
    return this.#toMicroseconds(now)
  }

  /** Records activity of the request at a time by `performance.now()`. Since its activity before, the loop may have waited. */
  note(now: number): void {
    noteActivity(now, this.#actor)
    if (now - this.#latest >= leastPause && this.#turn !== eventLoop.turn) this.#addWait(now)
    this.#latest = now
    this.#idle = eventLoop.idle
    this.#turn = eventLoop.turn
  }

  /** After the last row with room, the row is extended. */
  #addWait(now: number): void {
    const start = this.#toMicroseconds(this.#latest)
    const duration = this.#toMicroseconds(now) - start
    const idle = Math.min(duration, Math.round((eventLoop.idle - this.#idle) * 1000))
    const last = this.waits.at(-1)
    if (last === undefined || this.waits.length < waitLimit) {
      this.waits.push([start, duration, idle])
      return
    }
    last[1] = start + duration - last[0]
    last[2] += idle
  }

  #toMicroseconds(time: number): number {
    return Math.round((time - this.#actor.start) * 1000)
  }

  /** Ends a call. */
  endCall(span: CallSpan): void {
    if (this.#calls.at(-1) === span) this.#calls.pop()
    else this.#calls = this.#calls.filter(other => other !== span)
    const changes = this.#watch.take()
    if (changes !== undefined) span.addChanges(changes)
  }

  /** Ends a dispatch. */
  endDispatch(span: DispatchSpan): void {
    if (this.#dispatches.at(-1) === span) this.#dispatches.pop()
    else this.#dispatches = this.#dispatches.filter(other => other !== span)
    const outer = this.#dispatches.at(-1)?.event
    if (outer instanceof KernelEvent) this.#watch.follow(outer)
  }

  #hasRoom(limit: number): boolean {
    const hasRoom = this.rows.length < limit
    if (!hasRoom) this.dropped++
    return hasRoom
  }

  #findDispatch(event: Event): DispatchSpan | undefined {
    for (let at = this.#dispatches.length - 1; at >= 0; at--) {
      const span = this.#dispatches[at]
      if (span?.event === event) return span
    }
    return undefined
  }
}

/** A call of a listener that has not ended. */
interface OpenCall {
  readonly listener: string
  /** The name of the event. */
  readonly event: string
}

/** The span of a dispatch that is not recorded. */
export const ignoredSpan: TraceSpan = { end() {} }

class DispatchSpan implements TraceSpan {
  readonly index: number
  readonly event: Event
  /** The listener that was called last. */
  last: RegisteredListener | undefined
  readonly #trace: EventTrace
  readonly #row: SpanRow
  readonly #listeners: readonly RegisteredListener[]

  constructor(trace: EventTrace, row: SpanRow, index: number, event: Event, listeners: readonly RegisteredListener[]) {
    this.#trace = trace
    this.#row = row
    this.index = index
    this.event = event
    this.#listeners = listeners
    this.last = undefined
  }

  end(hasFailed: boolean): void {
    const row = this.#row
    row[3] = this.#trace.now() - row[2]
    if (hasFailed || this.event.isPropagationStopped) {
      row[4] ??= -1
      row[5] = toFlags(this.event.isPropagationStopped, hasFailed)
      const skipped = this.#skipped()
      if (skipped.length > 0) row[6] = skipped
    }
    this.#trace.endDispatch(this)
  }

  /** The last called listener is found by its function: names need not be unique. */
  #skipped(): string[] {
    const called = this.#listeners.findIndex(({ listener }) => listener === this.last?.listener)
    return this.#listeners.slice(called + 1).map(({ name }) => name)
  }
}

class CallSpan implements TraceSpan {
  readonly index: number
  readonly #trace: EventTrace
  readonly #row: SpanRow
  readonly #dispatch: DispatchSpan
  readonly listener: RegisteredListener

  constructor(trace: EventTrace, row: SpanRow, index: number, dispatch: DispatchSpan, listener: RegisteredListener) {
    this.listener = listener
    this.#trace = trace
    this.#row = row
    this.index = index
    this.#dispatch = dispatch
  }

  end(hasFailed: boolean): void {
    const row = this.#row
    row[3] = this.#trace.now() - row[2]
    const isStopped = this.#dispatch.event.isPropagationStopped
    if (hasFailed || isStopped) {
      row[4] ??= this.#dispatch.index
      row[5] = toFlags(isStopped, hasFailed)
    }
    this.#trace.endCall(this)
  }

  toOpenCall(): OpenCall {
    return { listener: String(this.#row[1]), event: nameOf(this.#dispatch.event) }
  }

  addChanges(changes: readonly string[]): void {
    const row = this.#row
    row[4] ??= this.#dispatch.index
    row[5] ??= 0
    row[6] = row[6] === undefined ? changes : [...row[6], ...changes]
  }
}

function toFlags(isStopped: boolean, hasFailed: boolean): number {
  return (isStopped ? SpanFlag.Stopped : 0) | (hasFailed ? SpanFlag.Threw : 0)
}

function nameOf(event: Event): string {
  const type = event.constructor as unknown as Partial<EventClass>
  return type.eventName ?? event.constructor.name
}
