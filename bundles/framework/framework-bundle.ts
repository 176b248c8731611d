import { tmpdir } from 'node:os'
import path from 'node:path'
import type { Application, Bundle } from '../../kernel/bundle.ts'
import { ThrownFrames } from '../../kernel/debug/thrown-frames.ts'
import { sweepTemporaryFiles } from '../../lib/body/form-data.ts'
import { type BundleSettings, defineSettings } from '../../lib/env/settings.ts'
import { isRetrieval } from '../../lib/http/conditions.ts'
import { packageDirectory } from '../../lib/package.ts'
import { describeHiddenRoute, findHiddenRoutes } from '../../lib/routing/hidden-routes.ts'
import { FileSessionStore } from '../../lib/session/file-session-store.ts'
import type { SessionStore } from '../../lib/session/session-store.ts'
import { asFlag, asListOf, asRedisUrl, type Conversion } from '../../lib/text/conversion.ts'
import { startAccessLog } from './access-log.ts'
import { createErrorController, createErrorPreview, createKeyRoute } from './error-controller.ts'
import { createOwnChecks, HealthChecks, HealthListener, isHealthPath } from './health.ts'
import { createHiddenRouteRule } from './hidden-route-rule.ts'
import { CachePolicyListener } from './listeners/cache-policy-listener.ts'
import { ErrorListener } from './listeners/error-listener.ts'
import { GuardListener } from './listeners/guard-listener.ts'
import {
  BodyListener,
  HostListener,
  StaticFileListener,
  ValidateRequestListener,
} from './listeners/request-listeners.ts'
import {
  type AccelRedirect,
  AccelRedirectListener,
  CompressionListener,
  ConditionalListener,
  RemoveCspListener,
  RequestIdListener,
  ResponseListener,
  RobotsListener,
} from './listeners/response-listeners.ts'
import { RouterListener } from './listeners/router-listener.ts'
import { SessionListener, type SessionListenerServices } from './listeners/session-listener.ts'
import type { findMisnamed } from './misnamed-fields.ts'
import { checkStore, type FrameworkOptions, type ResolvedOptions, resolveOptions } from './options.ts'
import { addProtection, crossOriginRule } from './protection.ts'
import { addViewHelpers } from './view-helpers.ts'

/**
 * Creates the bundle of the default listeners, error pages and template helpers of every application. It comes first in
 * the list of bundles. @throws FRAMEWORK_OPTIONS_INVALID with all mistakes in the options
 */
export function createFrameworkBundle(options: FrameworkOptions = {}): Bundle {
  const resolved = resolveOptions(options)
  let store: SessionStore | undefined
  let endReports = () => {}
  let sessions: SessionListener | undefined
  return {
    name: 'framework',
    isCore: true,
    templates: path.join(packageDirectory, 'templates/framework'),
    assets: path.join(packageDirectory, 'bundles/framework/assets'),
    settings: frameworkSettings,
    async register(app) {
      store = await createStore(app, resolved)
      // Production does not load them.
      const handedOut = app.config.isDebug ? await import('../../lib/session/handed-out.ts') : undefined
      const fields = app.debugGate.isDebug ? await import('./misnamed-fields.ts') : undefined
      sessions = register(app, resolved, {
        store,
        findMisnamed: fields?.findMisnamed,
        createHandedOut: handedOut && (onLost => new handedOut.HandedOutValues(onLost)),
      })
      if (app.debugGate.isDebug) endReports = await reportMistakes(app)
    },
    close() {
      endReports()
      sessions?.close()
      return store?.close?.()
    },
  }
}

