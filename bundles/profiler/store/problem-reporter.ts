/** Told of what a store could not do. */
export type OnProblem = (message: string, error: unknown) => void

/** Milliseconds. */
const interval = 60_000

/** Passes each kind of problem on at most once a minute. */
export class ProblemReporter {
  readonly #onProblem: OnProblem
  readonly #clock: () => number
  readonly #told = new Map<string, number>()

  constructor(onProblem: OnProblem, clock: () => number) {
    this.#onProblem = onProblem
    this.#clock = clock
  }

  /** The message is a constant sentence, which also tells what kind of problem it is. */
  report(message: string, error: unknown): void {
    const now = this.#clock()
    const last = this.#told.get(message)
    // A clock that jumps back must not silence anybody.
    if (last !== undefined && Math.abs(now - last) < interval) return
    this.#told.set(message, now)
    this.#onProblem(message, error)
  }
}
