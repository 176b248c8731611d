import { observeUnits, type RecordedUnit, type UnitStart } from '../../../kernel/contracts/units.ts'
import type { RequestContext } from '../../../kernel/request-context.ts'
import { guard } from '../../../lib/guard.ts'
import { Request } from '../../../lib/http/request.ts'
import type { Profiler } from './profiler.ts'
import type { Trace } from './trace.ts'

/** The services that record work. */
interface UnitServices {
  readonly profiler: Profiler
  readonly context: RequestContext
}

/** Records work that is no request, until the returned function is called. */
export function recordUnits({ context, profiler }: UnitServices): () => void {
  return observeUnits(({ name, type }: UnitStart): RecordedUnit | undefined => {
    // The context of the process carries requests.
    const carrier = new Request({ target: '/' })
    carrier.attributes.set('_route', `${type} ${name}`)
    const trace = profiler.begin(carrier, type)
    if (trace === undefined) return undefined
    return {
      run: task => context.run(carrier, task),
      end: guard('the end of work', ending => endTrace(profiler, trace, ending)),
    }
  })
}

function endTrace(profiler: Profiler, trace: Trace, ending: Parameters<RecordedUnit['end']>[0]): void {
  if (trace.duration !== undefined) return
  const hasFailed = 'error' in ending
  if (hasFailed) trace.addThrown(ending.error)
  trace.events.finish()
  profiler.finish(trace)
  profiler.end(trace, hasFailed ? 'failed' : 'complete')
}
