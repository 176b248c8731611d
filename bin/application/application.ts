import { existsSync } from 'node:fs'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { instrumentations, isInstrumented } from '../../bundles/opentelemetry/instrumentations.ts'
import type { Bundle } from '../../kernel/bundle.ts'
import { declareSettings, Kernel } from '../../kernel/kernel.ts'
import { checkBundles } from '../../kernel/mistakes/check-bundles.ts'
import { type Config, describeDisagreement, readConfig } from '../../lib/env/config.ts'
import { findMisnamedFiles, readDotenv } from '../../lib/env/dotenv.ts'
import { CONFIG_INVALID } from '../../lib/env/errors.ts'
import { Settings, warnOfUnknownSettings } from '../../lib/env/settings.ts'
import { HttpError } from '../../lib/errors/http-error.ts'
import { createLogger, type LogStream } from '../../lib/log/create-logger.ts'
import type { Logger, LogLevel } from '../../lib/log/logger.ts'
import { Redactor } from '../../lib/redact/redactor.ts'
import { addOwnPlace } from '../../lib/stack/stack-frames.ts'
import { completeBundles } from './complete-bundles.ts'
import {
  APPLICATION_BUNDLES_FAILED,
  APPLICATION_BUNDLES_INVALID,
  APPLICATION_BUNDLES_MISSING,
  APPLICATION_NOT_COMPILED,
} from './errors.ts'
import { loadInstrumentations } from './instrumentation.ts'
import { createSources, toDirectory } from './sources.ts'

/** Loads the bundles of an application, all that it has. */
export type LoadBundles = (config: Config) => Promise<readonly Bundle[]>

/** An application whose own settings are read, and whose bundles are not loaded yet. */
export interface ApplicationSettings {
  readonly directory: string
  readonly settings: Settings
  /** A setting with a mistake has a provisional value. */
  readonly config: Config
  readonly redactor: Redactor
}

/** The variables of an environment. */
type Variables = Readonly<Record<string, string | undefined>>

/**
 * Reads the `.env` files of the application in a directory, and the kernel's own settings. The
 * environment is the argument, or else `APP_ENV`. Mistakes are reported when the bundles are
 * loaded, together with those of their settings.
 *
 * @throws CONFIG_FILE_UNREADABLE CONFIG_FILE_MALFORMED
 */
export function readSettings(directory: string, env: Variables, environment?: string): ApplicationSettings {
  const sources = readDotenv(directory, env, environment)
  const settings = new Settings(sources)
  return { directory, settings, config: readConfig(settings), redactor: new Redactor(sources.variables) }
}

/**
 * Creates the log of a process: readable lines in development, JSON elsewhere. The level is by
 * default that of the settings.
 */
export function createProcessLogger(
  { config, redactor }: ApplicationSettings,
  stream: LogStream = process.stdout,
  level: LogLevel = config.logLevel,
): Logger {
  return createLogger({ level, format: config.environment === 'dev' ? 'readable' : 'json', stream, redactor })
}

/** How an application is loaded. */
interface LoadOptions {
  readonly logger: Logger
  /** By default those of the application's `bundles/index.ts`, with those that it needs not list. */
  readonly load?: LoadBundles | undefined
  /** Whether the application handles requests: then its templates are checked. */
  readonly isServed: boolean
  /**
   * Whether its requests are recorded although it is not served: its libraries report what they
   * do, as in a development server.
   */
  readonly replays?: boolean
  /** Whether its command is recorded. */
  readonly isRecorded?: boolean
  /** Whether names of variables and `.env` files that have no effect are logged. */
  readonly warns: boolean
}

/** Loads the bundles of an application, and registers them. @throws the errors of `Kernel.boot` and of a bundle */
export async function loadApplication(application: ApplicationSettings, options: LoadOptions): Promise<Kernel> {
  const { isRecorded = false, isServed, logger, warns } = options
  const bundles = await loadBundles(application, options)
  const reportUnknown = async () => {
    await allowSettingsOfParts(application.settings)
    if (!warns) return
    warnOfUnknownSettings(application.settings, logger)
    for (const { file, name } of findMisnamedFiles(application.directory)) {
      logger.warning('The file {file} is not read: its name would be {name}.', { file, name })
    }
  }
  const kernelOptions = { ...application, bundles, logger }
  try {
    const kernel = await (isServed || isRecorded ? Kernel.boot(kernelOptions) : Kernel.assemble(kernelOptions))
    await reportUnknown()
    const disagreement = describeDisagreement(application.settings)
    if (warns && disagreement !== undefined) logger.warning('{disagreement}.', { disagreement })
    return kernel
  } catch (error) {
    // The unknown name may be the mistyped name of a missing setting. After another failure, its bundle may be missing.
    if (error instanceof CONFIG_INVALID) await reportUnknown()
    throw error
  }
}

/**
 * The settings of the profiler and of tracing are always known; a name that is nearly one of tracing is
 * reported even if nothing is traced. The file of the profiler is loaded only if there are unknown names.
 */
