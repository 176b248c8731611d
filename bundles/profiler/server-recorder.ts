import { Queries } from '../../kernel/contracts/queries.ts'
import { createDebugPolicy, DebugGate } from '../../kernel/debug/debug-gate.ts'
import { RequestContext } from '../../kernel/request-context.ts'
import type { Config } from '../../lib/env/config.ts'
import type { Settings } from '../../lib/env/settings.ts'
import { createEventDispatcher } from '../../lib/event-dispatcher/event-dispatcher.ts'
import { guard } from '../../lib/guard.ts'
import type { Request } from '../../lib/http/request.ts'
import type { Logger } from '../../lib/log/logger.ts'
import type { Redactor } from '../../lib/redact/redactor.ts'
import { createSignals, type Signals } from '../../lib/signals.ts'
import { frameworkPaths, watchLibraries, watchLibrarySpans } from '../libraries/libraries.ts'
import { type ExchangeServices, recordServers } from './any-server/exchange.ts'
import type { Profiler } from './record/profiler.ts'
import type { RecordedApplication } from './record/recorded-subject.ts'
import { Recording } from './record/recording.ts'
import { RecordingPolicy } from './record/recording-policy.ts'
import { profilerSettings, readProgram, readSampling } from './settings.ts'
import type { ProfileStorage } from './store/profile-storage.ts'
import type { MissingAssetsListener } from './subjects/assets/record.ts'
import { CpuSampler } from './subjects/cpu/cpu-sampler.ts'
import { ArmFile, CpuProfiler } from './subjects/cpu/record.ts'
import { serverSubjects } from './subjects/recorded.ts'

/** The services of a process whose servers are recorded. */
interface ServerRecorderServices {
  /** The values of all settings. `config` has those of the kernel; the recorder declares those of the profiler. */
  readonly settings: Settings
  readonly config: Config
  /** The directory of the application. */
  readonly directory: string
  readonly logger: Logger
  readonly redactor: Redactor
  readonly storage: ProfileStorage
  /** The file by which all processes of the application learn which request to sample. */
  readonly armFile: string
  /** The secret by which the processes of the application know the replays of the profiler. */
  readonly replaySecret: string
  /** Finds the latest edits of the application. */
  readonly findEdits?: RecordedApplication['findEdits']
}

/** Other servers have no probes of a kernel, and their assets are a part of what they do. */
const ignoredPaths: readonly string[] = ['/.well-known/appspecific/com.chrome.devtools.json', ...frameworkPaths]

/**
 * Records the requests of all servers of the process, without a kernel. A process may record for
 * hours before its first profile is looked at: what shows profiles is not loaded here.
 */
export class ServerRecorder {
  readonly profiler: Profiler
  readonly storage: ProfileStorage
  readonly policy: RecordingPolicy
  readonly cpu: CpuProfiler
  readonly armFile: ArmFile
  readonly replaySecret: string
  readonly signals: Signals
  readonly #app: RecordedApplication
  readonly #recording: Recording
  readonly #watchWork: () => void
  readonly #stops: (() => void)[] = []

  /** @throws CONFIG_INVALID */
  constructor({ armFile, replaySecret, storage, ...given }: ServerRecorderServices) {
    const { config, logger, redactor, settings } = given
    settings.declare('profiler', profilerSettings)
    redactor.declare(settings.list())
    settings.check()
    const ownLogger = logger.channel('profiler')
    this.signals = createSignals((exception, signal) =>
      ownLogger.error('The handler of "{signal}" failed.', { signal, exception }),
    )
    this.#app = {
      ...given,
      bundles: [],
      collectors: [],
      context: new RequestContext(),
      controllers: { registered: [] },
      debugGate: new DebugGate(createDebugPolicy(config), logger),
      dispatcher: createEventDispatcher(),
      queries: new Queries(),
      reservedCollectors: [],
      routes: [],
      signals: this.signals,
    }
    this.storage = storage
    this.replaySecret = replaySecret
    this.policy = new RecordingPolicy({ ignoredPaths }, this.#app.debugGate, readSampling(settings))
    this.#recording = new Recording(this.#app, {
      subjects: serverSubjects,
      storage,
      policy: this.policy,
      program: readProgram(settings, given.directory),
      hasLongTokens: true,
    })
    this.#watchWork = this.#recording.register(this.#app)
    this.profiler = this.#recording.profiler
    this.armFile = new ArmFile(armFile)
    this.cpu = new CpuProfiler({
      profiler: this.profiler,
      sampler: new CpuSampler(),
      file: this.armFile,
      logger: ownLogger,
    })
  }

  /** Records all requests from now on, until the recorder is closed. */
  start(options: Pick<ExchangeServices, 'viewer' | 'onFirst' | 'answerOwn' | 'addToolbar'>): void {
    const { logger } = this.#app
    const { profiler, replaySecret } = this
    const { toServerTiming } = this.#recording
    this.#watchWork()
    this.cpu.listen()
    let missing: Promise<MissingAssetsListener> | undefined
    const loadMissing = async () => {
      const { MissingAssetsListener } = await import('./subjects/assets/record.ts')
      return new MissingAssetsListener({ ...this.#app, profiler, storage: this.storage })
    }
    const onMissing = guard('a missing file', async (request: Request) => {
      missing ??= loadMissing()
      const listener = await missing
      listener.note(request)
    })
    const own = { profiler, replaySecret, onMissing, toServerTiming, logger: logger.channel('profiler') }
    this.#stops.push(
      watchLibraries(this.#app),
      watchLibrarySpans(this.#app),
      recordServers({ ...this.#app, ...own, ...options }),
    )
  }

  /** Stops all watches, waits until the ended requests are written, and closes the store. */
  async close(): Promise<void> {
    this.cpu.close()
    for (const stop of this.#stops) stop()
    await this.#recording.close()
  }
}
