/** Makes an error without its stack, which costs more than a small request: for what nobody will ever look up. */
export function withoutStack<error extends Error>(create: () => error): error {
  const { stackTraceLimit } = Error
  Error.stackTraceLimit = 0
  try {
    return create()
  } finally {
    Error.stackTraceLimit = stackTraceLimit
  }
}