async function allowSettingsOfParts(settings: Settings): Promise<void> {
  const { openTelemetrySettings } = await import('../../bundles/opentelemetry/settings.ts')
  settings.allow(openTelemetrySettings)
  if (settings.listUnknown().length === 0) return
  const { profilerSettings } = await import('../../bundles/profiler/settings.ts')
  settings.allow(profilerSettings)
}

/**
 * Checks the settings of an application, with those of its bundles. @throws CONFIG_INVALID and the errors of a bundle
 */
export async function checkSettings(application: ApplicationSettings, load?: LoadBundles): Promise<void> {
  const { settings } = application
  declareSettings(settings, await loadBundles(application, { load, isServed: false }))
  settings.check()
}

/** If it fails, mistakes in the kernel's own settings are reported instead: they may be the reason. */
async function loadBundles(
  { config, directory, settings }: ApplicationSettings,
  { isRecorded = false, isServed, load, replays = false }: Omit<LoadOptions, 'logger' | 'warns'>,
): Promise<readonly Bundle[]> {
  try {
    const isProfiled = (isServed || isRecorded || replays) && config.environment === 'dev'
    const bundles = checkBundles(await (load ?? (await importBundles(directory, { isProfiled })))(config))
    return [...(await loadTracing(settings, bundles, isServed)), ...bundles]
  } catch (error) {
    settings.check()
    throw error
  }
}

/** @throws APPLICATION_BUNDLES_FAILED with the place of a foreseen error; others have it in their stack */
function fail(error: unknown, directory: string): never {
  if (!(error instanceof HttpError)) throw error
  throw new APPLICATION_BUNDLES_FAILED([addOwnPlace(error.message, error, directory)], { cause: error })
}

/**
 * The bundle for traces, if a setting names an endpoint for them, or the application has instrumentations: it
 * need not list the bundle. It comes first, because other bundles may make calls while they are registered. A
 * console command without instrumentations has its settings only: its packages take a tenth of a second to load.
 */
async function loadTracing(settings: Settings, bundles: readonly Bundle[], isServed: boolean): Promise<Bundle[]> {
  const isInstrumented = instrumentations.length > 0
  const isWanted = isInstrumented || tracingSettings.some(name => settings.textOf(name) !== undefined)
  if (!isWanted || bundles.some(({ name }) => name === 'opentelemetry')) return []
  if (isServed || isInstrumented) {
    const { createOpenTelemetryBundle } = await import('../../bundles/opentelemetry/opentelemetry-bundle.ts')
    return [createOpenTelemetryBundle()]
  }
  const { openTelemetrySettings } = await import('../../bundles/opentelemetry/settings.ts')
  return [{ name: 'opentelemetry', settings: openTelemetrySettings, register() {} }]
}

const tracingSettings = ['OTEL_EXPORTER_OTLP_ENDPOINT', 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'OTEL_TRACES_EXPORTER']

/**
 * Compiles and boots the application in a directory, with the log of a server.
 *
 * @throws CONFIG_INVALID APPLICATION_NOT_COMPILED APPLICATION_BUNDLES_MISSING and the errors of `Kernel.boot`
 */
export async function bootServed(directory: string | URL, environment?: string): Promise<Kernel> {
  const root = toDirectory(directory)
  const settings = readSettings(root, process.env, environment)
  if (!(await createSources(root).buildWhenStale())) throw new APPLICATION_NOT_COMPILED([root])
  return loadApplication(settings, { logger: createProcessLogger(settings), isServed: true, warns: true })
}

/**
 * Imports the function of an application that creates its bundles, after its instrumentations are
 * registered, and, if its requests are profiled, its database libraries and the frameworks of its
 * mounts report what they do. Returns a function that calls it, and completes the list.
 *
 * @throws APPLICATION_BUNDLES_MISSING APPLICATION_BUNDLES_INVALID and the errors of {@link loadInstrumentations}
 */
export async function importBundles(
  directory: string,
  { isDirect, isProfiled }: { readonly isDirect?: boolean; readonly isProfiled?: boolean } = {},
): Promise<LoadBundles> {
  const { bundles } = createSources(directory, isDirect)
  // An installed application may have compiled files only.
  const source = path.join(directory, 'bundles/index.ts')
  if (!existsSync(bundles)) throw new APPLICATION_BUNDLES_MISSING([existsSync(source) ? bundles : source])
  await loadInstrumentations(directory, isDirect)
  if (isProfiled) {
    const { openFrameworks, openLibraries } = await import('../../bundles/libraries/libraries.ts')
    await openLibraries(directory, isInstrumented)
    await openFrameworks([directory])
  }
  const { createBundles }: { createBundles?: unknown } = await import(pathToFileURL(bundles).href).catch(error =>
    fail(error, directory),
  )
  if (typeof createBundles !== 'function')
    throw new APPLICATION_BUNDLES_INVALID([existsSync(source) ? source : bundles])
  const create = async (config: Config) => createBundles(config)
  return async config => completeBundles(await create(config).catch(error => fail(error, directory)), config)
}
