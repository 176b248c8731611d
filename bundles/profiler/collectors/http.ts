import type { Redactor } from '../../../lib/redact/redactor.ts'
import { locateFrame, parseStack, type StackFrame } from '../../../lib/stack/stack-frames.ts'
import type { OutgoingCall } from '../recording/call-trace.ts'
import type { ProfileCollector } from '../recording/profile-collector.ts'

const urlLength = 2000
const errorLength = 500

/** Tells which HTTP requests the application has sent, how they ended, and who sent them; files below the directory relative to it. */
export function createHttpCollector(redactor: Redactor, directory: string): ProfileCollector {
  return {
    name: 'http',
    tellsLate: true,
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
