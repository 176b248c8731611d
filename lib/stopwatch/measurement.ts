/** From when to when, in milliseconds since the section's origin. */
export interface StopwatchPeriod {
  readonly start: number
  readonly end: number
}

/** What was measured under one name, as plain data; what still runs is counted up to the moment it was asked for. */
export interface StopwatchEvent {
  readonly name: string
  /** `section`, `event_listener`, `template` …; `default` is the application's. */
  readonly category: string
  /** The clock's time, in milliseconds, to which all other times are relative. */
  readonly origin: number
  readonly start: number
  readonly end: number
  /** The sum of the periods: nested and overlapping ones count each. */
  readonly duration: number
  readonly isRunning: boolean
  /** In order of their starts. */
  readonly periods: readonly StopwatchPeriod[]
}

/** Collects the periods of one name. */
export class Measurement {
  readonly #name: string
  readonly #category: string
  readonly #origin: number
  /** In order of their starts; those without an end run. */
  readonly #periods: OpenPeriod[] = []

  constructor(name: string, category: string, origin: number) {
    this.#name = name
    this.#category = category
    this.#origin = origin
  }

  get isRunning(): boolean {
    return this.#periods.some(period => period.end === undefined)
  }

  /** Begins a period and returns what ends it. */
  start(now: () => number): () => void {
    const period: OpenPeriod = { start: now(), end: undefined }
    this.#periods.push(period)
    return () => {
      period.end ??= now()
    }
  }

  /** Ends the running period that began last; false when none runs. */
  stop(now: number): boolean {
    const period = this.#periods.findLast(period => period.end === undefined)
    if (period === undefined) return false
    period.end = now
    return true
  }

  toEvent(now: number): StopwatchEvent {
    const periods = this.#periods.map(({ start, end = now }) => ({
      start: start - this.#origin,
      end: end - this.#origin,
    }))
    return {
      name: this.#name,
      category: this.#category,
      origin: this.#origin,
      start: periods.reduce((first, period) => Math.min(first, period.start), Infinity),
      end: periods.reduce((last, period) => Math.max(last, period.end), -Infinity),
      duration: periods.reduce((sum, period) => sum + (period.end - period.start), 0),
      isRunning: this.isRunning,
      periods,
    }
  }
}

interface OpenPeriod {
  readonly start: number
  end: number | undefined
}
