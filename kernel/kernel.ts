import path from 'node:path'
import type { Config } from '../lib/env/config.ts'
import type { Settings } from '../lib/env/settings.ts'
import {
  createEventDispatcher,
  OwnedEventDispatcher,
  type RegisteredListener,
} from '../lib/event-dispatcher/event-dispatcher.ts'
import { StaticFiles } from '../lib/http/static-files.ts'
import type { Logger, LogIds } from '../lib/log/logger.ts'
import type { Redactor } from '../lib/redact/redactor.ts'
import type { Route } from '../lib/routing/route.ts'
import { RouteCollection } from '../lib/routing/route-collection.ts'
import { SecretPaths } from '../lib/routing/secret-paths.ts'
import { UrlGenerator } from '../lib/routing/url-generator.ts'
import { Secrets } from '../lib/secrets.ts'
import { createSignals, ownSignals } from '../lib/signals.ts'
import { addOwnPlace } from '../lib/stack/stack-frames.ts'
import type { TemplateFolder } from '../lib/view/template-files.ts'
import type { ValueMistake } from '../lib/view/value-mistakes.ts'
import { createView } from '../lib/view/view.ts'
import { type Application, type Bundle, type Foundation, kernelSignals } from './bundle.ts'
import { BundleSteps } from './bundle-steps.ts'
import {
  checkCollectorNames,
  checkGuardNames,
  closeContributions,
  createContributions,
} from './contracts/contributions.ts'
import { Queries } from './contracts/queries.ts'
import { ControllerResolver, defineSourced } from './controller.ts'
import { createDebugPolicy, DebugGate } from './debug/debug-gate.ts'
import { createDebugLastResort } from './debug/debug-last-resort.ts'
import { HttpKernel } from './http-kernel.ts'
import { checkBundles } from './mistakes/check-bundles.ts'
import { checkRoutes } from './mistakes/check-routes.ts'
import { createAnswerReport } from './mistakes/lost-answers.ts'
import { RequestContext } from './request-context.ts'

interface KernelOptions {
  /** The values of all settings. `config` has those of the kernel; the kernel declares the settings of the bundles. */
  readonly settings: Settings
  /** The settings of the kernel. */
  readonly config: Config
  /** The directory of the application. */
  readonly directory: string
  /**
   * The directory of its templates and public files, if it is another one. Then templates are read
   * with the first render.
   */
  readonly files?: string
  /** The bundles, in the order in which they are registered. */
  readonly bundles: readonly Bundle[]
  /** Writes the log. */
  readonly logger: Logger
  /** Masks secrets. */
  readonly redactor: Redactor
}

/** A booted application: its bundles are registered, its templates are checked, and it can handle requests. */
export class Kernel {
  /** The services of the application. */
  readonly app: Application
  readonly #steps: BundleSteps
  readonly #uncorrelate: () => void

  private constructor(app: Application, steps: BundleSteps, uncorrelate: () => void) {
    this.app = app
    this.#steps = steps
    this.#uncorrelate = uncorrelate
  }

  /**
   * Boots an application for requests. If this fails, the bundles are closed. @throws ROUTE_DEFINITION_INVALID
   * VIEW_TEMPLATE_INVALID VIEW_FOLDER_UNREADABLE and the errors of {@link assemble}
   */
  static async boot(options: KernelOptions): Promise<Kernel> {
    const kernel = await Kernel.assemble(options)
    try {
      kernel.#start(options)
      return kernel
    } catch (error) {
      logFailures(options.logger, await kernel.#closeBundles())
      throw error
    }
  }

  #start({ bundles, files }: KernelOptions): void {
    const { signals, view } = this.app
    checkRoutes(this.app, bundles)
    if (files === undefined) view.load()
    signals.emit('kernel.booted', undefined)
  }

