import type { Event, EventClass } from './event.ts'
import { type DispatchOptions, EventDispatcher, type Listener, type RegisteredListener } from './event-dispatcher.ts'

/** The dispatcher of one bundle: another dispatcher, with the bundle's name on each listener that the bundle registers. */
export class OwnedEventDispatcher extends EventDispatcher {
  readonly #inner: EventDispatcher
  readonly #owner: string

  constructor(inner: EventDispatcher, owner: string) {
    super()
    this.#inner = inner
    this.#owner = owner
  }

  override on<event extends Event>(
    type: EventClass<event>,
    listener: Listener<event>,
    priority?: number,
    name?: string,
    owner: string = this.#owner,
  ): () => void {
    return this.#inner.on(type, listener, priority, name, owner)
  }

  override dispatch(event: Event, options?: DispatchOptions): Promise<void> | undefined {
    return this.#inner.dispatch(event, options)
  }

  override listeners(type: EventClass): readonly RegisteredListener[] {
    return this.#inner.listeners(type)
  }

  override types(): Iterable<EventClass> {
    return this.#inner.types()
  }

  override originOf(listener: RegisteredListener): string | undefined {
    return this.#inner.originOf(listener)
  }
}
