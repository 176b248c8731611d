import { parseConfig } from '../../lib/env/config.ts'
import type { EventDispatcher } from '../../lib/event-dispatcher/event-dispatcher.ts'
import { TrustedProxies } from '../../lib/http/trusted-proxies.ts'
import { createLogger } from '../../lib/log/create-logger.ts'
import type { LogRecord } from '../../lib/log/logger.ts'
import { Redactor } from '../../lib/redact/redactor.ts'
import type { Application, Bundle } from '../bundle.ts'
import { Kernel } from '../kernel.ts'
import { TestClient, type TestClientOptions } from './client.ts'

/** How a kernel for tests differs from that of `bin/serve`. */
export interface TestKernelOptions {
  readonly bundles: readonly Bundle[]
  /** Settings beside those of a development environment. */
  readonly variables?: Readonly<Record<string, string>>
  /** The project's root; where the process runs unless told else. */
  readonly directory?: string
  /** What the kernel dispatches its events with: a `RecordingDispatcher`, say. */
  readonly dispatcher?: EventDispatcher
}

/** A booted kernel, a client that talks to it, and what has been logged. */
export interface TestKernel {
  readonly app: Application
  readonly client: TestClient
  /** Creates another client, with cookies of its own. */
  createClient(options?: TestClientOptions): TestClient
  /** All log records, of every level and channel. */
  readonly records: readonly LogRecord[]
  /** Closes the bundles; to be called when a test ends. */
  close(): Promise<void>
}

/** Boots a kernel with chosen bundles for a test; nothing is printed, and no setting of the machine has a say. */
export async function createTestKernel(options: TestKernelOptions): Promise<TestKernel> {
  const { bundles, directory = process.cwd(), dispatcher, variables } = options
  const records: LogRecord[] = []
  const settings = { APP_ENV: 'dev', APP_SECRET: 'a secret for tests, which nobody keeps', ...variables }
  const config = parseConfig(settings)
  const redactor = new Redactor(settings)
  const stream = { write: () => true }
  const logger = createLogger({ level: 'debug', format: 'json', stream, redactor })
  logger.observe(record => records.push(record))
  const all = dispatcher === undefined ? bundles : [createDispatcherBundle(dispatcher), ...bundles]
  const kernel = await Kernel.boot({ config, directory, bundles: all, logger, redactor })
  const trustedProxies = new TrustedProxies(config.trustedProxies, config.trustedHeaders)
  const createClient = (client: TestClientOptions = {}) =>
    new TestClient(kernel.app.kernel, { trustedProxies, ...client })
  return { app: kernel.app, client: createClient(), createClient, records, close: () => kernel.close() }
}

/** First of all: what other bundles put around a dispatcher, they put around this one. */
function createDispatcherBundle(dispatcher: EventDispatcher): Bundle {
  return { name: 'test', decorate: foundation => ({ ...foundation, dispatcher }), register() {} }
}
