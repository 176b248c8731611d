import type { Event, RegisteredListener } from '../../../lib/event-dispatcher/event-dispatcher.ts'
import type { TraceSpan } from '../../../lib/event-dispatcher/traceable-event-dispatcher.ts'
import type { EventsData } from '../profile/span-data.ts'
import { MoreWorkCounter } from './more-work.ts'

/** Listeners with counters of their own. The calls of all others are counted together, without a name. */
const counterLimit = 500

/** The span of a dispatch that is not recorded. */
export const ignoredSpan: TraceSpan = { end() {} }

/**
 * Counts and times the dispatches without room, and the calls of their listeners. Times are in
 * milliseconds since the request began.
 */
export class MoreEvents {
  readonly #now: () => number
  readonly #time = new MoreWorkCounter()
  readonly #events = new WeakSet<Event>()
  readonly #dispatches = new Map<string, [event: string, count: number, heard: number]>()
  readonly #calls = new Map<RegisteredListener | undefined, [string, number, string, count: number, duration: number]>()

  constructor(now: () => number) {
    this.#now = now
  }

  beginDispatch(event: Event, called: string, isHeard: boolean): TraceSpan {
    const name = this.#dispatches.size < counterLimit ? called : ''
    const counter = this.#dispatches.get(name) ?? [name, 0, 0]
    this.#dispatches.set(name, counter)
    counter[1]++
    if (isHeard) counter[2]++
    this.#events.add(event)
    return ignoredSpan
  }

  /** `undefined` for an event that another request has dispatched. */
  beginCall(
    event: Event,
    called: string,
    listener: RegisteredListener,
    isOwn = this.#events.has(event),
  ): TraceSpan | undefined {
    if (!isOwn) return undefined
    const key = this.#calls.has(listener) || this.#calls.size < counterLimit ? listener : undefined
    const { name, priority } = key ?? { name: '', priority: 0 }
    const counter = this.#calls.get(key) ?? [key === undefined ? '' : called, priority, name, 0, 0]
    this.#calls.set(key, counter)
    counter[3]++
    const end = this.time()
    return {
      end: () => {
        counter[4] += Math.round(end() * 1000)
      },
    }
  }

  /** The returned function ends the time, and returns its milliseconds. */
  time(): () => number {
    const start = this.#now()
    return () => {
      const end = this.#now()
      this.#time.add(start, end, false)
      return end - start
    }
  }

  /** What is stored of it: see `eventsSchema`. */
  toData(): NonNullable<EventsData['more']> {
    return {
      dispatches: [...this.#dispatches.values()],
      calls: [...this.#calls.values()],
      periods: this.#time.toData()?.periods ?? [],
    }
  }
}
