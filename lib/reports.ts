import { guard } from './guard.ts'

/**
 * What one part of the program reports to others that it does not know. An error of an observer is
 * no error of the code that reports.
 */
export class Reports<Values extends unknown[]> {
  readonly #observers = new Set<(...values: Values) => void>()
  /** Passes a report to all observers. */
  readonly pass: (...values: Values) => void

  /** The name is that of what is observed, for messages. */
  constructor(name: string) {
    this.pass = guard(name, (...values) => {
      for (const observe of this.#observers) observe(...values)
    })
  }

  /** Passes reports to an observer, until the returned function is called. */
  observe(observer: (...values: Values) => void): () => void {
    this.#observers.add(observer)
    return () => void this.#observers.delete(observer)
  }
}
