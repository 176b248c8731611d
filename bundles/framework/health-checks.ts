import type { HealthCheck } from '../../kernel/health-check.ts'
import type { Eventual } from '../../kernel/steps.ts'
import type { Logger } from '../../lib/log/logger.ts'
import { FRAMEWORK_HEALTH_TIMEOUT } from './errors.ts'

/** The outcome of a health check. */
export interface HealthResult {
  readonly name: string
  /** Milliseconds. */
  readonly duration: number
  readonly hasFailed: boolean
  /** What was thrown, or the error of the timeout. */
  readonly error: unknown
}

/** Milliseconds. */
const defaultTimeout = 800

/** Milliseconds for which results are kept: any number of requests causes at most one call of each check a second. */
const lifetime = 1_000

/** Runs the health checks of all bundles, all at the same time. Logs when a check begins to fail, and when it ends to fail. */
export class HealthChecks {
  readonly #checks: readonly HealthCheck[]
  readonly #logger: Logger
  readonly #clock: () => number
  #results: readonly HealthResult[] = []
  #end = Number.NEGATIVE_INFINITY
  #running: Promise<readonly HealthResult[]> | undefined
  /** The calls that have not ended, also after their timeout: a check that hangs is not called a second time. */
  readonly #calls = new Map<HealthCheck, Promise<unknown>>()
  readonly #failing = new Set<HealthCheck>()

  /** The list may grow until the first run. The clock gives milliseconds. */
  constructor(checks: readonly HealthCheck[], logger: Logger, clock: () => number = () => performance.now()) {
    this.#checks = checks
    this.#logger = logger.channel('health')
    this.#clock = clock
  }

  /** The results, which are at most a second old. */
  run(): Eventual<readonly HealthResult[]> {
    if (this.#checks.length === 0 || this.#clock() < this.#end) return this.#results
    this.#running ??= this.#runAll()
    return this.#running
  }

  async #runAll(): Promise<readonly HealthResult[]> {
    this.#results = await Promise.all(this.#checks.map(check => this.#run(check)))
    this.#end = this.#clock() + lifetime
    this.#running = undefined
    return this.#results
  }

  async #run(check: HealthCheck): Promise<HealthResult> {
    const { name } = check
    const start = this.#clock()
    const { error, hasFailed } = await this.#call(check)
    const duration = this.#clock() - start
    if (hasFailed && !this.#failing.has(check)) {
      this.#failing.add(check)
      this.#logger.error('The health check "{name}" has failed.', { name, exception: error })
    } else if (!hasFailed && this.#failing.delete(check)) {
      this.#logger.warning('The health check "{name}" succeeds again.', { name })
    }
    return { name, duration, hasFailed, error }
  }

  async #call(check: HealthCheck): Promise<Pick<HealthResult, 'hasFailed' | 'error'>> {
    const { name, timeout = defaultTimeout } = check
    const controller = new AbortController()
    let timer: NodeJS.Timeout | undefined
    const expired = new Promise((_resolve, reject) => {
      timer = setTimeout(() => {
        const error = new FRAMEWORK_HEALTH_TIMEOUT([name, timeout])
        reject(error)
        controller.abort(error)
      }, timeout)
    })
    const result = await Promise.race([this.#begin(check, controller.signal), expired]).then(
      () => ({ hasFailed: false, error: undefined }),
      (error: unknown) => ({ hasFailed: true, error }),
    )
    clearTimeout(timer)
    return result
  }

  /** Calls a check, unless its last call has not ended. */
  #begin(check: HealthCheck, signal: AbortSignal): Promise<unknown> {
    const known = this.#calls.get(check)
    if (known !== undefined) return known
    // The check may throw at once.
    const call = (async () => check.check(signal))().finally(() => this.#calls.delete(check))
    this.#calls.set(check, call)
    return call
  }
}
