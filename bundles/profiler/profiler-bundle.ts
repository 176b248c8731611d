import path from 'node:path'
import type { Application, Bundle, Foundation } from '../../kernel/bundle.ts'
import { ResponseEvent } from '../../kernel/events.ts'
import { checkFunction, checkOptions } from '../../lib/errors/arguments.ts'
import type { Request } from '../../lib/http/request.ts'
import { packageDirectory, version } from '../../lib/package.ts'
import { loadRedis } from '../../lib/redis/redis-connection.ts'
import { RouteMatcher } from '../../lib/routing/route-matcher.ts'
import type { ShapeOf } from '../../lib/text/mistakes.ts'
import { watchLibraries } from '../libraries/libraries.ts'
import { recordMounts } from './any-server/mounts.ts'
import type { EditorLinks } from './panels/editor-links.ts'
import { collectData } from './record/collect.ts'
import { Recording } from './record/recording.ts'
import { type RecordingOptions, RecordingPolicy } from './record/recording-policy.ts'
import { ProfilerListener, traceKernel } from './record/request-recorder.ts'
import type { Trace } from './record/trace.ts'
import { addScreens } from './screens.ts'
import { profilerSettings, readProgram, readSampling } from './settings.ts'
import { warnBy } from './store/base-profile-storage.ts'
import { FileProfileStorage } from './store/file-profile-storage.ts'
import type { CreateProfileStorage, ProfileStorage } from './store/profile-storage.ts'
import { createRedisProfileStorage } from './store/redis/redis-profile-storage.ts'
import { type ProgramStore, UnitedStorage } from './store/united-storage.ts'
import { MissingAssetsListener } from './subjects/assets/record.ts'
import { CpuSampler } from './subjects/cpu/cpu-sampler.ts'
import { ArmFile, CpuProfiler } from './subjects/cpu/record.ts'
import { kernelSubjects } from './subjects/recorded-by-kernels.ts'
import type { Assets } from './web/assets.ts'
import { decorateErrorController, decorateLastResort } from './web/error-page/decorate.ts'
import type { ErrorPage } from './web/error-page/error-page.ts'
import { type FindOwnPage, isRefused } from './web/routes.ts'
import { PageToolbar } from './web/toolbar/page-toolbar.ts'
import { ToolbarListener } from './web/toolbar/toolbar-listener.ts'
import { WelcomeListener } from './web/welcome-listener.ts'

/** The options of the profiler: the requests of which it makes profiles, and the place of the profiles. */
export interface ProfilerOptions extends RecordingOptions {
  /** By default the Redis of `PROFILER_URL`, or files in `var/profiler`. */
  readonly storage?: ProfileStorage | CreateProfileStorage
  /**
   * The file by which all processes of the project learn which request to sample; by default `var/cpu-profile.json`.
   */
  readonly armFile?: string
  /** Names whose values are shown although they look secret, such as `email`. Also in the log. */
  readonly revealedNames?: readonly string[]
  /** By default a sampler that discards compiled code, so that all names are exact. */
  readonly cpuSampler?: CpuSampler
}

const optionShape: ShapeOf<ProfilerOptions> = {
  storage: true,
  armFile: 'string',
  revealedNames: ['string'],
  cpuSampler: 'object',
  ignoredPaths: ['string'],
}

