import {
  type DispatchOptions,
  type Event,
  type EventClass,
  EventDispatcher,
  type Listener,
  type Logger,
  type RegisteredListener,
} from 'sinfonietta'

/** Logs a warning for each slow dispatch; everything else is done by the wrapped dispatcher. */
export class SlowEventDispatcher extends EventDispatcher {
  readonly #inner: EventDispatcher
  readonly #logger: Logger
  readonly #limit: number

  constructor(inner: EventDispatcher, logger: Logger, limit: number) {
    super()
    this.#inner = inner
    this.#logger = logger
    this.#limit = limit
  }

  override dispatch(event: Event, options?: DispatchOptions): Promise<void> | undefined {
    const begun = performance.now()
    const warn = () => {
      const milliseconds = Math.round(performance.now() - begun)
      if (milliseconds < this.#limit) return
      const { eventName } = event.constructor as unknown as EventClass
      this.#logger.warning('The event {event} has taken {milliseconds} ms.', { event: eventName, milliseconds })
    }
    const pending = this.#inner.dispatch(event, options)
    if (pending === undefined) warn()
    return pending?.finally(warn)
  }

  override on<event extends Event>(
    type: EventClass<event>,
    listener: Listener<event>,
    priority?: number,
    name?: string,
    owner?: string,
  ): () => void {
    return this.#inner.on(type, listener, priority, name, owner)
  }

  override listeners(type: EventClass): readonly RegisteredListener[] {
    return this.#inner.listeners(type)
  }

  override types(): Iterable<EventClass> {
    return this.#inner.types()
  }
}
