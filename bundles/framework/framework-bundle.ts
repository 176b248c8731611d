import cluster from 'node:cluster'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { Application, Bundle } from '../../kernel/bundle.ts'
import { ThrownFrames } from '../../kernel/thrown-frames.ts'
import { sweepTemporaryFiles } from '../../lib/body/temporary-files.ts'
import { packageDirectory } from '../../lib/package.ts'
import { describeHiddenRoute, findHiddenRoutes } from '../../lib/routing/hidden-routes.ts'
import { FileSessionStore } from '../../lib/session/file-session-store.ts'
import type { SessionStore } from '../../lib/session/session-store.ts'
import { startAccessLog } from './access-log.ts'
import { crossOriginRule } from './cross-origin-rule.ts'
import { createErrorPreview, createKeyRoute } from './development-routes.ts'
import { createErrorController } from './error-controller.ts'
import { HealthChecks } from './health-checks.ts'
import { createHiddenRouteRule } from './hidden-route-rule.ts'
import { AccelRedirectListener } from './listeners/accel-redirect-listener.ts'
import { BodyListener } from './listeners/body-listener.ts'
import { CompressionListener } from './listeners/compression-listener.ts'
import { ConditionalListener } from './listeners/conditional-listener.ts'
import { ErrorListener } from './listeners/error-listener.ts'
import { HealthListener } from './listeners/health-listener.ts'
import { HostListener } from './listeners/host-listener.ts'
import { RemoveCspListener } from './listeners/remove-csp-listener.ts'
import { RequestIdListener } from './listeners/request-id-listener.ts'
import { ResponseListener } from './listeners/response-listener.ts'
import { RobotsListener } from './listeners/robots-listener.ts'
import { RouterListener } from './listeners/router-listener.ts'
import { SessionListener } from './listeners/session-listener.ts'
import { StaticFileListener } from './listeners/static-file-listener.ts'
import { ValidateRequestListener } from './listeners/validate-request-listener.ts'
import { type FrameworkOptions, type ResolvedOptions, resolveOptions } from './options.ts'
import { addProtection } from './protection.ts'
import { frameworkSettings } from './settings.ts'
import { addViewHelpers } from './view-helpers.ts'

/**
 * Creates the bundle of the default listeners, error pages and template helpers of every application. It comes first in
 * the list of bundles. @throws FRAMEWORK_OPTIONS_INVALID with all mistakes in the options
 */
export function createFrameworkBundle(options: FrameworkOptions = {}): Bundle {
  const resolved = resolveOptions(options)
  let store: SessionStore | undefined
  return {
    name: 'framework',
    isCore: true,
    templates: path.join(packageDirectory, 'templates/framework'),
    assets: path.join(packageDirectory, 'bundles/framework/assets'),
    settings: frameworkSettings,
    async register(app) {
      store = await createStore(app, resolved)
      register(app, resolved, store)
    },
    close: () => store?.close?.(),
  }
}

function register(app: Application, options: ResolvedOptions, store: SessionStore): void {
  const thrown = new ThrownFrames(app)
  app.controllers.register('error_controller', createErrorController({ ...app, thrown }))
  addViewHelpers(app)
  addListeners(app, options, store, thrown)
  const { ACCEL_REDIRECT, ACCESS_LOG } = app.settings.of(frameworkSettings)
  if (ACCESS_LOG ?? app.config.environment === 'prod') startAccessLog(app)
  if (ACCEL_REDIRECT.length > 0) new AccelRedirectListener(ACCEL_REDIRECT, app.directory).subscribe(app.dispatcher)
  app.commands.push(async () => (await import('./commands/create-commands.ts')).createCommands(app))
  app.signals.on('server.listening', () => {
    void sweepTemporaryFiles(tmpdir())
    // Only in one worker: all have the same routes.
    if ((cluster.worker?.id ?? 1) === 1) warnOfHiddenRoutes(app)
  })
  if (app.debugGate.isDebug) addDevelopmentParts(app, options)
}

function addListeners(app: Application, options: ResolvedOptions, store: SessionStore, thrown: ThrownFrames): void {
  const { cookie, protection, times, without } = options
  const { config, debugGate, dispatcher, files, healthChecks, logger, redactor, routes, signals } = app
  const checks = new HealthChecks(healthChecks, logger)
  const router = new RouterListener(routes, logger, debugGate.isDebug, files)
  signals.on('kernel.booted', () => router.prepare())
  // Listed in the order of a request; the priorities decide.
  const listeners = [
    new ValidateRequestListener(),
    ...(without.has('health') ? [] : [new HealthListener({ signals, checks, debugGate, redactor })]),
    new SessionListener({ store, times, cookie, logger, isDebug: config.isDebug, signals }),
    new StaticFileListener(files),
    router,
    new BodyListener(),
    new ErrorListener(logger, debugGate.isDebug ? 'error' : 'info', thrown),
    new ResponseListener(protection.headers),
    new RequestIdListener(),
    ...(without.has('compression') ? [] : [new CompressionListener()]),
    ...(without.has('conditional') ? [] : [new ConditionalListener()]),
  ]
  for (const listener of listeners) listener.subscribe(dispatcher)
  addProtection(app, protection, !without.has('cross-origin'))
  // In development no host is refused: there APP_HOSTS lists hosts that may see debug output.
  if (config.environment === 'prod' && config.hosts.length > 0) new HostListener(config.hosts).subscribe(dispatcher)
}

async function createStore(app: Application, { store }: ResolvedOptions): Promise<SessionStore> {
  if (store !== undefined) return typeof store === 'function' ? store(app) : store
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

function warnOfHiddenRoutes({ logger, routes }: Application): void {
  for (const hidden of findHiddenRoutes(routes)) {
    logger.warning('{problem}.', { problem: describeHiddenRoute(hidden) })
  }
}

function addDevelopmentParts(app: Application, { without }: ResolvedOptions): void {
  const { dispatcher, findingRules, routes, view, debugGate } = app
  new RemoveCspListener(debugGate).subscribe(dispatcher)
  if (!without.has('robots')) new RobotsListener().subscribe(dispatcher)
  findingRules.push(createHiddenRouteRule(routes), crossOriginRule)
  routes.add({
    name: '_preview_error',
    path: '/_error/:code{.:_format}',
    methods: ['GET'],
    requirements: { code: /\d+/ },
    condition: request => debugGate.allows(request),
    controller: createErrorPreview(view),
  })
  if (app.config.debugKey !== undefined) routes.add(createKeyRoute(debugGate))
}
