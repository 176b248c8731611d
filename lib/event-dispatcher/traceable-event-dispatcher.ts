import {
  type DispatchOptions,
  type Event,
  type EventClass,
  EventDispatcher,
  isThenable,
  type Listener,
  noteTraced,
  type RegisteredListener,
} from './event-dispatcher.ts'

/** A traced dispatch or call. */
export interface TraceSpan {
  /** Called once at the end, with the error of a failure. */
  end(hasFailed: boolean, error?: unknown): void
}

/**
 * Records dispatches and the calls within them. The calls of an event come between the begin and the end
 * of its dispatch. The listener of each call is in the list of `beginDispatch`, as the same function.
 */
export interface DispatchTracer {
  /** The options are those of the dispatch; with `onFailure`, a listener that fails does not end it. */
  beginDispatch(event: Event, listeners: readonly RegisteredListener[], options?: DispatchOptions): TraceSpan
  beginCall(event: Event, listener: RegisteredListener): TraceSpan
  /** Called when a listener is added, with the caller on the stack. */
  noteListener?(listener: RegisteredListener): void
  /** The file and line where a listener was added. */
  originOf?(listener: RegisteredListener): string | undefined
}

/**
 * An event dispatcher that reports each dispatch and each call of a listener to a tracer. The
 * wrapped dispatcher still decides about order, stopping and waiting. Listeners that were
 * registered before the wrapping are called, but not traced.
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
    noteTraced(traced as Listener, listener as Listener)
    const entry: RegisteredListener = { listener: traced as Listener, name, priority, ...(owner && { owner }) }
    this.#tracer.noteListener?.(entry)
    return this.#inner.on(type, traced, priority, name, owner)
  }

  override dispatch(event: Event, options?: DispatchOptions): Promise<void> | undefined {
    const all = this.#inner.listeners(event.constructor as unknown as EventClass)
    const listeners = options?.only === undefined ? all : all.filter(options.only)
    const dispatch = options === undefined ? this.#dispatch : (event: Event) => this.#inner.dispatch(event, options)
    return follow(this.#tracer.beginDispatch(event, listeners, options), dispatch, event)
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

/** Calls a function and ends its span: at once, or when the returned promise is settled. */
function follow<event extends Event, result>(span: TraceSpan, call: (event: event) => result, event: event): result {
  let result: result
  let isPending: boolean
  try {
    result = call(event)
    isPending = isThenable(result)
  } catch (error) {
    span.end(true, error)
    throw error
  }
  if (!isPending) {
    endSpan(span, event)
    return result
  }
  // Some thenables start their work with `then`, so it is called only once: the promise replaces the thenable.
  const settled = Promise.resolve(result)
  settled.then(
    () => endSpan(span, event),
    error => span.end(true, error),
  )
  return settled as result
}

function endSpan(span: TraceSpan, { failure }: Event): void {
  if (failure === undefined) span.end(false)
  else span.end(true, failure.error)
}