function register(app: Application, options: ResolvedOptions, parts: LoadedParts): SessionListener {
  const thrown = new ThrownFrames(app)
  app.controllers.register('error_controller', createErrorController({ ...app, thrown }))
  addViewHelpers(app)
  const sessions = addListeners(app, options, parts, thrown)
  const { ACCEL_REDIRECT, ACCESS_LOG } = app.settings.of(frameworkSettings)
  const { environment } = app.config
  if (ACCESS_LOG ?? environment === 'prod') startAccessLog(app, { onlyPages: false })
  else if (ACCESS_LOG === undefined && environment === 'dev') {
    // Only the log of a server is a list of pages: a test examines its own messages.
    app.signals.on('server.listening', () => startAccessLog(app, { onlyPages: true }))
  }
  if (ACCEL_REDIRECT.length > 0) new AccelRedirectListener(ACCEL_REDIRECT, app.directory).subscribe(app.dispatcher)
  app.commands.push(async () => (await import('./commands.ts')).createCommands(app))
  app.signals.on('server.listening', () => void sweepTemporaryFiles(tmpdir()))
  if (app.debugGate.isDebug) addDevelopmentParts(app, options)
  return sessions
}

/** What is loaded before the listeners are created. */
interface LoadedParts extends Pick<SessionListenerServices, 'store' | 'createHandedOut'> {
  readonly findMisnamed: typeof findMisnamed | undefined
}

/** Returns the listener that keeps what is to be reported at the end. */
function addListeners(
  app: Application,
  options: ResolvedOptions,
  { findMisnamed, ...parts }: LoadedParts,
  thrown: ThrownFrames,
): SessionListener {
  const { cookie, exceptions, protection, times, without } = options
  const { config, debugGate, directory, dispatcher, files, guards, healthChecks, logger, redactor, routes, signals } =
    app
  const sessions = new SessionListener({ ...parts, times, cookie, directory, logger, isDebug: config.isDebug, signals })
  const isConfigured = options.isSessionConfigured || app.settings.of(frameworkSettings).SESSION_URL !== undefined
  healthChecks.push(...createOwnChecks({ routes, store: parts.store, hasUsed: () => isConfigured || sessions.isUsed }))
  const checks = new HealthChecks(healthChecks, logger)
  app.signals.on('server.listening', ({ worker }) => {
    // Only in one worker: all have the same routes, and the same folders.
    if (worker !== 1) return
    warnOfRoutes(app, without)
    void checks.runAll()
  })
  const router = new RouterListener(app)
  signals.on('kernel.booted', () => {
    router.prepare()
    // Not earlier: then all bundles have added their routes.
    if ([...routes].some(({ defaults }) => defaults._cache)) {
      new CachePolicyListener(logger, debugGate.isDebug, sessions.placeOf).subscribe(dispatcher)
    }
  })
  // Listed in the order of a request; the priorities decide.
  const listeners = [
    new ValidateRequestListener(debugGate.isDebug || config.trustedProxies.length > 0 ? undefined : logger),
    ...(without.has('health') ? [] : [new HealthListener({ signals, checks, debugGate, redactor })]),
    sessions,
    new StaticFileListener(files),
    router,
    new GuardListener(routes, guards, debugGate.isDebug ? logger : undefined),
    new BodyListener(),
    new ErrorListener({ logger, isDebug: debugGate.isDebug, thrown, rules: exceptions }),
    new ResponseListener(protection.headers, debugGate.isDebug ? { findMisnamed, logger, routes, thrown } : undefined),
    new RequestIdListener(),
    ...(without.has('compression') ? [] : [new CompressionListener()]),
    ...(without.has('conditional') ? [] : [new ConditionalListener()]),
  ]
  for (const listener of listeners) listener.subscribe(dispatcher)
  addProtection(app, protection, !without.has('cross-origin'))
  // In development no host is refused: there APP_HOSTS lists hosts that may see debug output.
  if (config.environment === 'prod' && config.hosts.length > 0)
    new HostListener(config.hosts, logger).subscribe(dispatcher)
  return sessions
}

/**
 * Logs mistakes that have no effect but the missing one. Returns the end of the reports.
 * Production does not load the modules.
 */
async function reportMistakes(app: Application): Promise<() => void> {
  const { reportSuspectFunctions } = await import('./suspect-functions.ts')
  const { reportForeignMembers } = await import('./foreign-members.ts')
  reportSuspectFunctions(app)
  return reportForeignMembers(app)
}

