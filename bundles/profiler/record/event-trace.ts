import {
  AnswerableEvent,
  ControllerArgumentsEvent,
  ControllerEvent,
  ExceptionEvent,
  KernelEvent,
  ResponseEvent,
} from '../../../kernel/events.ts'
import type { Event, EventClass, RegisteredListener } from '../../../lib/event-dispatcher/event-dispatcher.ts'
import type { TraceSpan } from '../../../lib/event-dispatcher/traceable-event-dispatcher.ts'
import type { Body, Response } from '../../../lib/http/response.ts'
import { readClock } from '../../../lib/own-globals.ts'
import { roundTime } from '../profile/format.ts'
import type { OldHeaderRow } from '../profile/span-data.ts'
import { SpanFlag, type SpanRow, type WaitRow } from '../profile/span-rows.ts'
import { type Actor, eventLoop, leastBlock, leastPause, noteActivity } from './loop-activity.ts'
import { ignoredSpan, MoreEvents } from './more-events.ts'

/** The kernel's own events have room even if an application dispatches very many. */
const spanLimit = 1000

const kernelSpanLimit = 2000

const waitLimit = 200

/** With a smaller share of pauses, the event loop had no time for an answer when it came. */
const leastIdle = 0.1

const oldHeaderLimit = 100

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
  /**
   * Times in which the event loop was at work for others nearly all the time, in milliseconds since the request began:
   * how long this request has waited for anything else is not known.
   */
  readonly busy: { readonly start: number; readonly duration: number }[] = []
  /** The headers of the response that were changed or removed, with their values before. These are not masked. */
  readonly oldHeaders: OldHeaderRow[] = []
  /** The number of dispatches and sub-requests without room. */
  dropped = 0
  /** What has no room is counted and timed; `undefined` if all has. */
  more: MoreEvents | undefined
  readonly #actor: Actor
  readonly #inParent: TraceSpan | undefined
  readonly #attributes: ReadonlyMap<string, unknown>
  #watch: ChangeWatch | undefined
  /** The spans that have not ended, in the order in which they began. */
  #dispatches: DispatchSpan[] = []
  #calls: CallSpan[] = []
  #lastDispatch = -1
  /** The latest activity of this request, and what was known of the event loop then. */
  #latest: number
  #idle = 0
  #turn = 0
  #switches = 0

  /** `actor` is the main request; `inParent` is the span of this sub-request in the trace of its parent. */
  constructor(actor: Actor, attributes: ReadonlyMap<string, unknown>, inParent?: TraceSpan) {
    this.#actor = actor
    this.#attributes = attributes
    this.#inParent = inParent
    this.#latest = actor.start
    this.note(actor.start)
  }

  beginDispatch(event: Event, listeners: readonly RegisteredListener[]): TraceSpan {
    const kernelEvent = event instanceof KernelEvent ? event : undefined
    if (!this.#hasRoom(kernelEvent === undefined ? spanLimit : kernelSpanLimit))
      return this.#more().beginDispatch(event, nameOf(event), listeners.length > 0)
    const caller = this.#calls.at(-1)
    // Other servers have no dispatches.
    this.#watch ??= new ChangeWatch(this.#attributes)
    // Changes before a dispatch were made by its caller: a listener, else the controller or the kernel.
    const changes = this.#takeChanges(caller?.index ?? this.rows.length)
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
    if (dispatch !== undefined) dispatch.last = listener
    const limit = event instanceof KernelEvent ? kernelSpanLimit : spanLimit
    if (dispatch === undefined) return this.more?.beginCall(event, nameOf(event), listener) ?? ignoredSpan
    if (this.rows.length >= limit) return this.#more().beginCall(event, nameOf(event), listener, true) ?? ignoredSpan
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

  /** The call that began last and has not ended, with the name of its event. */
  get openCall(): { readonly listener: RegisteredListener; readonly event: string } | undefined {
    const call = this.#calls.at(-1)
    return call && { listener: call.listener, event: nameOf(call.dispatch.event) }
  }

  /** Calls a function when that call ends. Returns the index of its row; `undefined` without a call. */
  atCallEnd(finish: () => void): number | undefined {
    const call = this.#calls.at(-1)
    if (call !== undefined) call.finishInner = finish
    return call?.index
  }

  /** Times the call of a function of another framework that has no room, until the returned function is called. */
  timeMore(): () => void {
    return this.#more().time()
  }

  /** Called when the request is handled. */
  finish(): void {
    this.#inParent?.end(false)
  }

  /** Microseconds since the request began: no clock here is finer, and whole numbers are short in JSON. */
  now(): number {
    const now = readClock()
    this.note(now)
    return this.#toMicroseconds(now)
  }

  /**
   * Records activity of the request at a time by `performance.now()`. Since its activity before, the loop may have
   * waited, or gone on with other requests: timers run in the turn in which a request has come.
   */
  note(now: number): void {
    noteActivity(now, this.#actor)
    const { idle, switches, turn } = eventLoop
    const isShared = this.#switches !== switches
    if (now - this.#latest >= leastPause && (isShared || this.#turn !== turn)) this.#addWait(now)
    if (isShared && now - this.#latest >= leastBlock) this.#noteBusy(now - this.#latest, idle - this.#idle)
    this.#latest = now
    this.#idle = idle
    this.#turn = turn
    this.#switches = switches
  }

  /** Records a wait. When there are too many, the last row is extended to include it. */
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

  #noteBusy(duration: number, idle: number): void {
    if (idle > duration * leastIdle || this.busy.length === waitLimit) return
    this.busy.push({ start: roundTime(this.#latest - this.#actor.start), duration: roundTime(duration) })
  }

  #toMicroseconds(time: number): number {
    return Math.round((time - this.#actor.start) * 1000)
  }

  endCall(span: CallSpan): void {
    if (this.#calls.at(-1) === span) this.#calls.pop()
    else this.#calls = this.#calls.filter(other => other !== span)
    const changes = this.#takeChanges(span.index)
    if (changes !== undefined) span.addChanges(changes)
  }

  endDispatch(span: DispatchSpan): void {
    if (this.#dispatches.at(-1) === span) this.#dispatches.pop()
    else this.#dispatches = this.#dispatches.filter(other => other !== span)
    const outer = this.#dispatches.at(-1)?.event
    if (outer instanceof KernelEvent) this.#watch?.follow(outer)
  }

  /** Takes the changes that the span with this index has made. */
  #takeChanges(index: number): string[] | undefined {
    const changes = this.#watch?.take()
    const old = this.#watch?.oldHeaders ?? []
    if (old.length === 0) return changes
    for (const [name, value] of old.splice(0, oldHeaderLimit - this.oldHeaders.length)) {
      this.oldHeaders.push([index, name, value])
    }
    old.length = 0
    return changes
  }

  #hasRoom(limit: number): boolean {
    const hasRoom = this.rows.length < limit
    if (!hasRoom) this.dropped++
    return hasRoom
  }

  #more(): MoreEvents {
    this.more ??= new MoreEvents(() => readClock() - this.#actor.start)
    return this.more
  }

  #findDispatch(event: Event): DispatchSpan | undefined {
    for (let at = this.#dispatches.length - 1; at >= 0; at--) {
      const span = this.#dispatches[at]
      if (span?.event === event) return span
    }
    return undefined
  }
}

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
  readonly dispatch: DispatchSpan
  readonly listener: RegisteredListener
  /** Ends what the listener has begun. */
  finishInner: (() => void) | undefined

  constructor(trace: EventTrace, row: SpanRow, index: number, dispatch: DispatchSpan, listener: RegisteredListener) {
    this.listener = listener
    this.#trace = trace
    this.#row = row
    this.index = index
    this.dispatch = dispatch
  }

  end(hasFailed: boolean): void {
    this.finishInner?.()
    const row = this.#row
    row[3] = this.#trace.now() - row[2]
    const isStopped = this.dispatch.event.isPropagationStopped
    if (hasFailed || isStopped) {
      row[4] ??= this.dispatch.index
      row[5] = toFlags(isStopped, hasFailed)
    }
    this.#trace.endCall(this)
  }

  addChanges(changes: readonly string[]): void {
    const row = this.#row
    row[4] ??= this.dispatch.index
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

const changeLimit = 50

/** A header that was changed or removed, and its values before, which are lines. */
type OldHeader = readonly [name: string, value: string]

/** Watches what listeners change: the attributes of the request, and the response, controller and error of an event. */
export class ChangeWatch {
  /** The headers that were changed or removed; the caller of `take` empties the list. */
  readonly oldHeaders: OldHeader[] = []
  readonly #attributes: AttributeWatch
  readonly #response = new ResponseWatch(undefined, this.oldHeaders)
  /** The event, and the part of it that is watched besides the response. */
  #event: (KernelEvent & { readonly controller?: unknown; readonly error?: unknown }) | undefined
  #part: 'controller' | 'error' | undefined
  #seen: unknown

  constructor(attributes: ReadonlyMap<string, unknown>) {
    this.#attributes = new AttributeWatch(attributes)
  }

  /** Watches this event instead of the previous one. */
  follow(event: KernelEvent): void {
    const mayHaveResponse = event instanceof ResponseEvent || event instanceof AnswerableEvent
    this.#response.follow(mayHaveResponse ? event : undefined)
    const hasController = event instanceof ControllerEvent || event instanceof ControllerArgumentsEvent
    this.#event = event
    this.#part = hasController ? 'controller' : event instanceof ExceptionEvent ? 'error' : undefined
    this.#seen = this.#part && this.#event?.[this.#part]
  }

  /** Returns the changes since the last call, such as `set attribute _route`; `undefined` without changes. */
  take(): string[] | undefined {
    const ofAttributes = this.#attributes.take()
    const changes = join(join(ofAttributes, this.#response.take()), this.#takePart())
    if (changes === undefined || changes.length <= changeLimit) return changes
    return [...changes.slice(0, changeLimit), `and ${changes.length - changeLimit} more`]
  }

  #takePart(): string[] | undefined {
    const part = this.#part
    if (part === undefined || Object.is(this.#event?.[part], this.#seen)) return undefined
    this.#seen = this.#event?.[part]
    return [`replaced the ${part}`]
  }
}

/** Most calls change nothing. */
function join(changes: string[] | undefined, more: string[] | undefined): string[] | undefined {
  if (changes === undefined) return more
  return more === undefined ? changes : [...changes, ...more]
}

/** An event with a response, which may not exist yet. */
interface Answered {
  readonly response: Response | undefined
}

/** Watches the response of an event. Headers are compared only when their revision has changed. */
export class ResponseWatch {
  #event: Answered | undefined
  readonly #oldHeaders: OldHeader[]
  #response: Response | undefined
  #revision = 0
  readonly #fields: string[] = []
  #status = 0
  #body: Body = null

  /** Adds the headers that were changed or removed to `oldHeaders`. */
  constructor(event?: Answered, oldHeaders: OldHeader[] = []) {
    this.#oldHeaders = oldHeaders
    this.follow(event)
  }

  /** Watches the response of this event. */
  follow(event: Answered | undefined): void {
    this.#event = event
    this.#remember(event?.response)
  }

  /** Returns the changes since the last call, such as `set header etag`; `undefined` without changes. */
  take(): string[] | undefined {
    const response = this.#event?.response
    if (response !== this.#response) {
      const change = this.#response === undefined ? 'set the response' : 'replaced the response'
      this.#remember(response)
      return [change]
    }
    if (response === undefined) return undefined
    const { body, headers, status } = response
    const hasSameHeaders = headers.revision === this.#revision
    if (hasSameHeaders && status === this.#status && body === this.#body) return undefined

    const changes = hasSameHeaders ? [] : compareFields(this.#fields, headers.toRaw(), this.#oldHeaders)
    if (status !== this.#status) changes.push('changed the status')
    if (body !== this.#body) changes.push('changed the body')
    this.#remember(response)
    return changes.length === 0 ? undefined : changes
  }

  #remember(response: Response | undefined): void {
    const isOther = response !== this.#response
    this.#response = response
    if (response === undefined) return
    const { revision } = response.headers
    if (isOther || revision !== this.#revision) overwrite(this.#fields, response.headers.toRaw())
    this.#revision = revision
    this.#status = response.status
    this.#body = response.body
  }
}

function overwrite(fields: string[], others: readonly string[]): void {
  for (let at = 0; at < others.length; at++) fields[at] = others[at] as string
  fields.length = others.length
}

/** Most changes append fields: those before the first difference are not compared with all others. */
function compareFields(before: readonly string[], after: readonly string[], oldHeaders: OldHeader[]): string[] {
  let same = 0
  while (same < before.length && before[same] === after[same]) same++
  const start = same - (same % 2)
  const changes: string[] = []
  for (const name of new Set([...namesFrom(after, start), ...namesFrom(before, start)])) {
    const old = valuesOf(before, name)
    const value = valuesOf(after, name)
    if (old === undefined) changes.push(`set header ${name}`)
    else if (old !== value) {
      changes.push(`${value === undefined ? 'removed' : 'changed'} header ${name}`)
      oldHeaders.push([name, old])
    }
  }
  return changes
}

function namesFrom(fields: readonly string[], start: number): string[] {
  const names: string[] = []
  for (let at = start; at < fields.length; at += 2) names.push((fields[at] ?? '').toLowerCase())
  return names
}

/** All values of a field, separated by a line break, which no value contains. */
function valuesOf(fields: readonly string[], name: string): string | undefined {
  let values: string | undefined
  for (let at = 0; at < fields.length; at += 2) {
    const field = fields[at] ?? ''
    if (field.length !== name.length || field.toLowerCase() !== name) continue
    values = values === undefined ? fields[at + 1] : `${values}\n${fields[at + 1]}`
  }
  return values
}

/** A request with more attributes is not watched: every call of a listener would compare them all. */
export const attributeLimit = 100

/**
 * Watches which attributes of a request are set, changed and removed. Requests have
 * few attributes, so they are compared one by one.
 */
export class AttributeWatch {
  readonly #attributes: ReadonlyMap<string, unknown>
  readonly #names: string[] = []
  readonly #values: unknown[] = []
  /** How many attributes, from the first one, are as they were. */
  #same = 0

  constructor(attributes: ReadonlyMap<string, unknown>) {
    this.#attributes = attributes
  }

  /** Returns the changes since the last call, such as `set attribute _route`; `undefined` without changes. */
  take(): string[] | undefined {
    const attributes = this.#attributes
    if (attributes.size > attributeLimit) return undefined
    this.#same = 0
    // Reads no attribute by its name: that would be a read of the application. An iterator costs
    // an array for each attribute.
    attributes.forEach(this.#compare)
    const [same, names, values] = [this.#same, this.#names, this.#values]
    if (same === attributes.size && same === names.length) return undefined
    const changes: string[] = []
    const oldNames = names.splice(same)
    const oldValues = values.splice(same)
    let at = 0
    attributes.forEach((value, name) => {
      if (at++ < same) return
      const before = oldNames.indexOf(name)
      if (before === -1) changes.push(`set attribute ${name}`)
      else if (!Object.is(oldValues[before], value)) changes.push(`changed attribute ${name}`)
      names.push(name)
      values.push(value)
    })
    for (const name of oldNames) if (!names.includes(name)) changes.push(`removed attribute ${name}`)
    return changes
  }

  readonly #compare = (value: unknown, name: string): void => {
    const at = this.#same
    if (name === this.#names[at] && Object.is(value, this.#values[at])) this.#same++
  }
}
