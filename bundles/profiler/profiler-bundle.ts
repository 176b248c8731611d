import path from 'node:path'
import type { Application, Bundle, Foundation } from '../../kernel/bundle.ts'
import type { DebugGate } from '../../kernel/debug-gate.ts'
import type { Collector } from '../../kernel/profiler-contract.ts'
import { version } from '../../kernel/version.ts'
import { TraceableEventDispatcher } from '../../lib/event-dispatcher/traceable-event-dispatcher.ts'
import type { LogRecord } from '../../lib/log/logger.ts'
import type { Redactor } from '../../lib/redact/redactor.ts'
import { createTraceableView } from '../../lib/view/traceable-view.ts'
import { addMcp } from './cli/mcp/add-mcp.ts'
import type { Inspector } from './insight/findings/inspector.ts'
import { Replayer } from './insight/replay/replayer.ts'
import { collectData, collectLate, type ProfileCollector } from './record/collect.ts'
import { createCollectors } from './record/collectors/create-collectors.ts'
import { memoryCollector } from './record/collectors/process.ts'
import { lateCollector } from './record/collectors/time.ts'
import { ArmFile } from './record/cpu/arming.ts'
import { CpuProfiler } from './record/cpu/cpu-profiler.ts'
import { CpuSampler } from './record/cpu/cpu-sampler.ts'
import { ListenerSites } from './record/listener-sites.ts'
import { findCallSite } from './record/log-trace.ts'
import { GcWatch, HangWatch, LoopWatch } from './record/loop-watch.ts'
import { createRenderTracer, observeSessions, watchCrashes } from './record/observers.ts'
import { Profiler } from './record/profiler.ts'
import { ProfilerListener } from './record/profiler-listener.ts'
import { type RecordingOptions, RecordingPolicy } from './record/recording-policy.ts'
import { RequestRecorder } from './record/request-recorder.ts'
import type { Trace } from './record/trace.ts'
import { CallWatch, watchFetch, watchNodeHttp } from './record/watch-calls.ts'
import { FileProfileStorage } from './store/file-profile-storage.ts'
import type { ProfileStorage } from './store/profile-storage.ts'
import { createOwnPageTest } from './web/access.ts'
import { Assets } from './web/assets.ts'
import { EditorLinks } from './web/editor-links.ts'
import { decorateErrorController, decorateLastResort } from './web/error-page/decorate.ts'
import type { ErrorPage } from './web/error-page/error-page.ts'
import { createPanelLoader } from './web/panels/load-panels.ts'
import { addRoutes } from './web/routes.ts'
import { RecentRedirects } from './web/toolbar/recent-redirects.ts'
import { ToolbarListener } from './web/toolbar/toolbar-listener.ts'
import { WelcomeListener } from './web/welcome-listener.ts'

/** What a profiler records, and where it keeps it. */
export interface ProfilerOptions extends RecordingOptions {
  /** Files in `var/profiler` unless told else. */
  readonly storage?: ProfileStorage
  /** Tells all processes of the project which request is to be sampled; `var/cpu-profile.json` unless told else. */
  readonly armFile?: string
  /** Names whose values may be seen although they look like a secret's: `email`, say. Also in the log. */
  readonly revealedNames?: readonly string[]
  /** One that discards compiled code, for exact names, unless told else. */
  readonly cpuSampler?: CpuSampler
}

