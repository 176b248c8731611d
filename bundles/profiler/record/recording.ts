import { hostname } from 'node:os'
import path from 'node:path'
import type { Collector } from '../../../kernel/contracts/collectors.ts'
import { ThrownFrames } from '../../../kernel/debug/thrown-frames.ts'
import { guard, reportFailures } from '../../../lib/guard.ts'
import type { Request } from '../../../lib/http/request.ts'
import type { Redactor } from '../../../lib/redact/redactor.ts'
import { SecretPaths } from '../../../lib/routing/secret-paths.ts'
import { setSourceReader } from '../../../lib/stack/callers.ts'
import { isHelperCall, noteCall } from '../../../lib/stack/helpers.ts'
import { findSource } from '../../../lib/stack/source-maps.ts'
import { patchProcess } from '../../libraries/libraries.ts'
import { hasPart } from '../profile/units.ts'
import type { ProfileStorage } from '../store/profile-storage.ts'
import { createCollectors } from '../subjects/recorded.ts'
import { createRunningSearch } from './code-places.ts'
import { collectData, collectLate, hash, type ProfileCollector, settleSummary, toServerTiming } from './collect.ts'
import { ContentCopier } from './copy.ts'
import { middlewarePart } from './middleware-trace.ts'
import { Profiler } from './profiler.ts'
import type {
  RecordedApplication,
  RecordedProcess,
  RecordedSubject,
  RequestServices,
  Stop,
} from './recorded-subject.ts'
import type { RecordingPolicy } from './recording-policy.ts'
import type { FindTrace, Trace } from './trace.ts'

/** The parts of a recording that differ between applications. */
interface RecordingParts {
  readonly subjects: readonly RecordedSubject[]
  readonly storage: ProfileStorage
  readonly policy: RecordingPolicy
  /** The name of the program in its profiles. */
  readonly program: string
  /** Whether a main request asks for the profiler itself: such requests are not recorded. */
  readonly isForProfiler?: ((request: Request) => boolean) | undefined
  /** Whether tokens have 12 digits instead of 6: their profiles are in one list with those of other programs. */
  readonly hasLongTokens?: boolean
}

/**
 * Assembles everything that records the requests of any server: the profiler, the watches of the process,
 * and the collectors that read the traces. `traceKernel` and `recordServers` report the requests.
 */
export class Recording {
  readonly profiler: Profiler
  /** The trace of a request; by default of the current one. */
  readonly findTrace: FindTrace
  /** The profiler's own collectors. */
  readonly collectors: ProfileCollector[] = []
  readonly #subjects: readonly RecordedSubject[]
  readonly #storage: ProfileStorage
  readonly #stops: Stop[] = []

