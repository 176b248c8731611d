import { checkArguments } from '../errors/arguments.ts'
import { type CodedErrorClass, defineError } from '../errors/http-error.ts'

/** A measurement is stopped that is not running. Start it first. */
export const STOPWATCH_NOT_STARTED: CodedErrorClass<[name: string, running: string]> = defineError(
  'STOPWATCH_NOT_STARTED',
  500,
  'The stopwatch event "%s" cannot be stopped because it is not running. Running: %s.',
)

/** A time from start to end, in milliseconds since the origin of the stopwatch. */
interface StopwatchPeriod {
  readonly start: number
  readonly end: number
}

/** All periods of one name, as plain data. A period that still runs ends at the moment of the call. */
export interface StopwatchEvent {
  /** The name of the measured work. */
  readonly name: string
  /** A label chosen by the application, such as `database`; `default` by default. */
  readonly category: string
  /** The time of the clock to which all other times are relative, in milliseconds. */
  readonly origin: number
  readonly start: number
  readonly end: number
  /** The sum of the periods. Nested and overlapping periods count each. */
  readonly duration: number
  readonly isRunning: boolean
  /** Ordered by start. */
  readonly periods: readonly StopwatchPeriod[]
}

/**
 * Measures the work of one request by name, in the manner of Symfony's Stopwatch. A sub-request
 * has its own stopwatch. The clock gives milliseconds and never runs backwards.
 */
export class Stopwatch {
  readonly #origin: number
  readonly #now: () => number
  readonly #measurements = new Map<string, Measurement>()

  constructor(now: () => number = () => performance.now()) {
    this.#now = now
    this.#origin = now()
  }

  /**
   * Starts a period of a name. Returns a function that ends this period, for work that overlaps with
   * work of the same name; a second call of it does nothing. The first category of a name stays.
   */
  start(name: string, category = 'default'): () => void {
    if (typeof name !== 'string' || typeof category !== 'string')
      checkArguments('stopwatch.start(name, category)', ['string', 'string'], name, category)
    let measurement = this.#measurements.get(name)
    if (measurement === undefined) {
      measurement = { category, periods: [] }
      this.#measurements.set(name, measurement)
    }
    const period: OpenPeriod = { start: this.#now(), end: undefined }
    measurement.periods.push(period)
    return () => {
      period.end ??= this.#now()
    }
  }

  /** Ends the period of the name that started last, and returns all of its periods. @throws STOPWATCH_NOT_STARTED */
  stop(name: string): StopwatchEvent {
    const measurement = this.#measurements.get(name)
    const period = measurement?.periods.findLast(isRunning)
    if (measurement === undefined || period === undefined) throw new STOPWATCH_NOT_STARTED([name, this.#listRunning()])
    const now = this.#now()
    period.end = now
    return this.#toEvent(name, measurement, now)
  }

  /** Calls the function, sync or async, within a period that also ends when it fails. Returns the function's result. */
  measure<result>(name: string, category: string, work: () => result): result {
    checkArguments('stopwatch.measure(name, category, work)', ['string', 'string', 'function'], name, category, work)
    const end = this.start(name, category)
    let result: result
    try {
      result = work()
    } catch (error) {
      end()
      throw error
    }
    if (!(result instanceof Promise)) {
      end()
      return result
    }
    // `finally` gives a promise of the same value.
    return result.finally(end) as result
  }

  /** Everything measured so far, ordered by the first start of each name. */
  events(): StopwatchEvent[] {
    const now = this.#now()
    return Array.from(this.#measurements, ([name, measurement]) => this.#toEvent(name, measurement, now))
  }

  #toEvent(name: string, measurement: Measurement, now: number): StopwatchEvent {
    const origin = this.#origin
    const periods = measurement.periods.map(({ start, end = now }) => ({ start: start - origin, end: end - origin }))
    return {
      name,
      category: measurement.category,
      origin,
      start: periods.reduce((first, { start }) => Math.min(first, start), Infinity),
      end: periods.reduce((last, { end }) => Math.max(last, end), -Infinity),
      duration: periods.reduce((sum, { start, end }) => sum + (end - start), 0),
      isRunning: measurement.periods.some(isRunning),
      periods,
    }
  }

  #listRunning(): string {
    const running = [...this.#measurements].filter(([, { periods }]) => periods.some(isRunning))
    return running.map(([name]) => `"${name}"`).join(', ') || 'nothing'
  }
}

interface Measurement {
  readonly category: string
  /** Ordered by start. A period without an end runs. */
  readonly periods: OpenPeriod[]
}

interface OpenPeriod {
  readonly start: number
  end: number | undefined
}

function isRunning({ end }: OpenPeriod): boolean {
  return end === undefined
}
