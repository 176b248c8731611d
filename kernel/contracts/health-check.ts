import type { ExtensionPoint } from './extension-point.ts'

/** Checks a part without which the application cannot answer requests, such as its database. */
export interface HealthCheck {
  /** Every client of `/_health` sees the names of checks that fail. */
  readonly name: string
  /**
   * Whether requests are answered without the part. Then it is checked only at the start of the
   * server, and a failure is a warning.
   */
  readonly isOptional?: boolean
  /** Milliseconds after which the check has failed; 800 by default, because Kubernetes waits for one second. */
  readonly timeout?: number
  /**
   * Throws an error, or returns a promise that rejects, if the part cannot be used; `false` is a failure without a
   * reason. The signal aborts at the timeout.
   */
  check(signal: AbortSignal): unknown
}

/** What `app.healthChecks` takes. */
export const healthCheckPoint: ExtensionPoint<HealthCheck> = {
  noun: 'health check',
  shape: { name: 'string', isOptional: 'boolean', timeout: 'positive', check: 'function' },
  required: ['name', 'check'],
}
