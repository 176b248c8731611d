import { performance } from 'node:perf_hooks'
import { KernelEvent } from '../../../kernel/events.ts'
import type { Event, EventClass, RegisteredListener } from '../../../lib/event-dispatcher/event-dispatcher.ts'
import type { TraceSpan } from '../../../lib/event-dispatcher/traceable-event-dispatcher.ts'
import { SpanFlag, type SpanRow } from '../profile/event-data.ts'
import { ChangeWatch } from './change-watch.ts'

/** Whatever an application dispatches, the kernel's own events still find a place. */
const spanLimit = 1000
const kernelSpanLimit = 2000

/**
 * The tree of what was dispatched in one trace: each dispatch, each call of a listener, and where a sub-request was
 * handled. A call lies in the dispatch of its event, always. A dispatch is taken to be made by the call that began last
 * and is not over: true of everything that happens one after another. Where two dispatches of one trace overlap (by
 * `Promise.all`), the second may show up within a call of the first; durations are right nevertheless. To know better,
 * each call would need an asynchronous context of its own, which costs more than everything else here together.
 */
export class EventTrace {
  /** What was recorded so far, in the order in which it began. */
  readonly rows: SpanRow[] = []
  /** How many dispatches and sub-requests there was no room for. */
  dropped = 0
  readonly #actor: Actor
  readonly #inParent: TraceSpan | undefined
  readonly #watch: ChangeWatch
  /** Those that are not over, in the order in which they began. */
  #dispatches: DispatchSpan[] = []
  #calls: CallSpan[] = []
  #lastDispatch = -1

  /** The actor is whom all of it is done for; `inParent` ends with the trace, in the trace of its parent. */
  constructor(actor: Actor, attributes: ReadonlyMap<string, unknown>, inParent?: TraceSpan) {
    this.#actor = actor
    this.#watch = new ChangeWatch(attributes)
    this.#inParent = inParent
  }

  beginDispatch(event: Event, listeners: readonly RegisteredListener[]): TraceSpan {
    const kernelEvent = event instanceof KernelEvent ? event : undefined
    if (!this.#hasRoom(kernelEvent === undefined ? spanLimit : kernelSpanLimit)) return ignoredSpan
    const caller = this.#calls.at(-1)
    // What was changed before belongs to whoever dispatches: a listener; else the controller, or the kernel.
    const changes = this.#watch.take()
    if (caller !== undefined && changes !== undefined) caller.addChanges(changes)
    if (kernelEvent !== undefined) this.#watch.follow(kernelEvent)

    const row: SpanRow = [null, nameOf(event), 0, null]
    if (caller !== undefined) row[4] = caller.index
    // What is there at first has come with the request.
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
    const span = new CallSpan(this, row, this.rows.length, dispatch)
    this.#calls.push(span)
    this.rows.push(row)
    row[2] = this.now()
    return span
  }

  /** A sub-request has begun; its own events are in its own trace. */
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

  /** The call that began last and is not over. */
  get openCall(): OpenCall | undefined {
    return this.#calls.at(-1)?.toOpenCall()
  }

  /** The trace is handled. */
  finish(): void {
    this.#inParent?.end(false)
  }

  /** To a microsecond: no clock here is better, and whole numbers are quickly written. */
  now(): number {
    const now = performance.now()
    noteActivity(now, this.#actor)
    return Math.round((now - this.#actor.start) * 1000)
  }

  /** A call is over. */
  endCall(span: CallSpan): void {
    if (this.#calls.at(-1) === span) this.#calls.pop()
    else this.#calls = this.#calls.filter(other => other !== span)
    const changes = this.#watch.take()
    if (changes !== undefined) span.addChanges(changes)
  }

  /** A dispatch is over. */
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

/** A call of a listener that is not over. */
export interface OpenCall {
  readonly listener: string
  /** The name of the event. */
  readonly event: string
}

/** Stands for what is not traced. */
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

  /** The last one that was called is found by its function: names need not be unique. */
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

  constructor(trace: EventTrace, row: SpanRow, index: number, dispatch: DispatchSpan) {
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

/** A time in which no request did anything that is noted. Times are by `performance.now()`. */
export interface Gap {
  readonly start: number
  readonly end: number
  /** The token of who did something next: whoever was at work meanwhile, as only one is at a time; empty where nobody knows. */
  readonly by: string
}

/** Whom something is done for that is noted: a request, with all its sub-requests. */
export interface Actor {
  readonly token: string
  /** When it began, or the sub-request did. */
  readonly start: number
}

/** Milliseconds; shorter ones are of no interest. */
const leastGap = 50

/** So many cannot come between two looks of those who ask. */
const gapLimit = 8

// There is one event loop, and one thread.
let latest = 0
const gaps: Gap[] = []

/** Takes note that somebody does something now. Said some dozen times for each request, so it does next to nothing. */
export function noteActivity(now: number, actor: Actor): void {
  if (now - latest >= leastGap) {
    gaps.push({ start: latest, end: now, by: actor.start > latest ? '' : actor.token })
    if (gaps.length > gapLimit) gaps.shift()
  }
  latest = now
}

/** The longest time without activity between a moment and now. */
export function findGap(from: number, now: number): Gap {
  const open = { start: latest, end: now, by: '' }
  return [...gaps, open]
    .map(({ by, end, start }) => ({ start: Math.max(from, start), end, by }))
    .reduce((longest, gap) => (gap.end - gap.start > longest.end - longest.start ? gap : longest))
}
