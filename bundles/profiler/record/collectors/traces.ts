import type { Application } from '../../../../kernel/bundle.ts'
import { namedFunctionOf } from '../../../../kernel/controller.ts'
import type { EventDispatcher, Listener } from '../../../../lib/event-dispatcher/event-dispatcher.ts'
import { type MaskingCopier, maskAndCut } from '../../../../lib/redact/masking-copier.ts'
import type { Redactor } from '../../../../lib/redact/redactor.ts'
import { SourceExcerpts } from '../../../../lib/stack/source-excerpts.ts'
import type { EventsData, EventsProcessData, ListenerData } from '../../profile/event-data.ts'
import { roundTime } from '../../profile/format.ts'
import type { HttpCall, LoggerData } from '../../profile/work-data.ts'
import type { TracedCall } from '../call-trace.ts'
import type { CollectorOf } from '../collect.ts'
import type { ContentCopier } from '../content.ts'
import { summarizeSamples } from '../cpu/summarize-samples.ts'
import type { ListenerSite } from '../listener-sites.ts'
import type { Trace } from '../trace.ts'
import { createCallCopier } from './copy.ts'
import { recordLog } from './recorded-frames.ts'

/** Collects the event tree of a request. For the process, collects the listeners and where they were registered. */
export function createEventsCollector(
  dispatcher: EventDispatcher,
  findSite: (listener: Listener) => ListenerSite | undefined,
): CollectorOf<'events'> {
  return {
    name: 'events',
    collect: ({ events, main }: Trace): EventsData => ({
      spans: events.rows,
      dropped: events.dropped,
      waits: events.waits,
      isShared: (main.usage?.most ?? 0) > 0,
    }),
    describeProcess: (): EventsProcessData => ({
      listeners: Array.from(dispatcher.types()).flatMap(type =>
        dispatcher.listeners(type).map(({ listener, name, priority }): ListenerData => {
          return { event: type.eventName, name, priority, ...findSite(listener) }
        }),
      ),
    }),
  }
}

/** Collects the log messages of a request, which the logger has masked. Paths are relative to the directory. */
export function createLoggerCollector(directory: string): CollectorOf<'logger'> {
  return {
    name: 'logger',
    collectsLate: true,
    collect({ logs }: Trace): LoggerData | undefined {
      const records = logs.toArray().map(log => recordLog(log, directory))
      return records.length === 0 ? undefined : { records, dropped: logs.dropped }
    },
  }
}

/** Collects the calls of `dump` and of `console`. They are masked when they are recorded. */
export const consoleCollector: CollectorOf<'console'> = {
  name: 'console',
  collectsLate: true,
  collect: ({ console }: Trace) => console?.toData(),
}

/** Collects the validations of the input. They are masked when they are recorded. */
export const validationCollector: CollectorOf<'validation'> = {
  name: 'validation',
  collectsLate: true,
  collect: ({ validations }: Trace) => validations?.toData(),
}

const urlLength = 2000
const errorLength = 500

/** Collects the HTTP client calls, how they ended, and where they were made. */
export function createHttpCollector(redactor: Redactor, contents: ContentCopier): CollectorOf<'http'> {
  /** Late work collects the calls of a request again, but those that have ended stay the same. */
  const described = new WeakMap<TracedCall, HttpCall>()
  return {
    name: 'http',
    collectsLate: true,
    collect({ calls }) {
      if (calls === undefined) return undefined
      const copier = createCallCopier(redactor)
      return {
        calls: calls.calls.map(call => {
          const data = described.get(call) ?? describe(call, redactor, copier, contents)
          if (call.end !== undefined) described.set(call, data)
          return data
        }),
        omitted: calls.count - calls.calls.length,
      }
    },
  }
}

/** Fields without a value are left out: a call without an end was still running. */
function describe(call: TracedCall, redactor: Redactor, copier: MaskingCopier, contents: ContentCopier): HttpCall {
  const { client, method, start, sent, uploaded, head, end, status, bytes, caller, spanId } = call
  return {
    client,
    method,
    url: maskAndCut(call.url, urlLength, redactor),
    start,
    sent,
    uploaded,
    head,
    end,
    status,
    bytes,
    isCounted: call.isCounted,
    isUnlimited: call.isUnlimited,
    isAborted: call.isAborted,
    error: call.error === undefined ? undefined : maskAndCut(call.error, errorLength, redactor),
    caller,
    spanId,
    request: call.sentMessage?.describe(copier, contents),
    response: call.receivedMessage?.describe(copier, contents),
  }
}

const keyLength = 100

/** Collects the renders of templates. */
export function createTemplatesCollector(redactor: Redactor): CollectorOf<'templates'> {
  const mask = (key: string) => maskAndCut(key, keyLength, redactor)
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
export function createCpuCollector({ directory, redactor, routes }: Application): CollectorOf<'cpu'> {
  const sources = new SourceExcerpts(directory, redactor)
  return {
    name: 'cpu',
    collect({ cpu }) {
      if (cpu === undefined) return undefined
      const sampled = cpu.stop()
      const names = cpu.findNames([...routes].flatMap(({ controller }) => namedFunctionOf(controller)))
      return summarizeSamples(sampled, { directory, names, redactor, sources })
    },
  }
}
