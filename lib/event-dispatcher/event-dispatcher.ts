import path from 'node:path'
import { ARGUMENT_INVALID, checkFunction } from '../errors/arguments.ts'
import { packageDirectory } from '../package.ts'
import { locateFrame, parseStack } from '../stack/stack-frames.ts'
import { describeValue } from '../text/describe-value.ts'
import { nearestNames, suggestNames } from '../text/mistakes.ts'

/** The base class of events. Listeners are called one after another until one of them stops the event. */
export abstract class Event {
  /** Whether the remaining listeners are skipped. */
  declare isPropagationStopped: boolean

  /** The error with which a listener has ended the event without a throw; `undefined` without one. */
  declare failure: Failure | undefined

  /** Skips the listeners that were not called yet. */
  stopPropagation(): void {
    this.isPropagationStopped = true
  }

  /**
   * Called with a value that a listener has returned. A subclass throws if the listener expects an
   * effect that the value has not.
   */
  checkResult(_result: unknown, _listener: RegisteredListener): void {}
}

// On the prototype, because several events are created per request, and few are stopped.
Event.prototype.isPropagationStopped = false
Event.prototype.failure = undefined

/**
 * An error that is returned. A throw takes V8 a microsecond, which is too much for an error that clients cause often.
 */
export class Failure {
  readonly error: unknown

  constructor(error: unknown) {
    this.error = error
  }
}

/** The class of an event. Listeners are registered for a class. */
export interface EventClass<event extends Event = Event> {
  /** The name of the event, such as `kernel.request`, in profiles and in `debug:events`. */
  readonly eventName: string
  /** Gives the type of the event to its listeners. */
  readonly prototype: event
}

/** A function that is called for an event. A promise that it returns is awaited before the next listener is called. */
export type Listener<event extends Event = Event> = (event: event) => unknown

/** An object with a method that is a listener. */
type ListeningObject<event extends Event, method extends string> = { [key in method]: Listener<event> }

/** A listener of a dispatcher, with its name and priority. */
export interface RegisteredListener {
  /** The function that is called. */
  readonly listener: Listener
  /** `RouterListener.onRequest`, or the function's name. */
  readonly name: string
  /** Higher is called earlier. Equal priorities are called in the order of registration. */
  readonly priority: number
  /** The bundle that registered the listener. Absent if other code registered it. */
  readonly owner?: string
}

/** The functions of applications, by those that trace them. */
const traced = new WeakMap<object, Listener>()

/** Remembers the function that another one traces, whose source is read instead. */
export function noteTraced(listener: Listener, original: Listener): void {
  traced.set(listener, original)
}

/** The function as the application has written it. */
export function originalOf(listener: Listener): Listener {
  return traced.get(listener) ?? listener
}

/** Options for the dispatch of one event. */
export interface DispatchOptions {
  /** The listeners that are called; all by default. */
  readonly only?: (listener: RegisteredListener) => boolean
  /** Receives the error of a listener; the next listeners are still called. By default an error ends the dispatch. */
  readonly onFailure?: (error: unknown, listener: RegisteredListener, event: Event) => void
}

/** Calls the listeners of an event, by priority, until one of them stops the event. */
export abstract class EventDispatcher {
  /** Adds a function. Returns a function that removes it. @throws ARGUMENT_INVALID */
  abstract on<event extends Event>(
    type: EventClass<event>,
    listener: Listener<event>,
    priority?: number,
    name?: string,
    owner?: string,
  ): () => void

  /** Adds a method of an object, named `Class.method`. Returns a function that removes it. @throws ARGUMENT_INVALID */
  subscribe<event extends Event, method extends string>(
    type: EventClass<event>,
    object: ListeningObject<event, method>,
    method: method,
    priority = 0,
  ): () => void {
    const listener: unknown = Object(object)[method]
    if (typeof listener !== 'function') {
      const suggestion =
        typeof object === 'function'
          ? ': the second argument is the object, and the third one the name of its method'
          : suggestNames(String(method), listMethods(object))
      const mistake = `${describeValue(object)} has no method "${method}"${suggestion}`
      throw new ARGUMENT_INVALID(['dispatcher.subscribe(type, object, method)', mistake])
    }
    return this.on(type, object[method].bind(object), priority, `${object.constructor.name}.${method}`)
  }

  /**
   * Calls the listeners of the event's class. Returns a promise only if a listener has returned
   * one; without it all listeners have already ended. By default the error of a listener ends the
   * dispatch. It is thrown, or it is the `failure` of the event.
   */
  abstract dispatch(event: Event, options?: DispatchOptions): Promise<void> | undefined

