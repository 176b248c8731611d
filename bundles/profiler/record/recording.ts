import type { Application, Foundation } from '../../../kernel/bundle.ts'
import type { Collector } from '../../../kernel/profiler-contract.ts'
import type { EventDispatcher } from '../../../lib/event-dispatcher/event-dispatcher.ts'
import { TraceableEventDispatcher } from '../../../lib/event-dispatcher/traceable-event-dispatcher.ts'
import type { Request } from '../../../lib/http/request.ts'
import type { Redactor } from '../../../lib/redact/redactor.ts'
import { createTraceableView } from '../../../lib/view/traceable-view.ts'
import type { View } from '../../../lib/view/view.ts'
import type { ProfileStorage } from '../store/profile-storage.ts'
import { createCollectors, observeProcess, observeRequests } from '../subjects/recorded.ts'
import { ListenerSites } from './code-places.ts'
import { collectData, collectLate, type ProfileCollector } from './collect.ts'
import { Profiler } from './profiler.ts'
import type { RecordingPolicy } from './recording-policy.ts'
import { ProfilerListener, RequestRecorder } from './request-recorder.ts'
import type { Trace } from './trace.ts'

/** The parts that the bundle passes to a recording. */
interface RecordingParts {
  readonly storage: ProfileStorage
  readonly policy: RecordingPolicy
  /** Whether a main request asks for the profiler itself: such requests are not recorded. */
  readonly isForProfiler: (request: Request) => boolean
}

/**
 * Assembles everything that records requests: the dispatcher and the view that trace, the profiler that they report to,
 * the watches of the process, and the collectors that read the traces.
 */
export class Recording {
  readonly profiler: Profiler
  /** The dispatcher of the foundation, traced. */
  readonly dispatcher: EventDispatcher
  /** The view of the foundation, traced. */
  readonly view: View
  readonly #storage: ProfileStorage
  readonly #sites = new ListenerSites()
  readonly #collectors: ProfileCollector[] = []
  readonly #stops: (() => void)[] = []

  constructor(foundation: Foundation, { isForProfiler, policy, storage }: RecordingParts) {
    const { context, directory, redactor, signals } = foundation
    const logger = foundation.logger.channel('profiler')
    // Both are created when a request ends: by then all bundles have added their collectors.
    let collectors: readonly Collector<Trace>[] | undefined
    let processData: string | undefined
    this.#storage = storage
    this.profiler = new Profiler({
      storage,
      policy,
      isForProfiler,
      collect: trace => {
        collectors ??= [...this.#collectors, ...foundation.collectors.map(collector => toMasked(collector, redactor))]
        return collectData(trace, collectors, redactor)
      },
      collectLate: trace => collectLate(trace, this.#collectors),
      processData: () => (processData ??= redactor.knownSecrets(JSON.stringify(describeProcess(this.#collectors)))),
      onBegin: trace => observation.onBegin(trace),
      redactor,
      logger,
      signals,
    })
    // Edits are facts about the process.
    signals.on('files.changed', () => {
      processData = undefined
    })
    context.enable()
    const recorder = new RequestRecorder({ profiler: this.profiler, context, sites: this.#sites, directory })
    this.dispatcher = new TraceableEventDispatcher(foundation.dispatcher, recorder)
    const observation = observeProcess(foundation, this.profiler)
    this.view = createTraceableView(foundation.view, observation.renders)
    this.#stops.push(...observation.stops)
  }

  /**
   * Adds the profiler's listener, the watches that run while requests are handled, and the profiler's collectors.
   * `more` are collectors that the bundle has created.
   */
  register(app: Application, more: readonly ProfileCollector[]): void {
    const { debugGate, dispatcher, reservedCollectors, signals } = app
    const { profiler } = this
    this.#collectors.push(...createCollectors(app, this.#sites), ...more)
    reservedCollectors.push(...this.#collectors.map(({ name }) => name))
    new ProfilerListener({ profiler, debugGate, collectors: this.#collectors }).subscribe(dispatcher)
    const watches = observeRequests(app, profiler, this.#sites)
    this.#stops.push(...watches.now)
    signals.on('kernel.booted', () => {
      this.#stops.push(...watches.whenBooted())
    })
  }

  /** The collectors of these names. */
  collectorsOf(names: readonly string[]): readonly ProfileCollector[] {
    return this.#collectors.filter(({ name }) => names.includes(name))
  }

  /** Stops all watches, waits until the ended requests are written, and closes the store. */
  async close(): Promise<void> {
    for (const stop of this.#stops) stop()
    await this.profiler.whenIdle()
    await this.#storage.close()
  }
}

/** The collector of another bundle may return secrets: its data is masked. */
function toMasked(collector: Collector, redactor: Redactor): Collector<Trace> {
  const { name } = collector
  return { name, collect: async trace => redactor.value(name, await collector.collect(trace)) }
}

function describeProcess(collectors: readonly ProfileCollector[]): Record<string, unknown> {
  return Object.fromEntries(collectors.map(collector => [collector.name, collector.describeProcess?.()]))
}
