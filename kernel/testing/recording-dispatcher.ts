import { AssertionError } from 'node:assert'
import {
  createEventDispatcher,
  type Event,
  type EventClass,
  type RegisteredListener,
} from '../../lib/event-dispatcher/event-dispatcher.ts'
import {
  type DispatchTracer,
  TraceableEventDispatcher,
  type TraceSpan,
} from '../../lib/event-dispatcher/traceable-event-dispatcher.ts'
import { KernelEvent } from '../events.ts'

/** A dispatch and its course. */
export interface RecordedDispatch<event extends Event = Event> {
  /** The event, as its listeners have left it. */
  readonly event: event
  /** `kernel.request`, or for a sub-request `kernel.request (sub)`. */
  readonly name: string
  /** The names of the called listeners, in order. */
  readonly listeners: readonly string[]
  /** The names of the listeners that were not called: an earlier one has stopped the event or has thrown. */
  readonly skipped: readonly string[]
  /** The name of the listener that stopped the event. */
  readonly stoppedBy: string | undefined
  /** The name of the listener that failed; `error` is what it threw. */
  readonly failedBy: string | undefined
  /** What the listener `failedBy` has thrown. */
  readonly error: unknown
}

/**
 * An event dispatcher that remembers its dispatches and the calls of listeners, in order. Otherwise
 * it works like any other: use it for a single listener, or pass it to `createTestKernel`.
 */
export class RecordingDispatcher extends TraceableEventDispatcher {
  readonly #recorder: Recorder

  constructor() {
    const recorder = new Recorder()
    super(createEventDispatcher(), recorder)
    this.#recorder = recorder
  }

  /** The dispatches, in the order of their begin. This list and the others grow with each dispatch. */
  get dispatches(): readonly RecordedDispatch[] {
    return this.#recorder.dispatches
  }

  /** The names of the dispatched events, in order. */
  get sequence(): readonly string[] {
    return this.#recorder.sequence
  }

  /** The calls of listeners, in the order of their begin: `kernel.request RouterListener.onRequest`. */
  get calls(): readonly string[] {
    return this.#recorder.calls
  }

  /** The dispatches of one event. */
  of<event extends Event>(type: EventClass<event>): RecordedDispatch<event>[] {
    // Events of this name are of its class.
    return this.dispatches.filter(({ event }) => nameOf(event) === type.eventName) as RecordedDispatch<event>[]
  }

  /** The last dispatch of an event. @throws AssertionError when there was none */
  last<event extends Event>(type: EventClass<event>): RecordedDispatch<event> {
    const found = this.of(type).at(-1)
    if (found !== undefined) return found
    throw new AssertionError({
      message: `The event ${type.eventName} was not dispatched; ${listNames(this.sequence)}.`,
      expected: type.eventName,
      actual: [...this.sequence],
      operator: 'last',
      stackStartFn: this.last,
    })
  }

  /** Clears the records; listeners stay. */
  forget(): void {
    for (const list of [this.#recorder.dispatches, this.#recorder.sequence, this.#recorder.calls]) list.length = 0
  }
}

type Growing = { -readonly [key in keyof RecordedDispatch]: RecordedDispatch[key] } & { readonly listeners: string[] }

/** For a listener that is called without a dispatch: nothing is recorded. */
const ignoredSpan: TraceSpan = { end() {} }

class Recorder implements DispatchTracer {
  readonly dispatches: Growing[] = []
  readonly sequence: string[] = []
  readonly calls: string[] = []

  beginDispatch(event: Event, all: readonly RegisteredListener[]): TraceSpan {
    const isSub = event instanceof KernelEvent && !event.isMainRequest
    const name = isSub ? `${nameOf(event)} (sub)` : nameOf(event)
    const listeners: string[] = []
    const dispatch: Growing = {
      event,
      name,
      listeners,
      skipped: [],
      stoppedBy: undefined,
      failedBy: undefined,
      error: undefined,
    }
    this.dispatches.push(dispatch)
    this.sequence.push(name)
    return {
      end: (_hasFailed, error) => {
        // Listeners are called in order, so the called ones come first.
        dispatch.skipped = all.slice(listeners.length).map(({ name }) => name)
        dispatch.error = error
      },
    }
  }

  beginCall(event: Event, { name }: RegisteredListener): TraceSpan {
    const dispatch = this.dispatches.findLast(dispatch => dispatch.event === event)
    if (dispatch === undefined) return ignoredSpan
    dispatch.listeners.push(name)
    this.calls.push(`${dispatch.name} ${name}`)
    return {
      end: hasFailed => {
        if (event.isPropagationStopped) dispatch.stoppedBy ??= name
        if (hasFailed) dispatch.failedBy = name
      },
    }
  }
}

function nameOf(event: Event): string {
  const type = event.constructor as unknown as EventClass
  return type.eventName
}

function listNames(names: readonly string[]): string {
  return names.length === 0 ? 'nothing was' : `dispatched were ${names.join(', ')}`
}
