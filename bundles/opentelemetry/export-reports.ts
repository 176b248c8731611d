import type { Logger } from '../../lib/log/logger.ts'
import type { Packages } from './load-packages.ts'

/** Milliseconds between two warnings. */
const interval = 60_000

/** Logs that spans were lost: the first time at once, then at most once a minute. */
export class ExportReports {
  readonly #logger: Logger
  readonly #clock: () => number
  #last = Number.NEGATIVE_INFINITY
  #omitted = 0

  /** The clock gives milliseconds. */
  constructor(logger: Logger, clock: () => number = () => performance.now()) {
    this.#logger = logger
    this.#clock = clock
  }

  /** Reports a failed export, or another problem of the packages. */
  fail(problem: unknown): void {
    const now = this.#clock()
    if (now - this.#last < interval) {
      this.#omitted++
      return
    }
    const more = this.#omitted === 0 ? {} : { omitted: this.#omitted }
    this.#last = now
    this.#omitted = 0
    this.#logger.warning('Spans of OpenTelemetry were lost: {reason}.', { reason: describeProblem(problem), ...more })
  }
}

/** The message of an error, which is empty if all addresses of a host have refused; then its code. */
function describeProblem(problem: unknown): string {
  if (!(problem instanceof Error)) return String(problem)
  return problem.message || ('code' in problem ? String(problem.code) : problem.name)
}

/** Passes problems of the packages to the reports, until the returned function is called. */
export function routeReports(
  { DiagLogLevel, diag, loggingErrorHandler, setGlobalErrorHandler }: Packages,
  reports: ExportReports,
): () => void {
  const fail = (message: string) => reports.fail(message)
  // The level excludes the last three.
  const logger = { error: fail, warn: fail, info: fail, debug: fail, verbose: fail }
  diag.setLogger(logger, { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true })
  setGlobalErrorHandler(error => reports.fail(error))
  return () => {
    diag.disable()
    setGlobalErrorHandler(loggingErrorHandler())
  }
}
