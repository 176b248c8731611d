import path from 'node:path'
import type { Application, Bundle, Foundation } from '../../kernel/bundle.ts'
import { NodeServer } from '../../kernel/server/node-server.ts'
import { checkFunction } from '../../lib/errors/arguments.ts'
import type { Request } from '../../lib/http/request.ts'
import { Response } from '../../lib/http/response.ts'
import { TrustedProxies } from '../../lib/http/trusted-proxies.ts'
import { packageDirectory, version } from '../../lib/package.ts'
import { showPath } from '../../lib/stack/stack-frames.ts'
import { addMcp } from './cli/mcp/server.ts'
import type { Inspector } from './insight/findings/inspector.ts'
import type { Replayer } from './insight/replay/replay.ts'
import { home } from './profile/links.ts'
import { collectData } from './record/collect.ts'
import { Recording } from './record/recording.ts'
import { type RecordingOptions, RecordingPolicy, type SamplingOptions } from './record/recording-policy.ts'
import type { Trace } from './record/trace.ts'
import type { ProfileStorage } from './store/profile-storage.ts'
import { MissingAssetsListener } from './subjects/assets/record.ts'
import { CpuSampler } from './subjects/cpu/cpu-sampler.ts'
import { ArmFile, CpuProfiler } from './subjects/cpu/record.ts'
import { Assets } from './web/assets.ts'
import { createEditorLinks, type EditorLinks } from './web/editor-links.ts'
import { decorateErrorController, decorateLastResort } from './web/error-page/decorate.ts'
import type { ErrorPage } from './web/error-page/error-page.ts'
import { createOtlpRoute } from './web/otlp/otlp-route.ts'
import type { BrokenSources } from './web/page.ts'
import { addRoutes, createFindOwnPage, type FindOwnPage, isOwnPath, isRefused } from './web/routes.ts'
import { type ProfilerSettings, profilerSettings } from './web/settings.ts'
import { RecentRedirects, ToolbarListener } from './web/toolbar/toolbar-listener.ts'
import { WelcomeListener } from './web/welcome-listener.ts'

/** The options of a bundle of the profiler, as applications give them; only the place of the profiles has no default. */
export interface BundleOptions extends RecordingOptions {
  readonly storage: ProfileStorage | ((foundation: Foundation) => ProfileStorage)
  readonly armFile?: string
  readonly revealedNames?: readonly string[]
  readonly cpuSampler?: CpuSampler
}

/** What records the requests of other servers. */
export interface ServerRecorder {
  readonly isOfServer: typeof import('./any-server/exchange.ts').isOfServer
  readonly recordServers: typeof import('./any-server/exchange.ts').recordServers
  /** Called before the first request of the application: whether its requests are recorded. */
  readonly onFirst: () => boolean
  /** The secret by which the processes of the application know the replays of the profiler. */
  readonly replaySecret: string
  /** Whether the pages of the profiler are also at the address of the application. */
  readonly sharesPort: boolean
  /** Whether pages of the application get the toolbar, which needs `sharesPort`. */
  readonly hasToolbar: boolean
}