async function createStore(app: Application, { store }: ResolvedOptions): Promise<SessionStore> {
  if (store !== undefined) return typeof store === 'function' ? checkStore(await store(app)) : store
  const { directory, logger, settings } = app
  const { SESSION_URL: url } = settings.of(frameworkSettings)
  if (url !== undefined) {
    const { RedisSessionStore } = await import('../../lib/session/redis-session-store.ts')
    const { loadRedis } = await import('../../lib/redis/redis-connection.ts')
    // The mistake of a missing package ends the start.
    await loadRedis()
    return new RedisSessionStore({ url, logger })
  }
  return new FileSessionStore({
    directory: path.join(directory, 'var/sessions'),
    warn: (message, context) => logger.warning(message, context),
  })
}

function warnOfRoutes({ logger, routes }: Application, without: ResolvedOptions['without']): void {
  for (const hidden of findHiddenRoutes(routes)) {
    logger.warning('{problem}.', { problem: describeHiddenRoute(hidden) })
  }
  for (const { methods, name, path } of routes) {
    if (isHealthPath(path.source) && !without.has('health') && (methods.length === 0 || methods.some(isRetrieval))) {
      logger.warning(hiddenByHealth, { route: name, path: path.source })
    }
  }
}

const hiddenByHealth =
  'The route "{route}" ({path}) is never reached by GET: the framework answers with its health checks. Add yours by healthChecks.push({ name, check }), or leave them out: without: [\'health\'].'

function addDevelopmentParts(app: Application, { without }: ResolvedOptions): void {
  const { dispatcher, findingRules, routes, debugGate } = app
  new RemoveCspListener(debugGate).subscribe(dispatcher)
  if (!without.has('robots')) new RobotsListener().subscribe(dispatcher)
  findingRules.push(createHiddenRouteRule(routes), crossOriginRule)
  routes.add({
    name: '_preview_error',
    path: '/_error/:code{.:_format}',
    methods: ['GET'],
    requirements: { code: /\d+/ },
    condition: request => debugGate.allows(request),
    controller: createErrorPreview(app),
  })
  if (app.config.debugKey !== undefined) routes.add(createKeyRoute(debugGate))
  app.signals.on('server.listening', ({ worker }) => {
    // All workers have the same routes.
    if (worker === 1) void import('./route-types.ts').then(({ writeRouteTypes }) => writeRouteTypes(app))
  })
}

/** The values of the settings of the framework bundle. */
interface FrameworkSettings {
  /** Whether a line is logged for each request. By default in production, and in development for pages only. */
  readonly ACCESS_LOG: boolean | undefined
  readonly ACCEL_REDIRECT: readonly AccelRedirect[]
  /** The Redis that stores the sessions of several machines. By default they are files in `var/sessions`. */
  readonly SESSION_URL: string | undefined
}

const asAccelRedirect: Conversion<AccelRedirect> = {
  expected: 'a folder and a location of nginx such as var/uploads=/_uploads',
  convert(text) {
    const [, folder, location] = /^([^=]*[^=/])\/*=(\/[\w/.~-]*[\w.~-])\/*$/.exec(text) ?? []
    return folder === undefined || location === undefined ? undefined : { folder, location }
  },
}

const frameworkSettings: BundleSettings<FrameworkSettings> = defineSettings({
  /** It does not depend on `LOG_LEVEL`: see docs/guides/operation.md#the-access-log. */
  ACCESS_LOG: {
    help: 'logs a line for each request; by default in production, and in development for pages only',
    schema: asFlag,
    default: undefined,
  },
  /** For `createFileResponse`: see docs/guides/deploy.md#files-that-nginx-sends. */
  ACCEL_REDIRECT: {
    help: 'folders whose files nginx sends for controllers, with its internal locations: var/uploads=/_uploads',
    schema: asListOf(asAccelRedirect),
    default: [],
  },
  /** It may have `user:password@` before the host, and needs the package ioredis. */
  SESSION_URL: {
    help: 'stores the sessions of several machines in Redis: redis://host:6379, or rediss:// for TLS',
    schema: asRedisUrl,
    default: undefined,
    secret: true,
  },
})
