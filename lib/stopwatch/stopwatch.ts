import { STOPWATCH_NOT_STARTED, STOPWATCH_SECTION_NOT_OPEN, STOPWATCH_SECTION_OPEN } from './errors.ts'

/**
 * Measures the work of one request by name, in the manner of Symfony's Stopwatch. A sub-request is a section: a
 * stopwatch of its own, so that sub-requests that run at the same time do not mix up their events. The clock gives
 * milliseconds and never runs backwards.
 */
export class Stopwatch {
  /** What the clock said when this stopwatch, or section, came to be: the zero of its events' times. */
  readonly origin: number
  readonly #now: () => number
  readonly #measurements = new Map<string, Measurement>()
  #sections = new Map<string, Stopwatch>()
  /** There while this is an open section. */
  #end: (() => void) | undefined

  constructor(now: () => number = () => performance.now()) {
    this.#now = now
    this.origin = now()
  }

  /**
   * Starts the event; what runs already goes on and is stopped after this one. Returns what ends exactly this start, for
   * work that overlaps with work of the same name; to call it twice is harmless. The first category of a name stays.
   */
  start(name: string, category = 'default'): () => void {
    let measurement = this.#measurements.get(name)
    if (measurement === undefined) {
      measurement = new Measurement(name, category, this.origin)
      this.#measurements.set(name, measurement)
    }
    return measurement.start(this.#now)
  }

  /** Stops what was started last under the name, and returns the event. @throws STOPWATCH_NOT_STARTED */
  stop(name: string): StopwatchEvent {
    const now = this.#now()
    const measurement = this.#measurements.get(name)
    if (!measurement?.stop(now)) throw new STOPWATCH_NOT_STARTED([name, this.#running()])
    return measurement.toEvent(now)
  }

  /** Ends the current period of the event and begins its next. @throws STOPWATCH_NOT_STARTED */
  lap(name: string): StopwatchEvent {
    const event = this.stop(name)
    this.start(name)
    return event
  }

  isStarted(name: string): boolean {
    return this.#measurements.get(name)?.isRunning ?? false
  }

  /** Runs the function, sync or async, as an event that ends with it, also when it fails; gives back what it gives. */
  measure<result>(name: string, category: string, work: () => result): result {
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
    // A promise of the same value: only its end was heard.
    return result.finally(end) as result
  }

  /**
   * Opens a section of this stopwatch, or opens a stopped one again, and returns it. The section counts its time as
   * `__section__`, this stopwatch as `__section__.child`. Ids are known to all sections of one stopwatch.
   *
   * @throws STOPWATCH_SECTION_OPEN when the section of this id runs
   */
  openSection(id: string = `section ${this.#sections.size + 1}`): Stopwatch {
    const section = this.#sections.get(id) ?? new Stopwatch(this.#now)
    if (section.#end !== undefined) throw new STOPWATCH_SECTION_OPEN([id])
    const endChild = this.start('__section__.child', 'section')
    const endSection = section.start('__section__', 'section')
    section.#sections = this.#sections
    section.#end = () => {
      endSection()
      endChild()
    }
    this.#sections.set(id, section)
    return section
  }

  /** Stops a section; it may be opened again. @throws STOPWATCH_SECTION_NOT_OPEN */
  stopSection(id: string): void {
    const section = this.#sections.get(id)
    if (section === undefined || section.#end === undefined)
      throw new STOPWATCH_SECTION_NOT_OPEN([id, this.#openSections()])
    section.close()
  }

  /** Stops this section, if it is one and runs; events of it that still run go on. */
  close(): void {
    this.#end?.()
    this.#end = undefined
  }

  /** What was measured so far, here or in the section of this id (nothing when there is none), in order of first start. */
  events(section?: string): StopwatchEvent[] {
    if (section !== undefined) return this.#sections.get(section)?.events() ?? []
    const now = this.#now()
    return Array.from(this.#measurements.values(), measurement => measurement.toEvent(now))
  }

  #running(): string {
    return list([...this.#measurements.keys()].filter(name => this.isStarted(name)))
  }

  #openSections(): string {
    return list([...this.#sections].filter(([, section]) => section.#end !== undefined).map(([id]) => id))
  }
}

function list(names: readonly string[]): string {
  return names.length === 0 ? 'nothing' : names.map(name => `"${name}"`).join(', ')
}

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