  /**
   * Registers the bundles, one after another. Templates are read with the first render: most console commands render
   * nothing. If a step fails, all bundles are closed that have begun one. @throws KERNEL_BUNDLES_MISSING
   * KERNEL_BUNDLE_INVALID KERNEL_BUNDLE_KEY_INVALID KERNEL_BUNDLE_REPEATED KERNEL_BUNDLE_FAILED KERNEL_COLLECTOR_TAKEN
   * KERNEL_CONTRIBUTION_INVALID HTTP_ASSETS_UNREADABLE CONFIG_INVALID CONFIG_SETTING_MALFORMED CONFIG_SETTING_TAKEN
   */
  static async assemble(options: KernelOptions): Promise<Kernel> {
    checkBundles(options.bundles)
    const steps = new BundleSteps(options)
    try {
      return await Kernel.#assemble(options, steps)
    } catch (error) {
      logFailures(options.logger, await steps.close())
      throw error
    }
  }

  static async #assemble(
    { settings, config, directory, files = directory, bundles, logger, redactor }: KernelOptions,
    steps: BundleSteps,
  ): Promise<Kernel> {
    const names = bundles.map(({ name }) => name)
    declareSettings(settings, bundles)
    redactor.declare(settings.list())
    settings.check()

    const debugGate = new DebugGate(createDebugPolicy(config), logger)
    const values = debugGate.isDebug ? await import('../lib/view/value-mistakes.ts') : undefined
    const createCheck =
      values &&
      ((root: string, globals: readonly string[]) =>
        values.createValueCheck(root, mistake => logValueMistake(logger, mistake), globals))
    let foundation: Foundation = {
      settings,
      config,
      directory,
      dispatcher: createEventDispatcher(),
      view: createView(findTemplateFolders(files, bundles), names, createCheck),
      context: new RequestContext(),
      queries: new Queries(),
      logger,
      redactor,
      secrets: new Secrets(config.secret, config.oldSecrets),
      signals: createSignals(
        (exception, signal, bundle) => {
          const owner = bundle === undefined ? '' : ' (bundle "{bundle}")'
          logger.error(`The handler of "{signal}"${owner} failed.`, { signal, bundle, exception })
        },
        kernelSignals,
        (name, nearest) => logger.warning(addOwnPlace(unheardSignal, new Error(), directory), { name, nearest }),
      ),
      bundles: names,
      ...createContributions(),
      debugGate,
      lastResort: createDebugLastResort({ debugGate, directory, redactor }),
    }
    for (const bundle of bundles) foundation = steps.decorate(bundle, foundation)

    const core = new Set(bundles.filter(({ isCore }) => isCore).map(({ name }) => name))
    const isolation = {
      tests: foundation.isolated,
      isCore: ({ owner = '' }: RegisteredListener) => core.has(owner),
    }
    const controllers = new ControllerResolver()
    const routes: Application['routes'] = new RouteCollection(defineSourced)
    const secretPaths = new SecretPaths(routes, foundation.redactor.isSecret)
    foundation.redactor.add(secretPaths.mask)
    foundation.signals.on('kernel.booted', () => secretPaths.prepare())
    const app: Application = {
      ...foundation,
      routes,
      urls: createUrlGenerator(routes, foundation),
      files: createStaticFiles(files, bundles),
      controllers,
      kernel: new HttpKernel({
        ...foundation,
        controllers,
        isolation,
        ...(debugGate.isDebug && { onLostAnswer: createAnswerReport(foundation) }),
      }),
    }
    // One after another: a bundle may depend on registrations of earlier bundles.
    for (const bundle of bundles) await steps.register(bundle, forBundle(app, bundle))
    checkCollectorNames(app)
    checkGuardNames(app)
    closeContributions(app)
    const uncorrelate = logger.correlate(() => findRequestId(app.context))
    return new Kernel(app, steps, uncorrelate)
  }

  /**
   * Reads templates and static files again, while the kernel handles requests. `files` are the names of those that have
   * changed, relative to the application. @throws VIEW_TEMPLATE_INVALID
   */
  reload(files: readonly string[] = []): void {
    this.app.files.load()
    this.app.view.load()
    this.app.signals.emit('files.changed', { files })
  }

  /**
   * Closes all bundles in reverse order, also if one of them fails. A second call closes nothing again.
   *
   * @throws KERNEL_BUNDLE_FAILED of the first failure
   */
  async close(): Promise<void> {
    const failures = await this.#closeBundles()
    if (failures.length > 0) throw failures[0]
  }

  async #closeBundles(): Promise<Error[]> {
    const failures = await this.#steps.close()
    this.#uncorrelate()
    this.app.context.end()
    return failures
  }
}

