import type { EventDispatcher, Listener } from '../../../../lib/event-dispatcher/event-dispatcher.ts'
import type { Redactor } from '../../../../lib/redact/redactor.ts'
import { locateFrame } from '../../../../lib/stack/locate-frame.ts'
import { SourceExcerpts } from '../../../../lib/stack/source-excerpts.ts'
import { parseStack, type StackFrame } from '../../../../lib/stack/stack-frames.ts'
import type { EventsData, EventsProcessData, ListenerData } from '../../profile/event-data.ts'
import { roundTime } from '../../profile/format.ts'
import type { CallerData, HttpCall, LoggerData } from '../../profile/work-data.ts'
import type { TracedCall } from '../call-trace.ts'
import type { CollectorOf } from '../collect.ts'
import { summarizeSamples } from '../cpu/summarize-samples.ts'
import type { Trace } from '../trace.ts'

/** Collects the event tree of a request. For the process, collects the listeners and where they were registered. */
export function createEventsCollector(
  dispatcher: EventDispatcher,
  siteOf: (listener: Listener) => string | undefined,
): CollectorOf<'events'> {
  return {
    name: 'events',
    collect: ({ events }: Trace): EventsData => ({ spans: events.rows, dropped: events.dropped }),
    describeProcess: (): EventsProcessData => ({
      listeners: Array.from(dispatcher.types()).flatMap(type =>
        dispatcher.listeners(type).map(({ listener, name, priority }): ListenerData => {
          const site = siteOf(listener)
          return { event: type.eventName, name, priority, ...(site !== undefined && { site }) }
        }),
      ),
    }),
  }
}

/** Collects the log messages of a request. The logger has masked them. */
export const loggerCollector: CollectorOf<'logger'> = {
  name: 'logger',
  collectsLate: true,
  collect({ logs }: Trace): LoggerData | undefined {
    const records = logs.toArray()
    return records.length === 0 ? undefined : { records, dropped: logs.dropped }
  },
}

const urlLength = 2000
const errorLength = 500

/** Collects the HTTP client calls, how they ended, and where they were made; paths are relative to the directory. */
export function createHttpCollector(redactor: Redactor, directory: string): CollectorOf<'http'> {
  return {
    name: 'http',
    collectsLate: true,
    collect({ calls }) {
      if (calls === undefined) return undefined
      return {
        calls: calls.calls.map(call => describe(call, redactor, directory)),
        omitted: calls.count - calls.calls.length,
      }
    },
  }
}

/** Fields without a value are left out: a call without an end was still running. */
function describe(call: TracedCall, redactor: Redactor, directory: string): HttpCall {
  const { client, method, start, sent, uploaded, head, end, status, bytes, isCounted, error, origin } = call
  return {
    client,
    method,
    url: redactor.text(call.url).slice(0, urlLength),
    start,
    sent,
    uploaded,
    head,
    end,
    status,
    bytes,
    isCounted,
    error: error === undefined ? undefined : redactor.text(error).slice(0, errorLength),
    caller: findCaller(parseStack(origin), directory),
  }
}

/**
 * The innermost frame of the application below the HTTP client, or of code that is in no package of npm; frames of the
 * profiler are above it.
 */
function findCaller(frames: readonly StackFrame[], directory: string): CallerData | undefined {
  const publisher = frames.findIndex(({ file }) => file === 'node:diagnostics_channel')
  const calls = frames.slice(publisher + 1).map(frame => ({ ...frame, ...locateFrame(frame, directory) }))
  const found =
    calls.find(({ origin }) => origin === 'application') ??
    calls.find(call => call.origin !== 'runtime' && call.package === undefined)
  return found && { function: found.function, file: found.file, line: found.line, column: found.column }
}

const keyLength = 100

/** Collects the renders of templates. */
export function createTemplatesCollector(redactor: Redactor): CollectorOf<'templates'> {
  const mask = (key: string) => redactor.text(key).slice(0, keyLength)
  return {
    name: 'templates',
    collectsLate: true,
    collect({ renders }) {
      if (renders === undefined) return undefined
      return {
        renders: renders.renders.map(render =>
          render.keys === undefined ? render : { ...render, keys: render.keys.map(mask) },
        ),
        omitted: renders.omitted,
        waited: roundTime(renders.waited),
      }
    },
  }
}

/** Collects the CPU profile of a sampled request. */
export function createCpuCollector(directory: string, redactor: Redactor): CollectorOf<'cpu'> {
  const sources = new SourceExcerpts(directory, redactor)
  return {
    name: 'cpu',
    collect: ({ cpu }) => cpu && summarizeSamples(cpu.stop(), { directory, redactor, sources }),
  }
}
