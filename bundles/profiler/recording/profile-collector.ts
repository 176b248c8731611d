import type { Collector } from '../../../kernel/profiler-contract.ts'
import type { Pass } from './pass.ts'

/** A collector of the profiler's own: it sees the whole pass, masks what it tells, and may know facts of the process. */
export interface ProfileCollector extends Collector<Pass> {
  /** What is the same for all requests of the process; asked once, when the first profile is kept. */
  describeProcess?(): unknown
  /** Whether it also tells what comes after the response: then it is asked again, when there is any. */
  readonly tellsLate?: true
}
