import type { RequestContext } from '../../../../kernel/request-context.ts'
import type { Request } from '../../../../lib/http/request.ts'
import type { Redactor } from '../../../../lib/redact/redactor.ts'
import type { SessionMethod } from '../../../../lib/session/session-state.ts'
import type { Signals } from '../../../../lib/signals.ts'
import { CallTraces, formatFrame, locateFrame, type StackFrame } from '../../../../lib/stack/stack-frames.ts'
import { roundTime } from '../../profile/format.ts'
import type { CollectorOf } from '../../record/collect.ts'
import { createCopier } from '../../record/copy.ts'
import type { Profiler } from '../../record/profiler.ts'
import { type Trace, TracePart } from '../../record/trace.ts'
import type { ProfiledSession, SessionUseData } from './data.ts'

/** Collects the session if it was used; it neither starts the session nor takes anything out of it. */
export class SessionCollector implements CollectorOf<'session'> {
  readonly name = 'session'
  readonly #redactor: Redactor
  readonly #directory: string

  /** The directory of the application: files are shown as seen from it. */
  constructor(redactor: Redactor, directory: string) {
    this.#redactor = redactor
    this.#directory = directory
  }

  collect(trace: Trace): ProfiledSession | undefined {
    const { request } = trace
    const isStateless = request.attributes.get('_stateless') === true
    const useCount = request.requestedSession?.useCount ?? 0
    if (!isStateless && useCount === 0) return undefined
    const uses = (usePart.find(trace) ?? []).map(use => this.#describeUse(use))
    return { isStateless, useCount, uses, ...this.#describeContents(request) }
  }

  #describeContents({
    requestedSession,
  }: Request): Pick<ProfiledSession, 'store' | 'metadata' | 'attributes' | 'flashes'> {
    const seen = requestedSession?.peek()
    if (seen === undefined) return {}
    const { attributes, flashes, metadata } = seen
    return {
      store: requestedSession?.storeName,
      metadata,
      attributes: createCopier(this.#redactor).record(attributes),
      flashes: createCopier(this.#redactor).record(flashes),
    }
  }

  #describeUse({ at, frames, method }: NotedSessionUse): SessionUseData {
    const trace = frames
      .map(frame => ({ ...frame, ...locateFrame(frame, this.#directory) }))
      .filter(({ origin }) => origin !== 'runtime')
      .map(formatFrame)
    return { method, at: roundTime(at), trace }
  }
}

/** One use of the session by a recorded request. */
interface NotedSessionUse {
  readonly method: SessionMethod
  /** Milliseconds since the request began. */
  readonly at: number
  /** The place in the code, innermost call first. */
  readonly frames: readonly StackFrame[]
}

/** The uses of the session by the request of a trace itself. */
const usePart = new TracePart<NotedSessionUse[]>('session', () => [])

/** The number of uses that are recorded for one request. The session counts all uses. */
const useLimit = 50

/** Records where requests use their session, until the returned function is called. */
export function observeSessions(
  { context, signals }: { readonly context: RequestContext; readonly signals: Signals },
  profiler: Pick<Profiler, 'find'>,
): () => void {
  const traces = new CallTraces()
  return signals.on('session.used', ({ request, use: { captureCallSite, method } }) => {
    // A sub-request uses the session of its main request; the use is recorded on the sub-request.
    const trace = profiler.find(context.current) ?? profiler.find(request)
    if (trace === undefined) return
    const uses = usePart.of(trace)
    if (uses.length === useLimit) return
    uses.push({ method, at: trace.elapsed(), frames: traces.framesOf(captureCallSite) })
  })
}
