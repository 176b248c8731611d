import type { QueryEnd, QueryObserver, QueryStart } from '../../../kernel/queries.ts'
import type { Request } from '../../../lib/http/request.ts'
import type { TextMasker } from '../../../lib/redact/masking-copier.ts'
import type { Callers } from '../../../lib/stack/callers.ts'
import { captureQuery } from './queries/captured-values.ts'
import { type CapturedQuery, QueryTrace } from './query-trace.ts'
import type { Trace } from './trace.ts'

/** The parts that the recorder works with. */
export interface QueryRecorderServices {
  /** The trace of a request; of the current request by default. */
  readonly findTrace: (request?: Request) => Trace | undefined
  readonly callers: Pick<Callers, 'find'>
  readonly redactor: TextMasker
}

/** Records each query on the trace of its request, whichever source reports it. */
export class QueryRecorder implements QueryObserver {
  readonly #findTrace: QueryRecorderServices['findTrace']
  readonly #capture: (start: QueryStart) => CapturedQuery

  constructor({ callers, findTrace, redactor }: QueryRecorderServices) {
    this.#findTrace = findTrace
    this.#capture = start => ({
      // A span gets its statement and its values after it has begun. They are copies already.
      raw: start.source === 'span' ? start : captureQuery(start, redactor),
      caller: start.findCaller === undefined ? callers.find() : start.findCaller(),
    })
  }

  begin(start: QueryStart): QueryEnd | undefined {
    const trace = this.#findTrace(start.request)
    if (trace === undefined) return undefined
    trace.queries ??= new QueryTrace()
    const query = trace.queries.begin(start, this.#capture, trace)
    return query && (result => query.finish(result))
  }

  isRecorded(request: Request): boolean {
    return this.#findTrace(request) !== undefined
  }
}
