import { parseConfig } from '../../lib/env/config.ts'
import { createLogger } from '../../lib/log/create-logger.ts'
import type { LogRecord } from '../../lib/log/logger.ts'
import { Redactor } from '../../lib/redact/redactor.ts'
import type { Application, Bundle } from '../bundle.ts'
import { Kernel } from '../kernel.ts'
import { TestClient } from './client.ts'

/** How a kernel for tests differs from that of `bin/serve`. */
export interface TestKernelOptions {
  readonly bundles: readonly Bundle[]
  /** Settings beside those of a development environment. */
  readonly variables?: Readonly<Record<string, string>>
  /** The project's root; where the process runs unless told else. */
  readonly directory?: string
}

/** A booted kernel, a client that talks to it, and what has been logged. */
export interface TestKernel {
  readonly app: Application
  readonly client: TestClient
  readonly records: readonly LogRecord[]
  close(): Promise<void>
}

/** Boots a kernel with chosen bundles for a test; nothing is printed, and no setting of the machine has a say. */
export async function createTestKernel({ bundles, variables, directory }: TestKernelOptions): Promise<TestKernel> {
  const records: LogRecord[] = []
  const settings = { APP_ENV: 'dev', APP_SECRET: 'a secret for tests, which nobody keeps', ...variables }
  const config = parseConfig(settings)
  const redactor = new Redactor(settings)
  const stream = { write: () => true }
  const logger = createLogger({ level: 'debug', format: 'json', stream, redactor })
  logger.observe(record => records.push(record))
  const kernel = await Kernel.boot({ config, directory: directory ?? process.cwd(), bundles, logger, redactor })
  return { app: kernel.app, client: new TestClient(kernel.app.kernel), records, close: () => kernel.close() }
}
