import { AssertionError } from 'node:assert'

/** What a failure is made of. */
export interface ProfileFailure {
  readonly message: string
  readonly expected: unknown
  readonly actual: unknown
  readonly record: readonly string[]
  /** The function that was called: the stack begins with its caller. */
  readonly caller: (...values: never[]) => unknown
}

/** A request was not as expected; test runners show the record with the difference. */
export class ProfileAssertionError extends AssertionError {
  /** What matters of the record, as lines of Markdown. */
  readonly record: readonly string[]

  constructor({ actual, caller, expected, message, record }: ProfileFailure) {
    super({ message, expected, actual, operator: caller.name, stackStartFn: caller })
    this.record = record
  }
}
