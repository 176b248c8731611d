/** How much a record matters, least first. */
export const logLevels = ['debug', 'info', 'warning', 'error', 'critical'] as const

/** One of {@link logLevels}. */
export type LogLevel = (typeof logLevels)[number]
