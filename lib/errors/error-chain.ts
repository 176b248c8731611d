/** An error with what led to it, as {@link FlatError} is one. */
interface Chained<error> {
  readonly cause?: error
  readonly errors?: readonly error[]
}

/** An error, the errors it gathers and its causes, in the order in which they are read. */
export function errorChain<error extends Chained<error>>(error: error): error[] {
  const { cause, errors = [] } = error
  return [error, ...errors.flatMap(errorChain), ...(cause === undefined ? [] : errorChain(cause))]
}
