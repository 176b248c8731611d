import { readConfig } from '../../lib/env/config.ts'
import { Settings } from '../../lib/env/settings.ts'
import { checkOptions } from '../../lib/errors/arguments.ts'
import type { EventDispatcher } from '../../lib/event-dispatcher/event-dispatcher.ts'
import { TrustedProxies } from '../../lib/http/trusted-proxies.ts'
import { createLogger } from '../../lib/log/create-logger.ts'
import type { LogRecord } from '../../lib/log/logger.ts'
import { Redactor } from '../../lib/redact/redactor.ts'
import type { ShapeOf } from '../../lib/text/shape.ts'
import type { Application, Bundle } from '../bundle.ts'
import { Kernel } from '../kernel.ts'
import { TestClient, type TestClientOptions } from './client.ts'

/** The options of a kernel for tests. */
export interface TestKernelOptions {
  readonly bundles: readonly Bundle[]
  /** Texts of settings, also of the bundles, in addition to the defaults of a development environment. */
  readonly variables?: Readonly<Record<string, string>>
  /** The directory of the application; the working directory by default. It may be empty: the package has its own files. */
  readonly directory?: string
  /** The event dispatcher, such as a `RecordingDispatcher`. */
  readonly dispatcher?: EventDispatcher
}

const testKernelShape: ShapeOf<TestKernelOptions> = {
  bundles: true,
  variables: 'object',
  directory: 'string',
  dispatcher: 'object',
}

/** A booted kernel, a client for it, and its log messages. */
export interface TestKernel {
  readonly app: Application
  readonly client: TestClient
  /** Creates another client with its own cookies. */
  createClient(options?: TestClientOptions): TestClient
  /** All log messages, of every level and channel. */
  readonly records: readonly LogRecord[]
  /** Closes the bundles. Call it at the end of a test. */
  close(): Promise<void>
}

/** Boots a kernel with these bundles for a test. It prints nothing, and ignores the environment of the process. */
export async function createTestKernel(options: TestKernelOptions): Promise<TestKernel> {
  checkOptions('createTestKernel()', options, testKernelShape)
  const { bundles, directory = process.cwd(), dispatcher, variables } = options
  const records: LogRecord[] = []
  const texts = { APP_ENV: 'dev', APP_SECRET: 'a secret for tests that is long enough', ...variables }
  const settings = new Settings({ variables: texts })
  const config = readConfig(settings)
  const redactor = new Redactor(texts)
  const stream = { write: () => true }
  const logger = createLogger({ level: 'debug', format: 'json', stream, redactor })
  logger.observe(record => records.push(record))
  const test = dispatcher === undefined ? [] : [createDispatcherBundle(dispatcher)]
  const all = [...test, ...bundles]
  const kernel = await Kernel.boot({ settings, config, directory, bundles: all, logger, redactor })
  const trustedProxies = new TrustedProxies(config.trustedProxies, config.trustedHeaders)
  const createClient = (client: TestClientOptions = {}) =>
    new TestClient(kernel.app.kernel, { trustedProxies, ...client })
  return { app: kernel.app, client: createClient(), createClient, records, close: () => kernel.close() }
}

/** Comes first, so that other bundles decorate this dispatcher. */
function createDispatcherBundle(dispatcher: EventDispatcher): Bundle {
  return { name: 'test', decorate: foundation => ({ ...foundation, dispatcher }), register() {} }
}
