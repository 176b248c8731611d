/** Something that happens, told to listeners one after another until one of them stops it. */
export abstract class Event {
  #stopped = false

  /** Whether a listener has kept the rest from hearing of this. */
  get isPropagationStopped(): boolean {
    return this.#stopped
  }

  /** Keeps the listeners that have not been called yet from being called. */
  stopPropagation(): void {
    this.#stopped = true
  }
}

/** The class of an event: listeners are registered by it. */
export interface EventClass<event extends Event = Event> {
  readonly eventName: string
  readonly prototype: event
}
