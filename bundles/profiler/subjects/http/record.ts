import { type CallStart, observeHttpCalls } from '../../../../kernel/contracts/calls.ts'
import { type MaskingCopier, maskAndCut } from '../../../../lib/redact/masking-copier.ts'
import type { Redactor } from '../../../../lib/redact/redactor.ts'
import { Callers, type Running } from '../../../../lib/stack/callers.ts'
import { joinPeriods, type Period, subtractPeriods, totalOf } from '../../profile/work.ts'
import type { CollectorOf } from '../../record/collect.ts'
import { type ContentCopier, createCallCopier } from '../../record/copy.ts'
import type { RecordedSubject } from '../../record/recorded-subject.ts'
import { findField } from '../../record/running-field.ts'
import type { Trace } from '../../record/trace.ts'
import type { HttpCall } from './data.ts'
import { isLate } from './read.ts'
import { callPart, type TracedCall } from './traced-calls.ts'

/** The HTTP client calls. */
export const httpSubject: RecordedSubject = {
  createCollectors: ({ redactor }, { contents }) => [createHttpCollector(redactor, contents)],
  observeLibraries({ directory }, { findRunning, findTrace }) {
    const callers = new Callers(directory)
    function begin(call: CallStart, below: Running) {
      const trace = findTrace()
      if (trace === undefined) return undefined
      const findCaller = () => callers.find(below) ?? findRunning(trace)
      return callPart.of(trace).begin(call, findCaller, trace, findField(trace))
    }
    return [observeHttpCalls({ begin })]
  },
}

const urlLength = 2000

const errorLength = 500

/** Collects the HTTP client calls, how they ended, and where they were made. */
function createHttpCollector(redactor: Redactor, contents: ContentCopier): CollectorOf<'http'> {
  /** Late work collects the calls of a request again, but those that have ended stay the same. */
  const described = new WeakMap<TracedCall, HttpCall>()
  return {
    name: 'http',
    collectsLate: true,
    collect(trace) {
      const calls = callPart.find(trace)
      if (calls === undefined) return undefined
      const copier = createCallCopier(redactor)
      return {
        calls: calls.calls.map(call => {
          const data = described.get(call) ?? describe(call, redactor, copier, contents)
          if (call.end !== undefined) described.set(call, data)
          return data
        }),
        omitted: calls.count - calls.calls.length,
        more: calls.more.toData(),
      }
    },
    summarize: trace => ({ calls: callPart.find(trace)?.count ?? 0 }),
    hasWorked(trace, since) {
      const { calls = [], more } = callPart.find(trace) ?? {}
      return calls.some(call => isLate(call, since)) || (more !== undefined && more.latest > since)
    },
    measure(traces, stopsOf) {
      const [first] = traces
      const periods = traces.flatMap(trace => listPeriods(trace, trace.start - (first?.start ?? 0)))
      if (first === undefined || periods.length === 0) return []
      const time = totalOf(subtractPeriods(joinPeriods(periods), joinPeriods(stopsOf(first))))
      return time > 0 ? [['http', 'HTTP client calls', time]] : []
    },
  }
}

/** The times of the HTTP client calls, moved by some milliseconds. */
function listPeriods(trace: Trace, offset: number): Period[] {
  const traced = callPart.find(trace)
  if (traced === undefined) return []
  const now = trace.elapsed()
  const calls = traced.calls.map(({ end = now, start }) => ({ start, duration: end - start }))
  return [...calls, ...traced.more.periods].map(({ duration, start }) => ({ start: start + offset, duration }))
}

/** Fields without a value are left out: a call without an end was still running. */
function describe(call: TracedCall, redactor: Redactor, copier: MaskingCopier, contents: ContentCopier): HttpCall {
  const { client, method, start, sent, uploaded, head, end, status, bytes, caller, field, spanId } = call
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
    field,
    spanId,
    request: call.sentMessage?.describe(copier, contents),
    response: call.receivedMessage?.describe(copier, contents),
  }
}
