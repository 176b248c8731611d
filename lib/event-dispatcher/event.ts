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
