import { createHook } from 'node:async_hooks'
import { readConfig } from '../../lib/env/config.ts'
import { CONFIG_INVALID } from '../../lib/env/errors.ts'
import { Settings } from '../../lib/env/settings.ts'
import { checkObject, checkOptions, checkString } from '../../lib/errors/arguments.ts'
import type { EventDispatcher } from '../../lib/event-dispatcher/event-dispatcher.ts'
import type { Request } from '../../lib/http/request.ts'
import { Response } from '../../lib/http/response.ts'
import { TrustedProxies } from '../../lib/http/trusted-proxies.ts'
import { createLogger } from '../../lib/log/create-logger.ts'
import type { Logger, LogRecord } from '../../lib/log/logger.ts'
import { Redactor } from '../../lib/redact/redactor.ts'
import type { RequestHandler } from '../../lib/routing/route-collection.ts'
import { findOwnFrame, locateFrame, parseStack } from '../../lib/stack/stack-frames.ts'
import { readProperty } from '../../lib/text/describe-value.ts'
import type { ShapeOf } from '../../lib/text/mistakes.ts'
import type { Application, Bundle } from '../bundle.ts'
import { ControllerResolver } from '../controller.ts'
import { KERNEL_CONTROLLER_MISSING } from '../errors.ts'
import { RequestEvent } from '../events.ts'
import { HttpKernel } from '../http-kernel.ts'
import { Kernel } from '../kernel.ts'
import { checkBundles } from '../mistakes/check-bundles.ts'
import { RequestContext } from '../request-context.ts'
import {
  type ClientRequestInit,
  type OpenResponse,
  TestClient,
  type TestClientOptions,
  type TestResponse,
} from './client.ts'
import { createRequest, silentLogger } from './event-factories.ts'
import { RecordingDispatcher } from './recording-dispatcher.ts'

/** The options of a kernel for tests. */
export interface TestKernelOptions {
  /** The bundles of the application, such as `createBundles()`. */
  readonly bundles: readonly Bundle[]
  /** Texts of settings, also of the bundles, in addition to the defaults of a development environment. */
  readonly variables?: Readonly<Record<string, string>>
  /**
   * The directory of the application; the working directory by default. It may be empty: the package has its own files.
   */
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
  /** The services of the application, as `register` gets them. */
  readonly app: Application
  /** A client with its own cookies. */
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
  const place = new Error('createTestKernel()')
  checkObject('createTestKernel()', options, testKernelShape)
  checkOptions('createTestKernel()', options, testKernelShape)
  const { bundles, directory = process.cwd(), dispatcher, variables } = options
  for (const [name, text] of Object.entries(variables ?? {}))
    checkString('createTestKernel()', `the text of the variable ${name}`, text)
  const records: LogRecord[] = []
  const texts = { APP_ENV: 'dev', APP_SECRET: 'a secret for tests that is long enough', ...variables }
  const settings = new Settings({ variables: texts })
  const config = readConfig(settings)
  const redactor = new Redactor(texts)
  const stream = { write: () => true }
  const logger = createLogger({ level: 'debug', format: 'json', stream, redactor })
  logger.observe(record => records.push(record))
  const test = dispatcher === undefined ? [] : [createDispatcherBundle(dispatcher)]
  const all = [...test, ...checkBundles(bundles)]
  const timers = watchIntervals()
  const kernel = await Kernel.boot({ settings, config, directory, bundles: all, logger, redactor })
    .catch(adviseOnVariables)
    .finally(() => timers.stop())
  const trustedProxies = new TrustedProxies(config.trustedProxies, config.trustedHeaders)
  const reminder = remindToClose(place)
  const createClient = (client: TestClientOptions = {}) =>
    new KernelClient(kernel.app, { trustedProxies, ...client }, reminder.postpone)
  const close = async () => {
    reminder.end()
    await kernel.close()
    timers.report(directory)
  }
  return { app: kernel.app, client: createClient(), createClient, records, close }
}

/**
 * Watches the intervals that bundles start at the boot, and warns of those that run on after `close()`: the process
 * of the test would never end. An interval of Node has the properties that are read here.
 */
function watchIntervals(): { stop: () => void; report: (directory: string) => void } {
  const started: [timer: NodeJS.Timeout, place: Error][] = []
  const hook = createHook({
    init: (_id, type, _trigger, timer) => {
      if (type === 'Timeout') started.push([timer as NodeJS.Timeout, new Error('setInterval()')])
    },
  }).enable()
  return {
    stop: () => void hook.disable(),
    report(directory) {
      for (const [timer, place] of started) {
        const runs = readProperty(timer, '_repeat') !== null && readProperty(timer, '_destroyed') === false
        const frame = runs && timer.hasRef() ? findOwnFrame(place, directory) : undefined
        if (frame === undefined) continue
        const where = `${locateFrame(frame, directory).file}:${frame.line}`
        process.emitWarning(`The interval of ${where} still runs after close(): clear it in close() of its bundle.`)
      }
    },
  }
}