/** Creates the bundle that records every request and shows the records at `/_profiler`; for development only. */
export function createProfilerBundle(options: ProfilerOptions = {}): Bundle {
  const collectors: ProfileCollector[] = []
  const controllers = new Set<unknown>()
  const watches: (() => void)[] = []
  const policy = new RecordingPolicy(options, request => debugGate.allows(request))
  const sites = new ListenerSites()
  let storage: ProfileStorage
  let profiler: Profiler
  let debugGate: DebugGate
  const loop = new LoopWatch(() => profiler.open)

  return {
    name: 'profiler',
    isCore: true,

    decorate(foundation) {
      const { context, logger, redactor, signals } = foundation
      redactor.reveal(options.revealedNames ?? [])
      let processData: string | undefined
      // With the first request all bundles have added theirs.
      let all: Collector<Trace>[] | undefined
      storage = options.storage ?? createStorage(foundation)
      profiler = new Profiler({
        storage,
        policy,
        collect: trace => {
          all ??= [...collectors, ...foundation.collectors.map(collector => masked(collector, redactor))]
          return collectData(trace, all, redactor)
        },
        collectLate: trace => collectLate(trace, collectors, redactor),
        watchLoop() {
          loop.start()
          hangs.start()
        },
        processData: () => (processData ??= redactor.knownSecrets(JSON.stringify(describeProcess(collectors)))),
        redactor,
        logger: logger.channel('profiler'),
        signals,
      })
      const hangs = new HangWatch({ open: () => profiler.open, context, logger: logger.channel('profiler') })
      context.enable()
      const locate = () => findCallSite(foundation.directory)
      const observe = (record: LogRecord) => {
        const trace = profiler.find(context.current)
        trace?.logs.add(record, locate)
        trace?.touch()
      }
      watches.push(logger.observe(observe), loop.stop, hangs.stop)
      const isOwn = (controller: unknown) => controllers.has(controller)
      const tracer = new RequestRecorder({ ...foundation, profiler, sites, isOwn })
      const renders = createRenderTracer(request => profiler.find(request ?? context.current))
      return {
        ...foundation,
        dispatcher: new TraceableEventDispatcher(foundation.dispatcher, tracer),
        view: createTraceableView(foundation.view, renders),
        lastResort: decorateLastResort(foundation.lastResort, { profiler, debugGate: () => debugGate }),
      }
    },

    register(app) {
      debugGate = app.debugGate
      const gc = new GcWatch(() => profiler.open)
      const calls = new CallWatch(() => profiler.find(app.context.current))
      app.signals.on('kernel.booted', () => {
        const crashes = watchCrashes(profiler, app.context, app.logger.channel('profiler'))
        watches.push(gc.start(), watchFetch(calls), watchNodeHttp(calls), crashes)
      })
      // First: what the others do is not the request's.
      const redirects = new RecentRedirects(app.redactor)
      collectors.push(memoryCollector, ...createCollectors(app, sites), lateCollector, redirects)
      app.reservedCollectors.push(...collectors.map(({ name }) => name), 'findings')
      const assets = createAssets(app)
      const armFile = new ArmFile(options.armFile ?? path.join(app.directory, 'var/cpu-profile.json'))
      const sampler = options.cpuSampler ?? new CpuSampler()
      const cpu = new CpuProfiler({ ...app, profiler, sampler, file: armFile, logger: app.logger.channel('profiler') })
      app.signals.on('server.listening', () => watches.push(cpu.listen()))
      watches.push(() => cpu.close())
      const panels = createPanelLoader(app)
      const replayer = new Replayer({ ...app, profiler })
      let loaded: Promise<Inspector> | undefined
      const inspector = () => {
        loaded ??= import('./insight/findings/inspector.ts').then(({ Inspector }) => new Inspector(app.findingRules))
        return loaded
      }
      const services = { ...app, profiler, storage, policy, assets, panels, inspector, replayer, cpu }
      // Before the pages: to that of a record, every word is a token.
      controllers.add(addMcp(services))
      for (const controller of addRoutes(services)) controllers.add(controller)
      app.isolated.push(createOwnPageTest(app.routes, controllers))
      observeSessions(app, profiler)
      new ProfilerListener({ ...app, profiler }).subscribe(app.dispatcher)
      new ToolbarListener({ ...app, profiler, redirects, assets }).subscribe(app.dispatcher)
      new WelcomeListener({ ...app, assets, version }).subscribe(app.dispatcher)
      app.commands.push(async () => {
        const { createCommands } = await import('./cli/create-commands.ts')
        const boot = () => prepareForRequests(app)
        return createCommands({ ...services, inspector: await inspector(), armFile, boot })
      })
      addErrorPage(app, { profiler, assets, collectors })
    },

    async close() {
      for (const end of watches) end()
      await profiler.whenIdle()
      await storage.close()
    },
  }
}

/** As a kernel is that was booted: a console command has only one that was assembled. */
function prepareForRequests({ signals, view }: Application): void {
  view.load()
  signals.emit('kernel.booted', undefined)
}

function createStorage({ directory, logger }: Foundation): ProfileStorage {
  return new FileProfileStorage({
    directory: path.join(directory, 'var/profiler'),
    onProblem: (message, error) => logger.warning(message, { exception: error }),
  })
}

function createAssets({ directory, signals }: Foundation): Assets {
  const folder = path.join(directory, 'bundles/profiler/assets')
  const assets = new Assets(path.join(folder, 'styles'), folder, path.join(import.meta.dirname, 'client'))
  signals.on('files.changed', () => assets.forget())
  return assets
}

/** What of a request is known, and worth showing, while it fails. */
const earlyCollectors: readonly string[] = ['request', 'events', 'logger', 'exception', 'router']

interface ErrorPageParts {
  readonly profiler: Profiler
  readonly assets: Assets
  readonly collectors: readonly ProfileCollector[]
}

function addErrorPage(app: Application, { assets, collectors, profiler }: ErrorPageParts): void {
  const early = collectors.filter(({ name }) => earlyCollectors.includes(name))
  const editor = new EditorLinks({ ...app.config, directory: app.directory })
  const collect = (trace: Trace) => collectData(trace, early, app.redactor)
  const parts = { ...app, profiler, assets, editor, collect }
  let loaded: Promise<ErrorPage> | undefined
  const page = () => {
    loaded ??= import('./web/error-page/error-page.ts').then(({ ErrorPage }) => new ErrorPage(parts))
    return loaded
  }
  // What a request takes to fail is not to have it in, nor what a server takes to listen, which is mostly done in this turn.
  app.signals.on('kernel.booted', () => void setImmediate(() => void Promise.allSettled([page()])))
  const services = { ...app, page, logger: app.logger.channel('profiler') }
  app.controllers.decorate('error_controller', controller => decorateErrorController(controller, services))
}

/** A collector of another bundle: nobody knows whether it masks what it tells. */
function masked(collector: Collector, redactor: Redactor): Collector<Trace> {
  const { name } = collector
  return { name, collect: async trace => redactor.value(name, await collector.collect(trace)) }
}

function describeProcess(collectors: readonly ProfileCollector[]): Record<string, unknown> {
  return Object.fromEntries(collectors.map(collector => [collector.name, collector.describeProcess?.()]))
}
