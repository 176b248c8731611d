import type { Redactor } from '../../../lib/redact/redactor.ts'
import { parseStack, type StackFrame } from '../../../lib/stack/parse-stack.ts'
import type { OutgoingCall } from '../recording/call-trace.ts'
import type { ProfileCollector } from '../recording/profile-collector.ts'

const urlLength = 2000
const errorLength = 500

/** Tells which HTTP requests the application has sent, how they ended, and who sent them. */
export function createHttpCollector(redactor: Redactor): ProfileCollector {
  return {
    name: 'http',
    collect({ calls }) {
      if (calls === undefined) return undefined
      return {
        calls: calls.calls.map(call => describe(call, redactor)),
        omitted: calls.count - calls.calls.length,
      }
    },
  }
}

/** What is not there yet is left out: without an end the request was still under way. */
function describe(call: OutgoingCall, redactor: Redactor): Record<string, unknown> {
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
    caller: findCaller(parseStack(origin)),
  }
}

/** The innermost function of the application that waits below the client; the profiler's own lie above it. */
function findCaller(frames: readonly StackFrame[]): StackFrame | undefined {
  const publisher = frames.findIndex(({ file }) => file === 'node:diagnostics_channel')
  return frames.slice(publisher + 1).find(({ origin }) => origin === 'application')
}