  /** Whether events of a class have to be dispatched: a listener would be called, or the dispatch is recorded. */
  needs(_type: EventClass): boolean {
    return true
  }

  /** The listeners of an event class in the order in which they are called. */
  abstract listeners(type: EventClass): readonly RegisteredListener[]

  /** The event classes that have, or had, a listener. */
  abstract types(): Iterable<EventClass>

  /** The file and line where a listener was registered; `undefined` if the dispatcher does not record them. */
  originOf(_listener: RegisteredListener): string | undefined {
    return undefined
  }
}

const noListeners: readonly RegisteredListener[] = []

/** The names of the methods of an object and of its classes. */
export function listMethods(object: unknown): string[] {
  const names: string[] = []
  for (let each = object; each instanceof Object && each !== Object.prototype; each = Object.getPrototypeOf(each)) {
    names.push(...Object.getOwnPropertyNames(each))
  }
  return names
}

const call = 'dispatcher.on(type, listener)'

/** Refuses arguments of `on` that the compiler would refuse. @throws ARGUMENT_INVALID */
function checkListener(type: unknown, listener: unknown, priority: unknown, known: Iterable<EventClass>): void {
  const { eventName } = Object(type) as Partial<EventClass>
  if (typeof type !== 'function' || typeof eventName !== 'string') {
    throw new ARGUMENT_INVALID([call, `the type must be the class of an event, ${describeType(type, known)}`])
  }
  if (type.prototype instanceof globalThis.Event) {
    throw new ARGUMENT_INVALID([
      call,
      `${describeValue(type)} extends the "Event" of the platform: import "Event" from "sinfonietta"`,
    ])
  }
  checkFunction(call, 'the listener', listener)
  if ((listener as Listener).length > 1) {
    throw new ARGUMENT_INVALID([call, 'the listener takes the event alone: the next listener is called when it ends'])
  }
  if (typeof priority === 'number' && !Number.isNaN(priority)) return
  throw new ARGUMENT_INVALID([call, `the priority must be a number, not ${describeValue(priority)}`])
}

/** An event is named by its class. A text may be its name, as in other frameworks. */
function describeType(type: unknown, known: Iterable<EventClass>): string {
  if (typeof type === 'function') return `with a static eventName: ${describeValue(type)} has none`
  if (typeof type !== 'string') return `such as RequestEvent, not ${describeValue(type)}`
  const classes = new Map(Array.from(known, each => [each.eventName, (each as unknown as { name: string }).name]))
  const [nearest = 'kernel.request'] = nearestNames(type, classes.keys())
  return `not its name: ${classes.get(nearest) ?? 'RequestEvent'} for "${nearest}"`
}

/** Creates a dispatcher without tracing. */
export function createEventDispatcher(): EventDispatcher {
  return new PlainEventDispatcher()
}

class PlainEventDispatcher extends EventDispatcher {
  readonly #listeners = new Map<EventClass, readonly RegisteredListener[]>()

  override on<event extends Event>(
    type: EventClass<event>,
    listener: Listener<event>,
    priority = 0,
    name: string = listener?.name || 'anonymous',
    owner?: string,
  ): () => void {
    checkListener(type, listener, priority, this.types())
    // The map is keyed by class, so only events of this class reach the listener.
    const entry: RegisteredListener = { listener: listener as Listener, name, priority, ...(owner && { owner }) }
    if (name === 'anonymous') noteRegistration(listener, this.on)
    const others = this.listeners(type)
    const before = others.findIndex(other => other.priority < priority)
    // A new array, so that a running dispatch keeps its list.
    this.#listeners.set(type, others.toSpliced(before === -1 ? others.length : before, 0, entry))
    return () => {
      this.#listeners.set(
        type,
        this.listeners(type).filter(other => other !== entry),
      )
    }
  }

  override dispatch(event: Event, options?: DispatchOptions): Promise<void> | undefined {
    const listeners = this.listeners(event?.constructor as unknown as EventClass)
    if (listeners === noListeners) checkEvent(event)
    return options === undefined ? callFrom(0, listeners, event) : callWithOptions(0, listeners, event, options)
  }

  override needs(type: EventClass): boolean {
    return this.listeners(type).length > 0
  }

  override listeners(type: EventClass): readonly RegisteredListener[] {
    return this.#listeners.get(type) ?? noListeners
  }

  override types(): Iterable<EventClass> {
    return this.#listeners.keys()
  }
}

/** An object without a class would have no listeners, ever. @throws ARGUMENT_INVALID */
function checkEvent(event: Partial<Event> | undefined): void {
  if (typeof event?.stopPropagation === 'function') return
  const mistake = `it needs an object of a class that extends Event, not ${describeValue(event)}`
  throw new ARGUMENT_INVALID(['dispatcher.dispatch(event)', mistake])
}