/** The folders of the testing kits, in the sources and in the package. */
const ownFolders = /[\\/](?:kernel|profiler)[\\/]testing[\\/]/

/**
 * Warns of a kernel that is not closed, because its connections and timers keep the process: without a word, the tests
 * would never end. The process that ends in time has no warning.
 */
function remindToClose(place: Error): { postpone: () => void; end: () => void } {
  let timer: NodeJS.Timeout
  const postpone = () => {
    clearTimeout(timer)
    timer = setTimeout(() => {
      const frame = parseStack(place).find(({ file }) => file !== undefined && !ownFolders.test(file))
      const where = frame === undefined ? '' : ` of ${locateFrame(frame, process.cwd()).file}:${frame.line}`
      process.emitWarning(
        `The kernel for tests${where} is open ten seconds after its last request: call its close() at the end of the test.`,
      )
    }, 10_000).unref()
  }
  postpone()
  return { postpone, end: () => clearTimeout(timer) }
}

/** A setting without a value may have one in the environment, which tests do not read. */
function adviseOnVariables(error: Error): never {
  const missing = [...error.message.matchAll(/^ {2}([A-Z][A-Z\d_]*) is not set/gm)].map(([, name]) => `${name}: …`)
  if (!(error instanceof CONFIG_INVALID) || missing.length === 0) throw error
  const mistakes = error.message.slice(error.message.indexOf('\n') + 1)
  const advice = `A test reads neither .env files nor the environment: pass variables: { ${missing.join(', ')} }.`
  throw new CONFIG_INVALID([`${mistakes}\n${advice}`])
}

/** Refuses requests for routes that no listener would find: the test would only see the status 500. */
class KernelClient extends TestClient {
  readonly #app: Application
  readonly #onRequest: () => void

  constructor(app: Application, options: TestClientOptions, onRequest: () => void) {
    super(app.kernel, options)
    this.#app = app
    this.#onRequest = onRequest
  }

  override request(method: string, target: string, init: ClientRequestInit = {}): Promise<TestResponse> {
    return this.#refuse(target, init) ?? super.request(method, target, init)
  }

  override open(target: string, init: ClientRequestInit = {}): Promise<OpenResponse> {
    return this.#refuse(target, init) ?? super.open(target, init)
  }

  #refuse(target: string, init: ClientRequestInit): Promise<never> | undefined {
    this.#onRequest()
    const { dispatcher, routes } = this.#app
    if (routes.size === 0 || '_controller' in Object(init?.attributes) || dispatcher.listeners(RequestEvent).length > 0)
      return
    return Promise.reject(new KERNEL_CONTROLLER_MISSING([target]))
  }
}

/** Comes first, so that other bundles decorate this dispatcher. */
function createDispatcherBundle(dispatcher: EventDispatcher): Bundle {
  return { name: 'test', decorate: foundation => ({ ...foundation, dispatcher }), register() {} }
}

/** The parts of a bare kernel that a test may supply. */
export interface BareKernelOptions {
  /** Controllers by name. */
  readonly controllers?: ControllerResolver
  /** The default writes nothing. */
  readonly logger?: Logger
}

/** A kernel without bundles and listeners, and a request for it. */
export interface BareKernel {
  /** The kernel, which calls only what the test has added. */
  readonly kernel: HttpKernel
  /** Records the events; tests add their listeners here. */
  readonly dispatcher: RecordingDispatcher
  /** A GET of `/here` that the handler answers. There is no router: the request has its controller already. */
  readonly request: Request
  /** The names of the dispatched events, in their order. */
  readonly sequence: readonly string[]
}

/**
 * Creates a kernel for tests of events: it calls only the handler and the listeners that the test adds. The handler
 * answers `request`; by default with the text `done`.
 */
export function createBareKernel(
  handler: RequestHandler = () => new Response('done'),
  options: BareKernelOptions = {},
): BareKernel {
  checkOptions('createBareKernel()', options, { controllers: true, logger: true })
  const { controllers = new ControllerResolver(), logger = silentLogger } = options
  const dispatcher = new RecordingDispatcher()
  const kernel = new HttpKernel({ dispatcher, controllers, context: new RequestContext(), logger })
  const request = createRequest('/here', { attributes: { _controller: handler } })
  return { kernel, dispatcher, request, sequence: dispatcher.sequence }
}
