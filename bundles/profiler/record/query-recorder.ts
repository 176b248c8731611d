import type { ConnectionWait, QueryEnd, QueryObserver, QueryStart } from '../../../kernel/queries.ts'
import type { Request } from '../../../lib/http/request.ts'
import { maskAndCut, type TextMasker } from '../../../lib/redact/masking-copier.ts'
import type { Callers, Running } from '../../../lib/stack/callers.ts'
import { captureQuery } from './queries/captured-values.ts'
import { QueryTrace } from './query-trace.ts'
import type { FindRunning } from './running-functions.ts'
import type { Trace } from './trace.ts'

/** Characters of the message of an error. */
const messageLimit = 4000

/** Milliseconds: a connection that is free is there at once. */
const leastWait = 10

/** The parts that the recorder works with. */
export interface QueryRecorderServices {
  /** The trace of a request; of the current request by default. */
  readonly findTrace: (request?: Request) => Trace | undefined
  readonly callers: Pick<Callers, 'find'>
  readonly findRunning: FindRunning
  readonly redactor: TextMasker
}

/** Records each query on the trace of its request, whichever source reports it. */
export class QueryRecorder implements QueryObserver {
  readonly #services: QueryRecorderServices

  constructor(services: QueryRecorderServices) {
    this.#services = services
  }

  begin(start: QueryStart, below?: Running): QueryEnd | undefined {
    const { callers, findRunning, findTrace, redactor } = this.#services
    const trace = findTrace(start.request)
    if (trace === undefined) return undefined
    trace.queries ??= new QueryTrace()
    if (!trace.queries.count(start.system)) return undefined
    const caller = (start.findCaller === undefined ? callers.find(below) : start.findCaller()) ?? findRunning(trace)
    // A span gets its statement and its values after it has begun. They are copies already.
    const raw = start.source === 'span' ? start : captureQuery(start, redactor)
    const query = trace.queries.begin(raw, caller, trace)
    return result => query.finish(result, text => maskAndCut(text, messageLimit, redactor))
  }

  noteWait({ caller, duration, request, system }: ConnectionWait): void {
    const trace = duration < leastWait ? undefined : this.#services.findTrace(request)
    if (trace === undefined) return
    trace.queries ??= new QueryTrace()
    trace.queries.addWait({ system, start: trace.elapsed() - duration, duration, caller })
  }

  isRecorded(request: Request): boolean {
    return this.#services.findTrace(request) !== undefined
  }
}
