import type { Event, EventClass } from './event.ts'
import { EventDispatcher, isThenable, type Listener, type RegisteredListener } from './event-dispatcher.ts'

/** Ends what a tracer has begun, with the error that ended it, if one did. */
export type EndTrace = (error?: unknown) => void

/** Takes note of dispatches and of the calls within them. Calls of one event are told between begin and end of its dispatch. */
export interface DispatchTracer {
  beginDispatch(event: Event, listeners: readonly RegisteredListener[]): EndTrace
  beginCall(event: Event, listener: RegisteredListener): EndTrace
}

/**
 * An event dispatcher that tells a tracer of each dispatch and each listener's call. Order, stopping and waiting stay
 * those of the dispatcher it decorates. Listeners registered before it existed are called, but not traced.
 */
export class TraceableEventDispatcher extends EventDispatcher {
  readonly #inner: EventDispatcher
  readonly #tracer: DispatchTracer

  constructor(inner: EventDispatcher, tracer: DispatchTracer) {
    super()
    this.#inner = inner
    this.#tracer = tracer
  }

  override on<event extends Event>(
    type: EventClass<event>,
    listener: Listener<event>,
    priority = 0,
    name: string = listener.name || 'anonymous',
  ): () => void {
    const entry: RegisteredListener = { listener: listener as Listener, name, priority }
    const traced: Listener<event> = event => traceCall(this.#tracer.beginCall(event, entry), () => listener(event))
    return this.#inner.on(type, traced, priority, name)
  }

  override dispatch(event: Event): Promise<void> | undefined {
    const end = this.#tracer.beginDispatch(event, this.listeners(event.constructor as unknown as EventClass))
    return traceCall(end, () => this.#inner.dispatch(event))
  }

  override listeners(type: EventClass): readonly RegisteredListener[] {
    return this.#inner.listeners(type)
  }

  override types(): Iterable<EventClass> {
    return this.#inner.types()
  }
}

/** Tells the end of a call when it is over: at once, or when what it returned is settled. */
function traceCall<result>(end: EndTrace, call: () => result): result {
  let result: result
  try {
    result = call()
  } catch (error) {
    end(error)
    throw error
  }
  if (isThenable(result)) result.then(() => end(), end)
  else end()
  return result
}