/** With `servers`, the requests of other servers are recorded instead of those of the kernel. */
export function createBundle(options: BundleOptions, servers?: ServerRecorder): Bundle {
  let findOwnPage: FindOwnPage
  let storage: ProfileStorage
  let policy: RecordingPolicy
  let recording: Recording
  let cpu: CpuProfiler
  let stopServers: (() => void) | undefined

  return {
    name: 'profiler',
    isCore: true,
    templates: path.join(packageDirectory, 'templates/profiler'),
    settings: profilerSettings,

    decorate(foundation) {
      const { debugGate, lastResort, redactor, settings } = foundation
      redactor.reveal(options.revealedNames ?? [])
      storage = typeof options.storage === 'function' ? options.storage(foundation) : options.storage
      checkFunction('createProfilerBundle()', 'the method append() of "storage"', storage?.append)
      policy = new RecordingPolicy(options, debugGate, readSampling(settings.of(profilerSettings)))
      const isForProfiler = (request: Request) =>
        servers === undefined
          ? findOwnPage(request) === 'match' || isRefused(request, debugGate)
          : !servers.isOfServer(request)
      recording = new Recording(foundation, { storage, policy, isForProfiler })
      const { dispatcher, profiler, view } = recording
      return { ...foundation, dispatcher, view, lastResort: decorateLastResort(lastResort, { profiler, debugGate }) }
    },

    register(app) {
      const { profiler } = recording
      const redirects = new RecentRedirects(app.redactor)
      recording.register(app, [redirects])
      // These panels and parts have no collector. Another bundle may not use their names.
      app.reservedCollectors.push('overview', 'findings', 'browser', 'missing', 'database', 'cache')

      const assets = createAssets(app)
      const armFile = new ArmFile(options.armFile ?? path.join(app.directory, 'var/cpu-profile.json'))
      const sampler = options.cpuSampler ?? new CpuSampler()
      cpu = new CpuProfiler({ ...app, profiler, sampler, file: armFile, logger: app.logger.channel('profiler') })
      app.signals.on('server.listening', () => cpu.listen())
      let loaded: Promise<Inspector> | undefined
      const inspector = () => {
        loaded ??= import('./insight/findings/inspector.ts').then(({ Inspector }) => new Inspector(app.findingRules))
        return loaded
      }
      const panels = async () => (await import('./subjects/views.ts')).listViews(app.collectors)
      let brokenSources: BrokenSources = { problems: [], served: 'current' }
      app.signals.on('sources.broken', value => {
        brokenSources = value
      })
      const replayer = createLazyReplayer(async () => {
        if (servers === undefined)
          return new (await import('./insight/replay/replay.ts')).Replayer({ ...app, profiler })
        const { ServerReplayer } = await import('./insight/replay/server-replayer.ts')
        return new ServerReplayer({ profiler, storage, secret: servers.replaySecret })
      })
      const editor = createEditorLinks(app)
      const services = {
        ...app,
        profiler,
        storage,
        policy,
        assets,
        editor,
        panels,
        inspector,
        replayer,
        isViewer: servers !== undefined,
        cpu,
        brokenSources: () => brokenSources,
      }

      const otlpRoute = createOtlpRoute({ ...app, spans: storage.spans })
      app.routes.add(otlpRoute)
      // In this order: the route `/_profiler/:token` matches the path of the MCP route, too.
      const ownControllers = new Set([otlpRoute.controller, addMcp(services), ...addRoutes(services)])
      findOwnPage = createFindOwnPage(app.routes, ownControllers)
      const isOwnPage = (request: Request) => findOwnPage(request) !== undefined
      app.isolated.push(isOwnPage)
      const toolbar = new ToolbarListener({ ...app, profiler, redirects, assets, policy, isOwnPage })
      toolbar.subscribe(app.dispatcher)
      app.signals.on('kernel.booted', () => reportReplaced(app))
      if (app.debugGate.isDebug) new MissingAssetsListener({ ...app, profiler, storage }).subscribe(app.dispatcher)
      if (servers === undefined) new WelcomeListener({ ...app, assets, editor, version }).subscribe(app.dispatcher)
      else {
        app.routes.get('_profiler_viewer', '/', () => Response.redirect(home))
        // The error of a missing route would be logged, as if it were one of the application.
        const isMissing = { status: 404 }
        app.routes.add({
          name: '_profiler_viewer_missing',
          path: '/{*_rest}',
          defaults: { _log: false },
          controller: () => Response.text(`Only the profiler is here: ${home}\n`, isMissing),
        })
        const { toServerTiming } = recording
        const own = new NodeServer(app, { trustedProxies: new TrustedProxies() })
        const parts = {
          ...app,
          ...servers,
          profiler,
          toServerTiming,
          logger: app.logger.channel('profiler'),
          ...(servers.sharesPort && { isOwnPath, answerOwn: own.receive }),
          ...(servers.hasToolbar && { addToolbar: toolbar.addTo.bind(toolbar) }),
        }
        app.signals.on('server.listening', ({ url }) => {
          stopServers ??= servers.recordServers({ ...parts, viewer: url })
        })
      }
      const loadsErrorPage = servers === undefined
      addErrorPage({ ...app, editor, storage, loadsErrorPage }, recording, assets)
      app.commands.push(async () => {
        const { createCommands } = await import('./cli/create-commands.ts')
        const boot = () => prepareForRequests(app)
        return createCommands({ ...services, inspector: await inspector(), armFile, boot })
      })
    },

    async close() {
      cpu?.close()
      stopServers?.()
      await recording.close()
    },
  }
}

/** Boots the kernel as a server does: a console command starts with an assembled kernel only. */
function prepareForRequests({ signals, view }: Application): void {
  view.load()
  signals.emit('kernel.booted', undefined)
}

/** The view models of the profiler change with its versions: a copy of an old template would fail in a render. */
function reportReplaced({ directory, logger, view }: Application): void {
  const replaced = view.files().filter(({ name, replaces }) => name.startsWith('profiler/') && replaces !== undefined)
  if (replaced.length === 0) return
  const files = replaced.map(({ file }) => showPath(file, directory)).join(', ')
  logger.channel('profiler').warning('The application replaces templates of the profiler: {files}.', { files })
}

/** Most requests are never replayed: the code is loaded with the first replay. */
function createLazyReplayer(load: () => Promise<Pick<Replayer, 'replay'>>): Pick<Replayer, 'replay'> {
  return { replay: async (plan, input) => (await load()).replay(plan, input) }
}

function readSampling(settings: ProfilerSettings): SamplingOptions {
  const { PROFILER_ONLY_ERRORS: onlyErrors, PROFILER_SAMPLE: sample, PROFILER_SLOWER_THAN: slowerThan } = settings
  return { sample, onlyErrors, slowerThan }
}

function createAssets({ signals }: Foundation): Assets {
  const folder = path.join(packageDirectory, 'bundles/profiler/assets')
  const assets = new Assets(folder, path.join(import.meta.dirname, 'client'))
  signals.on('files.changed', () => assets.forget())
  return assets
}

/** The collectors that the error page needs. They run before the failed request ends. */
const earlyCollectors: readonly string[] = ['request', 'session', 'events', 'queries', 'logger', 'exception', 'router']

function addErrorPage(
  app: Application & {
    readonly editor: EditorLinks
    readonly storage: ProfileStorage
    /** Whether an error page is likely: those of a viewer are seldom. */
    readonly loadsErrorPage: boolean
  },
  recording: Recording,
  assets: Assets,
): void {
  const { profiler } = recording
  const early = recording.collectorsOf(earlyCollectors)
  const collect = (trace: Trace) => collectData(trace, early, app.redactor)
  const parts = { ...app, profiler, assets, collect }
  let loaded: Promise<ErrorPage> | undefined
  const page = () => {
    loaded ??= import('./web/error-page/error-page.ts').then(({ ErrorPage }) => new ErrorPage(parts))
    return loaded
  }
  // Loaded in a later turn: neither the first failing request nor the start of the server waits for it.
  if (app.loadsErrorPage)
    app.signals.on('kernel.booted', () => void setImmediate(() => void Promise.allSettled([page()])))
  const services = { ...app, page, logger: app.logger.channel('profiler') }
  app.controllers.decorate('error_controller', controller => decorateErrorController(controller, services))
}
