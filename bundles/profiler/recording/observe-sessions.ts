// For the signal that it declares.

import type {} from '../../../kernel/bundle.ts'
import type { RequestContext } from '../../../kernel/request-context.ts'
import type { Signals } from '../../../lib/signals.ts'
import { CallTraces } from '../../../lib/stack/stack-frames.ts'
import type { Profiler } from './profiler.ts'

/** How many uses are noted of a request; the session itself counts them all. */
const useLimit = 50

/** Notes where recorded requests use their session; returns what ends that. */
export function observeSessions(
  { context, signals }: { readonly context: RequestContext; readonly signals: Signals },
  profiler: Pick<Profiler, 'find'>,
): () => void {
  const traces = new CallTraces()
  return signals.on('session.used', ({ request, use: { captureCallSite, method } }) => {
    // A sub-request uses the session of its main request: the use is its own.
    const pass = profiler.find(context.current) ?? profiler.find(request)
    if (pass === undefined || pass.sessionUses.length === useLimit) return
    pass.sessionUses.push({ method, at: pass.elapsed(), frames: traces.framesOf(captureCallSite) })
  })
}
