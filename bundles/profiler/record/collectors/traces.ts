import type { EventDispatcher, Listener } from '../../../../lib/event-dispatcher/event-dispatcher.ts'
import type { Redactor } from '../../../../lib/redact/redactor.ts'
import { SourceExcerpts } from '../../../../lib/stack/source-excerpts.ts'
import { locateFrame, parseStack, type StackFrame } from '../../../../lib/stack/stack-frames.ts'
import type { SpanRow } from '../../profile/event-data.ts'
import { roundTime } from '../../profile/format.ts'
import type { OutgoingCall } from '../call-trace.ts'
import type { ProfileCollector } from '../collect.ts'
import { summarizeSamples } from '../cpu/summarize-samples.ts'
import type { TracedLog } from '../log-trace.ts'
import type { Trace } from '../trace.ts'

/** What was dispatched in a trace. */
export interface EventsData {
  readonly spans: readonly SpanRow[]
  /** How many spans there was no room for. */
  readonly dropped: number
}

/** Every listener of a process, event by event, in the order in which they are called. */
export interface EventsFacts {
  readonly listeners: readonly KnownListener[]
}

interface KnownListener {
  readonly event: string
  readonly name: string
  readonly priority: number
  /** Where it was registered: file, relative to the project, and line. */
  readonly site?: string
}

/** Tells the event tree of a trace; of the process, who listens to what, and where that was said. */
export function createEventsCollector(
  dispatcher: EventDispatcher,
  siteOf: (listener: Listener) => string | undefined,
): ProfileCollector {
  return {
    name: 'events',
    collect: ({ events }: Trace): EventsData => ({ spans: events.rows, dropped: events.dropped }),
    describeProcess: (): EventsFacts => ({
      listeners: Array.from(dispatcher.types()).flatMap(type =>
        dispatcher.listeners(type).map(({ listener, name, priority }): KnownListener => {
          const site = siteOf(listener)
          return { event: type.eventName, name, priority, ...(site !== undefined && { site }) }
        }),
      ),
    }),
  }
}

/** What was logged in a trace. */
export interface LoggerData {
  readonly records: readonly TracedLog[]
  /** How many records, between the first and the last, were not kept. */
  readonly dropped: number
}

/** Tells what was logged while a request was handled. The logger has masked it. */
export function createLoggerCollector(): ProfileCollector {
  return {
    name: 'logger',
    collectsLate: true,
    collect({ logs }: Trace): LoggerData | undefined {
      const records = logs.toArray()
      return records.length === 0 ? undefined : { records, dropped: logs.dropped }
    },
  }
}

const urlLength = 2000
const errorLength = 500

/** Tells which HTTP requests the application has sent, how they ended, and who sent them; files below the directory relative to it. */
export function createHttpCollector(redactor: Redactor, directory: string): ProfileCollector {
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

/** What is not there yet is left out: without an end the request was still under way. */
function describe(call: OutgoingCall, redactor: Redactor, directory: string): Record<string, unknown> {
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

/** The innermost function of the application that waits below the client; the profiler's own lie above it. */
function findCaller(frames: readonly StackFrame[], directory: string): Record<string, unknown> | undefined {
  const publisher = frames.findIndex(({ file }) => file === 'node:diagnostics_channel')
  const frame = frames.slice(publisher + 1).find(({ origin }) => origin === 'application')
  if (frame === undefined) return undefined
  return { function: frame.function, file: locateFrame(frame, directory).file, line: frame.line, column: frame.column }
}

const keyLength = 100

/** Tells which templates were rendered, within one another, and how long that took. */
export function createTemplatesCollector(redactor: Redactor): ProfileCollector {
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

/** Tells what the CPU did while a request was handled, of those that somebody wanted to be sampled. */
export function createCpuCollector(directory: string, redactor: Redactor): ProfileCollector {
  const sources = new SourceExcerpts(directory, redactor)
  return {
    name: 'cpu',
    collect: ({ cpu }) => cpu && summarizeSamples(cpu.stop(), { directory, redactor, sources }),
  }
}
