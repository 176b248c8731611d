import type { Foundation } from '../../../kernel/bundle.ts'
import type { Declaring } from '../../../kernel/controller.ts'
import type { SignalMap } from '../../../lib/signals.ts'
import type { View } from '../../../lib/view/view.ts'
import type { FindRunning } from './code-places.ts'
import type { ProfileCollector } from './collect.ts'
import type { ContentCopier } from './copy.ts'
import type { Profiler } from './profiler.ts'
import type { FindTrace, Trace } from './trace.ts'

/** What subjects use of the process. */
export type RecordedProcess = Pick<
  Foundation,
  | 'bundles'
  | 'collectors'
  | 'config'
  | 'context'
  | 'debugGate'
  | 'directory'
  | 'dispatcher'
  | 'logger'
  | 'queries'
  | 'redactor'
  | 'reservedCollectors'
  | 'settings'
  | 'signals'
> & {
  /** Finds the latest edits when the first profile is written; absent if signals report them. */
  readonly findEdits?: (() => SignalMap['process.restarted']['edits']) | undefined
}

/** What subjects use of an application. One without a kernel declares nothing. */
export type RecordedApplication = RecordedProcess & Declaring

/**
 * What a subject records, in the order in which its functions are called. They are called once for each application.
 * A function that starts to observe returns the functions that stop it. `subjects/recorded.ts` lists the subjects.
 */
export interface RecordedSubject {
  /**
   * Called when the process starts: for what no request starts, and for what bundles log or print
   * while they are registered.
   */
  observeProcess?(process: RecordedProcess, services: ProcessServices): readonly Stop[]
  /** Returns a view that renders as this one does, and records it. */
  traceView?(view: View, findTrace: FindTrace): View
  /**
   * Creates its collectors: they make the parts of a profile, counts of its summary, and entries
   * of the header `server-timing`. The names of the parts are those of `subjects/schemas.ts`.
   */
  createCollectors(app: RecordedApplication, services: CollectorServices): readonly ProfileCollector[]
  /** Called when the bundle is registered: for what requests do. */
  observeRequests?(app: RecordedApplication, services: RequestServices): readonly Stop[]
  /** Called when the application has started: for what libraries publish. Earlier, it would record the start. */
  observeLibraries?(app: RecordedApplication, services: RequestServices): readonly Stop[]
}

/** Ends an observation. */
export type Stop = () => void

/** The services for observations of the process. */
interface ProcessServices {
  readonly profiler: Profiler
  readonly findTrace: FindTrace
  /** Adds a function that is called when the trace of a main request has begun. */
  readonly onBegin: (listener: (trace: Trace) => void) => void
}

/** The services for collectors. */
export interface CollectorServices {
  readonly contents: ContentCopier
}

/** The services for observations of requests. */
export interface RequestServices {
  readonly profiler: Profiler
  readonly findTrace: FindTrace
  readonly findRunning: FindRunning
}
