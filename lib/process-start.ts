let start = performance.timeOrigin

/**
 * When this process began to load the application, in milliseconds since 1970. It may have waited
 * before: see `bin/serving/next-process.ts`.
 */
export function processStart(): number {
  return start
}

/** Marks that the process begins to load the application now. */
export function markProcessStart(): void {
  start = Date.now()
}