/** Creates the bundle that stores a profile of every request and shows it at `/_profiler`; for development only. */
export function createProfilerBundle(options: ProfilerOptions = {}): Bundle {
  checkOptions('createProfilerBundle()', options, optionShape)
  let findOwnPage: FindOwnPage
  let storage: ProfileStorage
  let policy: RecordingPolicy
  let recording: Recording
  let cpu: CpuProfiler
  const stops: (() => void)[] = []
  /** The same, if the bundle has begun: a start may fail before. */
  let begun: Recording | undefined

  return {
    name: 'profiler',
    isCore: true,
    templates: path.join(packageDirectory, 'templates/profiler'),
    settings: profilerSettings,

    decorate(foundation) {
      const { debugGate, lastResort, redactor, settings } = foundation
      redactor.reveal(options.revealedNames ?? [])
      policy = new RecordingPolicy(options, debugGate, readSampling(settings))
      storage = createStorage(foundation, options)
      checkFunction('createProfilerBundle()', 'the method append() of "storage"', storage?.append)
      const isForProfiler = (request: Request) => findOwnPage(request) === 'match' || isRefused(request, debugGate)
      const program = readProgram(settings, foundation.directory)
      recording = new Recording(foundation, { subjects: kernelSubjects, storage, policy, program, isForProfiler })
      const { profiler } = recording
      begun = recording
      return {
        ...traceKernel(foundation, recording),
        lastResort: decorateLastResort(lastResort, { profiler, debugGate }),
      }
    },

    async register(app) {
      // The mistake of a missing package ends the start.
      if (app.settings.of(profilerSettings).PROFILER_URL !== undefined) await loadRedis()
      const { profiler } = recording
      const watchWork = recording.register(app)
      app.signals.on('kernel.booted', () => {
        stops.push(watchLibraries(app))
        watchWork()
      })
      // These panels and parts have no collector. Another bundle may not use their names.
      app.reservedCollectors.push('overview', 'findings', 'browser', 'missing', 'database', 'cache')
      const { collectors } = recording
      new ProfilerListener({ profiler, collectors, debugGate: app.debugGate }).subscribe(app.dispatcher)

      const armFile = new ArmFile(options.armFile ?? path.join(app.directory, 'var/cpu-profile.json'))
      cpu = new CpuProfiler({
        profiler,
        findRoute: createRouteSearch(app),
        sampler: options.cpuSampler ?? new CpuSampler(),
        file: armFile,
        logger: app.logger.channel('profiler'),
      })
      app.signals.on('server.listening', () => cpu.listen())
      app.healthChecks.push({ name: 'profiles', isOptional: true, check: () => storage.check?.() })

      let listOthers = (): readonly ProgramStore[] => []
      app.signals.on('program.listed', listed => {
        listOthers = listed.listOthers
      })
      const { folder = app.directory, program } = profiler.origin
      const named = { directory: folder, names: [program] }
      const united = new UnitedStorage(storage, () => listOthers(), named)
      const shown = { profiler, storage: united, policy, cpu, armFile }
      const { assets, editor, ...screens } = addScreens(app, shown, {
        isViewer: false,
        programs: united,
        async loadReplayer({ token }) {
          if (united.ownerOf(token) !== undefined) {
            const { ServerReplayer } = await import('./insight/replay/server-replayer.ts')
            return new ServerReplayer({ profiler, storage: united })
          }
          const { Replayer } = await import('./insight/replay/replay.ts')
          return new Replayer({ ...app, profiler })
        },
      })
      findOwnPage = screens.findOwnPage
      const isOwnPage = (request: Request) => findOwnPage(request) !== undefined
      const toolbar = new PageToolbar({
        assets,
        onObstacle: obstacle =>
          app.logger.channel('profiler').info('The page has no toolbar: {obstacle}.', { obstacle }),
      })
      new ToolbarListener({ ...app, profiler, toolbar, policy, isOwnPage }).subscribe(app.dispatcher)
      if (app.debugGate.isDebug)
        new MissingAssetsListener({ ...app, profiler, storage }).subscribe(app.dispatcher, ResponseEvent)
      new WelcomeListener({ ...app, assets, editor, version }).subscribe(app.dispatcher)
      addErrorPage({ ...app, editor, storage }, recording, assets)
      stops.push(recordMounts())
    },

    async close() {
      for (const stop of stops) stop()
      cpu?.close()
      await begun?.close()
    },
  }
}

function createStorage(foundation: Foundation, { storage }: ProfilerOptions): ProfileStorage {
  if (storage !== undefined) return typeof storage === 'function' ? storage(foundation) : storage
  const { directory, logger, settings } = foundation
  const { PROFILER_URL: url } = settings.of(profilerSettings)
  if (url !== undefined) return createRedisProfileStorage({ url })(foundation)
  return new FileProfileStorage({
    directory: path.join(directory, 'var/profiler'),
    onProblem: warnBy(logger),
  })
}

/** Finds the names of the routes of requests, before these are handled. */
function createRouteSearch({ routes }: Application): (request: Request) => string | undefined {
  let matcher: RouteMatcher | undefined
  return request => {
    // At the first request, all bundles have added their routes.
    matcher ??= new RouteMatcher(routes)
    const match = matcher.match(request)
    return match.outcome === 'match' ? match.route.name : undefined
  }
}

/** The collectors that the error page needs. They run before the failed request ends. */
const earlyCollectors: readonly string[] = ['request', 'session', 'events', 'queries', 'logger', 'exception', 'router']

function addErrorPage(
  app: Application & { readonly editor: EditorLinks; readonly storage: ProfileStorage },
  recording: Recording,
  assets: Assets,
): void {
  const { profiler } = recording
  const early = recording.collectors.filter(({ name }) => earlyCollectors.includes(name))
  const collect = (trace: Trace) => collectData(trace, early, app.redactor)
  const parts = { ...app, profiler, assets, collect }
  let loaded: Promise<ErrorPage> | undefined
  const page = () => {
    loaded ??= import('./web/error-page/error-page.ts').then(({ ErrorPage }) => new ErrorPage(parts))
    return loaded
  }
  // Loaded in a later turn: neither the first failing request nor the start of the server waits for it.
  app.signals.on('kernel.booted', () => void setImmediate(() => void Promise.allSettled([page()])))
  const services = { ...app, page, logger: app.logger.channel('profiler') }
  app.controllers.decorate('error_controller', controller => decorateErrorController(controller, services))
}
