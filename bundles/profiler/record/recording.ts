import type { Application, Foundation } from '../../../kernel/bundle.ts'
import type { Collector } from '../../../kernel/profiler-contract.ts'
import { ThrownFrames } from '../../../kernel/thrown-frames.ts'
import type { EventDispatcher } from '../../../lib/event-dispatcher/event-dispatcher.ts'
import { TraceableEventDispatcher } from '../../../lib/event-dispatcher/traceable-event-dispatcher.ts'
import type { Request } from '../../../lib/http/request.ts'
import type { Redactor } from '../../../lib/redact/redactor.ts'
import type { View } from '../../../lib/view/view.ts'
import type { ProfileStorage } from '../store/profile-storage.ts'
import { createCollectors, recordedSubjects } from '../subjects/recorded.ts'
import { createRunningSearch, ListenerSites } from './code-places.ts'
import { collectData, collectLate, type ProfileCollector } from './collect.ts'
import { ContentCopier } from './copy.ts'
import { Profiler } from './profiler.ts'
import type { Stop } from './recorded-subject.ts'
import type { RecordingPolicy } from './recording-policy.ts'
import { ProfilerListener, RequestRecorder, toServerTiming } from './request-recorder.ts'
import type { FindTrace, Trace } from './trace.ts'

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
  readonly #stops: Stop[] = []
  readonly #findTrace: FindTrace

  constructor(foundation: Foundation, { isForProfiler, policy, storage }: RecordingParts) {
    const { context, directory, redactor, signals } = foundation
    const logger = foundation.logger.channel('profiler')
    const begun: ((trace: Trace) => void)[] = []
    // Both are created when a request ends: by then all bundles have added their collectors.
    let collectors: readonly Collector<Trace>[] | undefined
    let facts: string | undefined
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
      facts: () => (facts ??= redactor.knownSecrets(JSON.stringify(describeProcess(this.#collectors)))),
      onBegin: trace => {
        for (const listener of begun) listener(trace)
      },
      redactor,
      logger,
      signals,
    })
    // Edits are facts about the process.
    signals.on('files.changed', () => {
      facts = undefined
    })
    context.enable()
    const recorder = new RequestRecorder({ profiler: this.profiler, context, sites: this.#sites, directory })
    this.dispatcher = new TraceableEventDispatcher(foundation.dispatcher, recorder)
    const { profiler } = this
    const findTrace: FindTrace = (request = context.current) => profiler.find(request)
    const onBegin = (listener: (trace: Trace) => void) => void begun.push(listener)
    this.#findTrace = findTrace
    this.#stops.push(
      ...recordedSubjects.flatMap(
        subject => subject.observeProcess?.(foundation, { profiler, findTrace, onBegin }) ?? [],
      ),
    )
    this.view = recordedSubjects.reduce(
      (view, subject) => subject.traceView?.(view, findTrace) ?? view,
      foundation.view,
    )
  }

  /**
   * Adds the profiler's listener, the watches that run while requests are handled, and the profiler's collectors.
   * `more` are collectors that the bundle has created.
   */
  register(app: Application, more: readonly ProfileCollector[]): void {
    const { debugGate, directory, dispatcher, redactor, reservedCollectors, signals } = app
    const { profiler } = this
    const contents = new ContentCopier(redactor)
    this.#collectors.push(...createCollectors(app, { sites: this.#sites, contents }), ...more)
    reservedCollectors.push(...this.#collectors.map(({ name }) => name))
    new ProfilerListener({ profiler, debugGate, collectors: this.#collectors }).subscribe(dispatcher)
    const findRunning = createRunningSearch(new ThrownFrames(app), this.#sites, directory)
    const services = { profiler, findTrace: this.#findTrace, findRunning }
    this.#stops.push(...recordedSubjects.flatMap(subject => subject.observeRequests?.(app, services) ?? []))
    signals.on('kernel.booted', () => {
      this.#stops.push(...recordedSubjects.flatMap(subject => subject.observeLibraries?.(app, services) ?? []))
    })
  }

  /** The collectors of these names. */
  collectorsOf(names: readonly string[]): readonly ProfileCollector[] {
    return this.#collectors.filter(({ name }) => names.includes(name))
  }

  /** The header `server-timing` of a request, as far as its times are known. */
  readonly toServerTiming = (trace: Trace): string => toServerTiming(trace, this.#collectors)

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