/** Calls listeners synchronously up to the first promise: awaiting each of them costs twenty times as much. */
function callFrom(start: number, listeners: readonly RegisteredListener[], event: Event): Promise<void> | undefined {
  for (let index = start; index < listeners.length && !isOver(event); index++) {
    const entry = listeners[index] as RegisteredListener
    const result = entry.listener(event)
    if (result === undefined) continue
    if (!isThenable(result)) event.checkResult(result, entry)
    else {
      return Promise.resolve(result).then(settled => {
        if (settled !== undefined) event.checkResult(settled, entry)
        return callFrom(index + 1, listeners, event)
      })
    }
  }
  return undefined
}

function isOver({ failure, isPropagationStopped }: Event): boolean {
  return isPropagationStopped || failure !== undefined
}

/**
 * {@link callFrom} with options, in its own function so that the usual dispatch stays fast. A failure is thrown here.
 */
function callWithOptions(
  start: number,
  listeners: readonly RegisteredListener[],
  event: Event,
  options: DispatchOptions,
): Promise<void> | undefined {
  const { onFailure, only } = options
  for (let index = start; index < listeners.length && !event.isPropagationStopped; index++) {
    const entry = listeners[index]
    if (entry === undefined || only?.(entry) === false) continue
    try {
      const result = entry.listener(event)
      if (!isThenable(result)) {
        finishCall(event, result, entry)
        continue
      }
      const settled = Promise.resolve(result).then(value => finishCall(event, value, entry))
      const goOn = () => callWithOptions(index + 1, listeners, event, options)
      if (onFailure === undefined) return settled.then(goOn)
      return settled.catch(error => onFailure(error, entry, event)).then(goOn)
    } catch (error) {
      if (onFailure === undefined) throw error
      onFailure(error, entry, event)
    }
  }
  return undefined
}

function finishCall(event: Event, result: unknown, entry: RegisteredListener): void {
  if (result !== undefined) event.checkResult(result, entry)
  const { failure } = event
  if (failure === undefined) return
  // The next listener is called if the failure is handled.
  event.failure = undefined
  throw failure.error
}

/** Whether a value, such as the result of a listener, is a promise or has a `then` like one. */
export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as PromiseLike<unknown> | undefined | null)?.then === 'function'
}

/** The dispatcher of one bundle: wraps a dispatcher, and registers listeners with the name of the bundle. */
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
    // Here, too: a dispatcher between this one and the inner one may use the listener.
    checkListener(type, listener, priority ?? 0, this.types())
    return this.#inner.on(type, listener, priority, name, owner)
  }

  override dispatch(event: Event, options?: DispatchOptions): Promise<void> | undefined {
    return this.#inner.dispatch(event, options)
  }

  override needs(type: EventClass): boolean {
    return this.#inner.needs(type)
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

/** A registered listener, which has its bundle as its owner. */
interface Registered {
  readonly listener: object
  readonly name: string
  readonly owner?: string
}

const stacks = new WeakMap<object, { readonly message: string; readonly stack?: string }>()

/**
 * Remembers the code that registers a function without a name now: the caller of the function
 * `below`. It takes two microseconds.
 */
function noteRegistration(listener: object, below: (...values: never[]) => unknown): void {
  const caught = { message: '' }
  Error.captureStackTrace(caught, below)
  stacks.set(listener, caught)
}

/** Gives an error about a listener the stack of its registration, if that is known: the mistake is there. */
export function placeAtListener<error extends Error>(error: error, { listener }: Registered): error {
  const [, ...frames] = stacks.get(listener)?.stack?.split('\n') ?? []
  if (frames.length > 0) error.stack = [String(error), ...frames].join('\n')
  return error
}

/**
 * Names a listener in a log: by its name, and a function without one also by its bundle and the
 * place that registers it, such as `anonymous (bundle "shop", shop-bundle.ts:12)`.
 */
export function describeListener({ listener, name, owner }: Registered): string {
  const stack = stacks.get(listener)
  if (stack === undefined) return name
  const frame = parseStack(stack).find(each => !inside.includes(locateFrame(each, packageDirectory).origin))
  const place = frame?.file && `${path.basename(frame.file)}:${frame.line}`
  const parts = [...(owner ? [`bundle "${owner}"`] : []), ...(place ? [place] : [])]
  return parts.length === 0 ? name : `${name} (${parts.join(', ')})`
}

/** Where the code of no application is. */
const inside: readonly string[] = ['kernel', 'runtime']
