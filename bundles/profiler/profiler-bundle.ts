import type { Bundle } from '../../kernel/bundle.ts'
import type { Collector } from '../../kernel/collector.ts'
import type { Controller } from '../../kernel/controller/controller.ts'
import { TraceableEventDispatcher } from '../../lib/event-dispatcher/traceable-event-dispatcher.ts'
import type { Redactor } from '../../lib/redact/redactor.ts'
import { collectData } from './collect-data.ts'
import { createCollectors } from './create-collectors.ts'
import { observeSessions } from './observe-sessions.ts'
import type { Pass } from './pass.ts'
import type { ProfileCollector } from './profile-collector.ts'
import { Profiler } from './profiler.ts'
import { ProfilerListener } from './profiler-listener.ts'
import { ProfilerTracer } from './profiler-tracer.ts'
import { type RecordingOptions, RecordingPolicy } from './recording-policy.ts'
import { MemoryProfileStorage } from './store/memory-profile-storage.ts'
import type { ProfileStorage } from './store/profile-storage.ts'

/** What a profiler records, and where it keeps it. */
export interface ProfilerOptions extends RecordingOptions {
  /** Files in `var/profiler` unless told else. */
  readonly storage?: ProfileStorage
}

/** Creates the bundle that records every request and shows the records at `/_profiler`; for development only. */
export function createProfilerBundle(options: ProfilerOptions = {}): Bundle {
  const storage = options.storage ?? new MemoryProfileStorage()
  const collectors: ProfileCollector[] = []
  const controllers = new Set<Controller>()
  let profiler: Profiler

  return {
    name: 'profiler',

    decorate(foundation) {
      const { context, logger, redactor, signals } = foundation
      let facts: string | undefined
      profiler = new Profiler({
        storage,
        policy: new RecordingPolicy(options),
        collect: pass =>
          collectData(pass, [...collectors, ...foundation.collectors.map(each => masked(each, redactor))]),
        facts: () => (facts ??= redactor.knownSecrets(JSON.stringify(describeProcess(collectors)))),
        redactor,
        logger: logger.channel('profiler'),
        signals,
      })
      context.enable()
      logger.observe(record => profiler.find(context.current)?.logs.push(record))
      const tracer = new ProfilerTracer(profiler, context)
      return { ...foundation, dispatcher: new TraceableEventDispatcher(foundation.dispatcher, tracer) }
    },

    register(app) {
      collectors.push(...createCollectors(app))
      const isOwn = (controller: Controller) => controllers.has(controller)
      observeSessions(app, profiler)
      new ProfilerListener({ ...app, profiler, isOwn }).subscribe(app.dispatcher)
    },

    close: () => storage.close(),
  }
}

/** A collector of another bundle: nobody knows whether it masks what it tells. */
function masked(collector: Collector, redactor: Redactor): Collector<Pass> {
  const { name } = collector
  return { name, collect: async pass => redactor.value(name, await collector.collect(pass)) }
}

function describeProcess(collectors: readonly ProfileCollector[]): Record<string, unknown> {
  return Object.fromEntries(collectors.map(collector => [collector.name, collector.describeProcess?.()]))
}
