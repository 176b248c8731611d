/** Something that happens, told to listeners one after another until one of them stops it. */
export abstract class Event {
  /** Whether a listener has kept the rest from hearing of this. A plain field: several events are made per request. */
  isPropagationStopped: boolean = false

  /** Keeps the listeners that have not been called yet from being called. */
  stopPropagation(): void {
    this.isPropagationStopped = true
  }
}

/** The class of an event: listeners are registered by it. */
export interface EventClass<event extends Event = Event> {
  readonly eventName: string
  readonly prototype: event
}

/** Hears of an event; what it returns is awaited before the next listener is called. */
export type Listener<event extends Event = Event> = (event: event) => unknown

/** An object with a method that hears of an event. */
export type ListeningObject<event extends Event, method extends string> = { [key in method]: Listener<event> }

/** A listener as it was registered. */
export interface RegisteredListener {
  readonly listener: Listener
  /** `RouterListener.onRequest`, or the function's name. */
  readonly name: string
  /** Higher is called earlier; ties are called in registration order. */
  readonly priority: number
  /** The bundle that registered the listener; absent when no bundle did. */
  readonly owner?: string
}

/** How one event is dispatched, where it is not dispatched as usual. */
export interface DispatchOptions {
  /** The listeners that are called; all by default. */
  readonly only?: (listener: RegisteredListener) => boolean
  /** Receives what a listener throws; the listeners after it are still called. By default an error ends the dispatch. */
  readonly onFailure?: (error: unknown, listener: RegisteredListener, event: Event) => void
}

/** Tells events to their listeners, by priority, until one of them stops the event. */
export abstract class EventDispatcher {
  /** Adds a function; returns what removes it again. */
  abstract on<event extends Event>(
    type: EventClass<event>,
    listener: Listener<event>,
    priority?: number,
    name?: string,
    owner?: string,
  ): () => void

  /** Adds a method of an object, named `Class.method`; returns what removes it again. */
  subscribe<event extends Event, method extends string>(
    type: EventClass<event>,
    object: ListeningObject<event, method>,
    method: method,
    priority = 0,
  ): () => void {
    return this.on(type, object[method].bind(object), priority, `${object.constructor.name}.${method}`)
  }

  /**
   * Calls the listeners of the event's class. Returns a promise only once a listener has returned one: whoever
   * dispatches awaits what is there, and nothing when nothing is pending. By default a listener's error ends the dispatch.
   */
  abstract dispatch(event: Event, options?: DispatchOptions): Promise<void> | undefined

  /** The listeners of an event class in the order in which they are called. */
  abstract listeners(type: EventClass): readonly RegisteredListener[]

  /** The event classes that have, or had, a listener. */
  abstract types(): Iterable<EventClass>

  /** Where a listener was registered, as file and line; `undefined` where nobody takes note of that. */
  originOf(_listener: RegisteredListener): string | undefined {
    return undefined
  }
}

const nobody: readonly RegisteredListener[] = []

/** Creates the dispatcher without any tracing. */
export function createEventDispatcher(): EventDispatcher {
  return new PlainEventDispatcher()
}

class PlainEventDispatcher extends EventDispatcher {
  readonly #listeners = new Map<EventClass, readonly RegisteredListener[]>()

  override on<event extends Event>(
    type: EventClass<event>,
    listener: Listener<event>,
    priority = 0,
    name: string = listener.name || 'anonymous',
    owner?: string,
  ): () => void {
    // Only events of this class reach the listener: the map is keyed by it.
    const entry: RegisteredListener = { listener: listener as Listener, name, priority, ...(owner && { owner }) }
    const others = this.listeners(type)
    const before = others.findIndex(other => other.priority < priority)
    // A new array each time: a dispatch that is under way keeps the list it started with.
    this.#listeners.set(type, others.toSpliced(before === -1 ? others.length : before, 0, entry))
    return () => {
      this.#listeners.set(
        type,
        this.listeners(type).filter(other => other !== entry),
      )
    }
  }

  override dispatch(event: Event, options?: DispatchOptions): Promise<void> | undefined {
    const listeners = this.listeners(event.constructor as unknown as EventClass)
    return options === undefined ? callFrom(0, listeners, event) : callChosen(0, listeners, event, options)
  }

  override listeners(type: EventClass): readonly RegisteredListener[] {
    return this.#listeners.get(type) ?? nobody
  }

  override types(): Iterable<EventClass> {
    return this.#listeners.keys()
  }
}

/** Synchronous until a listener is not: awaiting each of them would cost twenty times as much. */
function callFrom(start: number, listeners: readonly RegisteredListener[], event: Event): Promise<void> | undefined {
  for (let index = start; index < listeners.length && !event.isPropagationStopped; index++) {
    const pending = listeners[index]?.listener(event)
    if (isThenable(pending)) return Promise.resolve(pending).then(() => callFrom(index + 1, listeners, event))
  }
  return undefined
}

/** As {@link callFrom}, for events that are not dispatched as usual: the usual way has no test that it does not need. */
function callChosen(
  start: number,
  listeners: readonly RegisteredListener[],
  event: Event,
  options: DispatchOptions,
): Promise<void> | undefined {
  const { onFailure, only } = options
  for (const [index, entry] of listeners.entries()) {
    if (event.isPropagationStopped) break
    if (index < start || only?.(entry) === false) continue
    const goOn = () => callChosen(index + 1, listeners, event, options)
    try {
      const pending = entry.listener(event)
      if (!isThenable(pending)) continue
      const settled = Promise.resolve(pending)
      if (onFailure === undefined) return settled.then(goOn)
      return settled.catch(error => onFailure(error, entry, event)).then(goOn)
    } catch (error) {
      if (onFailure === undefined) throw error
      onFailure(error, entry, event)
    }
  }
  return undefined
}

/** Whether a listener has returned something to wait for. */
export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as PromiseLike<unknown> | undefined | null)?.then === 'function'
}

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
