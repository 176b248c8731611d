import {
  type DispatchOptions,
  type Event,
  type EventClass,
  EventDispatcher,
  isThenable,
  type Listener,
  type RegisteredListener,
} from './event-dispatcher.ts'

/** A dispatch or a call that a tracer has begun to follow. */
export interface Span {
  /** It is over: told once, with what it has thrown when it has failed. */
  end(hasFailed: boolean, error?: unknown): void
}

/**
 * Takes note of dispatches and of the calls within them. Calls of one event are told between begin and end of its
 * dispatch; each of them is of a listener that stands, as the same function, in the list told with the dispatch.
 */
export interface DispatchTracer {
  beginDispatch(event: Event, listeners: readonly RegisteredListener[]): Span
  beginCall(event: Event, listener: RegisteredListener): Span
  /** A listener was added, by whoever has called now. */
  noteListener?(listener: RegisteredListener): void
  /** Where it was added: file and line. */
  originOf?(listener: RegisteredListener): string | undefined
}

/**
 * An event dispatcher that tells a tracer of each dispatch and each listener's call. Order, stopping and waiting stay
 * those of the dispatcher it decorates. Listeners registered before it existed are called, but not traced.
 */
export class TraceableEventDispatcher extends EventDispatcher {
  readonly #inner: EventDispatcher
  readonly #tracer: DispatchTracer
  readonly #dispatch: (event: Event) => Promise<void> | undefined

  constructor(inner: EventDispatcher, tracer: DispatchTracer) {
    super()
    this.#inner = inner
    this.#tracer = tracer
    this.#dispatch = event => inner.dispatch(event)
  }

  override on<event extends Event>(
    type: EventClass<event>,
    listener: Listener<event>,
    priority = 0,
    name: string = listener.name || 'anonymous',
    owner?: string,
  ): () => void {
    const traced: Listener<event> = event => follow(this.#tracer.beginCall(event, entry), listener, event)
    // Only events of this class reach the listener.
    const entry: RegisteredListener = { listener: traced as Listener, name, priority, ...(owner && { owner }) }
    this.#tracer.noteListener?.(entry)
    return this.#inner.on(type, traced, priority, name, owner)
  }

  override dispatch(event: Event, options?: DispatchOptions): Promise<void> | undefined {
    const all = this.#inner.listeners(event.constructor as unknown as EventClass)
    const listeners = options?.only === undefined ? all : all.filter(options.only)
    const dispatch = options === undefined ? this.#dispatch : (event: Event) => this.#inner.dispatch(event, options)
    return follow(this.#tracer.beginDispatch(event, listeners), dispatch, event)
  }

  override listeners(type: EventClass): readonly RegisteredListener[] {
    return this.#inner.listeners(type)
  }

  override types(): Iterable<EventClass> {
    return this.#inner.types()
  }

  override originOf(listener: RegisteredListener): string | undefined {
    return this.#tracer.originOf?.(listener)
  }
}

/** Calls, and tells the end of the call when it is over: at once, or when what it returned is settled. */
function follow<event, result>(span: Span, call: (event: event) => result, event: event): result {
  let result: result
  try {
    result = call(event)
  } catch (error) {
    span.end(true, error)
    throw error
  }
  if (!isThenable(result)) {
    span.end(false)
    return result
  }
  // Some thenables begin their work when they are asked for its end: they are asked once, and stand for it as a promise.
  const settled = Promise.resolve(result)
  settled.then(
    () => span.end(false),
    error => span.end(true, error),
  )
  return settled as result
}
