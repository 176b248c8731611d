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

/** A dispatch, and what became of it. */
export interface RecordedDispatch<event extends Event = Event> {
  readonly event: event
  /** `kernel.request`, and `kernel.request (sub)` where it is about a sub-request. */
  readonly name: string
  /** The listeners that were called, in their order. */
  readonly listeners: readonly string[]
  /** The listeners that were not called, because one before them has stopped the event or thrown. */
  readonly skipped: readonly string[]
  /** The listener that has stopped the event. */
  readonly stoppedBy: string | undefined
  /** The listener that has thrown, and what. */
  readonly failedBy: string | undefined
  readonly error: unknown
}

/**
 * An event dispatcher that remembers which events were dispatched to which listeners, in which order, and who has stopped
 * them. It dispatches as any other: use it for a listener alone, or give it to `createTestKernel`.
 */
export class RecordingDispatcher extends TraceableEventDispatcher {
  readonly #recorder: Recorder

  constructor() {
    const recorder = new Recorder()
    super(createEventDispatcher(), recorder)
    this.#recorder = recorder
  }

  /** What was dispatched, in the order in which it began. The list grows with each dispatch, as the other ones do. */
  get dispatches(): readonly RecordedDispatch[] {
    return this.#recorder.dispatches
  }

  /** The names of the events in the order in which they were dispatched. */
  get sequence(): readonly string[] {
    return this.#recorder.sequence
  }

  /** The calls of listeners in the order in which they began: `kernel.request RouterListener.onRequest`. */
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

  /** Forgets what was recorded so far; listeners stay. */
  forget(): void {
    for (const list of [this.#recorder.dispatches, this.#recorder.sequence, this.#recorder.calls]) list.length = 0
  }
}

type Growing = { -readonly [key in keyof RecordedDispatch]: RecordedDispatch[key] } & { readonly listeners: string[] }

/** A listener may be called by hand, without a dispatch: nothing is remembered of that. */
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
        // They are called in their order: those that were called are the first ones.
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
