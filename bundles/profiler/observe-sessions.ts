// For the signal that it declares.
import type {} from '../../kernel/listeners/session-listener.ts'
import type { RequestContext } from '../../kernel/request-context.ts'
import type { SessionUse } from '../../lib/session/session-use.ts'
import type { Signals } from '../../lib/signals.ts'
import type { Pass } from './pass.ts'
import type { Profiler } from './profiler.ts'

/** How many uses are noted of a request; the session itself counts them all. */
const useLimit = 50

/** How many calls are noted of each: those above are the kernel's. */
const frameLimit = 5

/** Notes where recorded requests use their session; returns what ends that. */
export function observeSessions(
  { context, signals }: { readonly context: RequestContext; readonly signals: Signals },
  profiler: Pick<Profiler, 'find'>,
): () => void {
  return signals.on('session.used', ({ request, use }) => {
    // A sub-request uses the session of its main request: the use is its own.
    const pass = profiler.find(context.current) ?? profiler.find(request)
    if (pass !== undefined && pass.sessionUses.length < useLimit) note(pass, use)
  })
}

function note(pass: Pass, { captureCallSite, method }: SessionUse): void {
  const { stackTraceLimit } = Error
  Error.stackTraceLimit = frameLimit
  try {
    pass.sessionUses.push({ method, at: pass.elapsed(), callSite: captureCallSite() })
  } finally {
    Error.stackTraceLimit = stackTraceLimit
  }
}