  constructor(
    process: RecordedProcess,
    { hasLongTokens, isForProfiler, policy, program, storage, subjects }: RecordingParts,
  ) {
    const { context, redactor, signals } = process
    setSourceReader({ findSource, isHelperCall, noteCall })
    const logger = process.logger.channel('profiler')
    const begun: ((trace: Trace) => void)[] = []
    // Both are created when a request ends: by then all bundles have added their collectors.
    let collectors: readonly Collector<Trace>[] | undefined
    let facts: string | undefined
    /** Those of the routers of other frameworks: a kernel teaches its own. */
    const secretPaths = new SecretPaths(new Set(), redactor.isSecret)
    redactor.add(secretPaths.mask)
    this.#subjects = subjects
    this.#storage = storage
    this.#stops.push(
      reportFailures((exception, part) =>
        // Not by a placeholder: the application may have replaced what fills it.
        logger.error(`The recording of ${part} has failed. It goes on, with a gap.`, { exception }),
      ),
    )
    this.profiler = new Profiler({
      storage,
      policy,
      hasLongTokens: hasLongTokens ?? storage.isShared === true,
      isForProfiler,
      collect: trace => {
        collectors ??= [...this.collectors, ...process.collectors.map(collector => toMasked(collector, redactor))]
        if (trace.type === 'request') learnPath(secretPaths, trace)
        return collectData(trace, chooseFor(trace, collectors), redactor)
      },
      collectLate: trace => collectLate(trace, chooseFor(trace, this.collectors)),
      serialize: (trace, run) => {
        const { rawPath } = trace.request
        return trace.type === 'request'
          ? secretPaths.hide(rawPath, redactor.text(rawPath), readParameters(trace), run)
          : run()
      },
      settle: trace => settleSummary(trace, chooseFor(trace, this.collectors)),
      origin: {
        program: redactor.text(program),
        ...(storage.isShared === true
          ? { machine: hostname(), folder: redactor.text(nameFolder(process.directory)) }
          : { machine: null }),
      },
      facts: () => (facts ??= redactor.knownSecrets(JSON.stringify(describeProcess(this.collectors)))),
      onBegin: trace => {
        for (const listener of begun) listener(trace)
      },
      redactor,
      logger,
      signals,
    })
    // Edits and libraries are facts about the process.
    for (const change of ['files.changed', 'library.unseen'] as const) {
      signals.on(change, () => {
        facts = undefined
      })
    }
    context.enable()
    const { profiler } = this
    this.findTrace = (request = context.current) => profiler.find(request)
    const onBegin = (listener: (trace: Trace) => void) => void begun.push(guard('the resources of requests', listener))
    const services = { profiler, findTrace: this.findTrace, onBegin }
    this.#observe('the process', subject => subject.observeProcess?.(process, services))
    // In production the functions of the process stay as they are.
    if (process.debugGate.isDebug) this.#stops.push(patchProcess())
  }

  /**
   * Adds the profiler's collectors, and the watches that run while requests are handled. `more` are collectors that
   * the bundle has created. The returned function adds the watches of libraries, when the application has started.
   */
  register(app: RecordedApplication): () => void {
    const { profiler, findTrace } = this
    const contents = new ContentCopier(app.redactor)
    this.collectors.push(...createCollectors(this.#subjects, app, { contents }))
    app.reservedCollectors.push(...this.collectors.map(({ name }) => name))
    const findRunning = createRunningSearch(new ThrownFrames(app), app.directory)
    const services: RequestServices = { profiler, findTrace, findRunning }
    this.#stops.push(...this.#subjects.flatMap(subject => subject.observeRequests?.(app, services) ?? []))
    return () => this.#observe('libraries', subject => subject.observeLibraries?.(app, services))
  }

  /** A subject that fails does not observe. */
  #observe(name: string, observe: (subject: RecordedSubject) => readonly Stop[] | undefined): void {
    this.#stops.push(...this.#subjects.flatMap(subject => guard(name, observe)(subject) ?? []))
  }

  /** The header `server-timing` of a request, as far as its times are known. */
  readonly toServerTiming = (trace: Trace): string => toServerTiming(trace, this.collectors)

  /** Stops all watches, waits until the ended requests are written, and closes the store. */
  async close(): Promise<void> {
    for (const stop of this.#stops) stop()
    await this.profiler.whenIdle()
    await this.#storage.close()
  }
}

/** Work that is no request has no exchange. */
function chooseFor<Each extends { readonly name: string }>(trace: Trace, collectors: readonly Each[]): readonly Each[] {
  return trace.type === 'request' ? collectors : collectors.filter(({ name }) => hasPart(trace, name))
}

/** The collector of another bundle may return secrets: its data is masked. */
function toMasked(collector: Collector, redactor: Redactor): Collector<Trace> {
  const { name } = collector
  return { name, collect: async trace => redactor.value(name, await collector.collect(trace)) }
}

function describeProcess(collectors: readonly ProfileCollector[]): Record<string, unknown> {
  return Object.fromEntries(collectors.map(collector => [collector.name, collector.describeProcess?.()]))
}

/** Learns the path of a request that another framework has routed, before its profile is made. */
function learnPath(secretPaths: SecretPaths, trace: Trace): void {
  const { pattern } = middlewarePart.find(trace)?.route ?? {}
  secretPaths.learn(trace.request.rawPath, pattern, readParameters(trace))
}

/** The parameters of the path of a request that another framework has routed. */
function readParameters(trace: Trace): object {
  const { attributes } = trace.request
  const part = middlewarePart.find(trace)
  const given = attributes.has('_route_pattern') ? attributes.get('_route_params') : undefined
  // Those of a route that was noted are noted, too.
  return part?.route === undefined ? { ...given, ...part?.parameters } : part.parameters
}

/** The name of a folder that differs from those of all others, without its place on the machine. */
function nameFolder(directory: string): string {
  return [hash(directory), ...directory.split(path.sep).filter(Boolean).slice(-2)].join('/')
}