const unheardSignal = 'The signal "{name}" has no handler, but "{nearest}" has one.'

/** The error of the start is thrown: a failure to close must not hide it. */
function logFailures(logger: Logger, failures: readonly Error[]): void {
  for (const exception of failures) logger.error('A bundle could not be closed after a failed start.', { exception })
}

/**
 * The application as a bundle sees it: its listeners and signal handlers have its name. If a
 * bundle of the application uses the log, the request context is enabled, so that its messages
 * have the ids of requests. An application that logs nothing does not pay for it.
 */
function forBundle(app: Application, { isCore, name }: Bundle): Application {
  const dispatcher = new OwnedEventDispatcher(app.dispatcher, name)
  const own = { ...app, dispatcher, signals: ownSignals(app.signals, name) }
  if (!isCore) {
    Object.defineProperty(own, 'logger', {
      enumerable: true,
      get() {
        app.context.enable()
        return app.logger
      },
    })
  }
  return Object.preventExtensions(own)
}

function findRequestId({ current }: RequestContext): LogIds | undefined {
  // The carrier of other work has none.
  return current === undefined || current.id === '' ? undefined : { requestId: current.id }
}

/**
 * The folders with templates, the application's first. In the repository of the package, its bundles name folders that
 * are part of the application's.
 */
function findTemplateFolders(directory: string, bundles: readonly Bundle[]): TemplateFolder[] {
  const own = path.join(directory, 'templates')
  const isOwn = (folder: string, name: string) => path.resolve(folder) === path.join(own, name)
  const others = bundles.flatMap(({ isCore, name, templates }) =>
    templates === undefined || isOwn(templates, name) ? [] : { path: templates, bundle: name, isCore },
  )
  return [{ path: own }, ...others]
}

function logValueMistake(logger: Logger, { call, mistake, place, request }: ValueMistake): void {
  const log = request === undefined ? logger : logger.withRequestId(request.id)
  log.warning('{call} in {place} {mistake}.', { call, place, mistake })
}

function createUrlGenerator(routes: Application['routes'], foundation: Foundation): UrlGenerator {
  const { config, debugGate, logger } = foundation
  const warn = (alias: string, { name }: Route): void =>
    logger.warning('The route name "{alias}" is an alias: use "{route}".', { alias, route: name })
  return new UrlGenerator(routes, { address: config.url, onAlias: debugGate.isDebug ? warn : undefined })
}

function createStaticFiles(directory: string, bundles: readonly Bundle[]): StaticFiles {
  const files = new StaticFiles()
  files.addPublic(path.join(directory, 'public'))
  for (const { assets, name, templates } of bundles) {
    if (assets !== undefined) files.add(name, assets)
    else if (templates === undefined) {
      files.add(name, path.join(directory, 'bundles', name, 'assets'), { isOptional: true })
    }
  }
  return files
}

/** Declares the settings of all bundles. @throws CONFIG_SETTING_MALFORMED CONFIG_SETTING_TAKEN */
export function declareSettings(settings: Settings, bundles: readonly Bundle[]): void {
  for (const bundle of bundles) if (bundle.settings !== undefined) settings.declare(bundle.name, bundle.settings)
}
