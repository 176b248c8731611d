import type { QueryEnd, QueryObserver, QueryStart } from '../../../kernel/queries.ts'
import type { Request } from '../../../lib/http/request.ts'
import type { Callers } from '../../../lib/stack/callers.ts'
import { QueryTrace } from './query-trace.ts'
import type { Trace } from './trace.ts'

/** The parts that the recorder works with. */
export interface QueryRecorderServices {
  /** The trace of a request; of the current request by default. */
  readonly findTrace: (request?: Request) => Trace | undefined
  readonly callers: Callers
}

/** Records each query on the trace of its request, whichever source reports it. */
export class QueryRecorder implements QueryObserver {
  readonly #findTrace: QueryRecorderServices['findTrace']
  readonly #findCaller: () => ReturnType<Callers['find']>

  constructor({ callers, findTrace }: QueryRecorderServices) {
    this.#findTrace = findTrace
    this.#findCaller = () => callers.find()
  }

  begin(start: QueryStart): QueryEnd | undefined {
    const trace = this.#findTrace(start.request)
    if (trace === undefined) return undefined
    trace.queries ??= new QueryTrace()
    const query = trace.queries.begin(start, start.findCaller ?? this.#findCaller, trace)
    return query && (result => query.finish(result))
  }

  isRecorded(request: Request): boolean {
    return this.#findTrace(request) !== undefined
  }
}
