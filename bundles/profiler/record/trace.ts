import type { RequestType } from '../../../kernel/events.ts'
import type { CollectedRequest } from '../../../kernel/profiler-contract.ts'
import type { Request } from '../../../lib/http/request.ts'
import type { Response } from '../../../lib/http/response.ts'
import type { NearRoute } from '../../../lib/routing/nearest-routes.ts'
import type { SessionMethod } from '../../../lib/session/session.ts'
import type { StackFrame } from '../../../lib/stack/stack-frames.ts'
import type { Outcome, ProfileSummary } from '../profile/profile.ts'
import type { CallTrace } from './call-trace.ts'
import type { CpuRecording } from './cpu/cpu-sampler.ts'
import { EventTrace } from './event-trace.ts'
import { LogTrace } from './log-trace.ts'
import type { RenderTrace } from './render-trace.ts'
import type { UsageTrace } from './usage-trace.ts'

/** Whoever catches one error and throws another has a handful of them. */
const thrownLimit = 10

/** A use of a session, while its request is recorded. */
export interface NotedSessionUse {
  readonly method: SessionMethod
  /** Milliseconds since the start of the request. */
  readonly at: number
  /** Where, innermost call first. */
  readonly frames: readonly StackFrame[]
}

/** One request while it is recorded: what tracers and listeners note of it until its profile is made. */
export class Trace implements CollectedRequest {
  readonly token: string
  readonly request: Request
  readonly type: RequestType
  readonly parent: Trace | undefined
  /** Its sub-requests, in the order in which they began. */
  readonly children: Trace[] = []
  /** When it began, in milliseconds since 1970. */
  readonly time: number = Date.now()
  /** When it began, by `performance.now()`; all times of its notes are relative to it. */
  readonly start: number = performance.now()
  /** Milliseconds from its start; `undefined` while it is handled. */
  duration: number | undefined
  /** Milliseconds until its response was sent, or was found never to be; only of a main request. */
  sentAt: number | undefined
  outcome: Outcome = 'unfinished'
  response: Response | undefined
  /** The name of the controller. */
  controller: string | undefined
  /** What was thrown while it was handled, in order and each once; it may be anything, `undefined` as well. */
  readonly thrown: unknown[] = []
  /** The errors of listeners that were skipped: those that failed while another error was answered. */
  readonly skipped: unknown[] = []
  /** Whether its profile was kept; what is learnt later amends it. */
  isSaved = false
  /**
   * When its response was sent, or was found never to be, in milliseconds from its start: nobody waits any more for what is
   * still to come. Of a sub-request, its main request says it.
   */
  overAt: number | undefined
  /** Told of what is noted when it is over; only of a main request. */
  onLate: ((trace: Trace) => void) | undefined
  /** How often its record was amended by that. */
  amendments = 0
  /** Whether its record is about to be. */
  isAmending = false
  /** The routes that came nearest where none was found: the error page and the record both tell of them. */
  nearest: readonly NearRoute[] | undefined
  /** What collectors have told of it, as soon as they were asked. */
  collected: CollectedData | undefined
  /** What was dispatched, and who has heard of it. */
  readonly events: EventTrace
  /** What was logged. */
  readonly logs: LogTrace = new LogTrace(this.start)
  /** The templates that were rendered; `undefined` when there were none. */
  renders: RenderTrace | undefined
  /** The outgoing HTTP requests; `undefined` when there were none. */
  calls: CallTrace | undefined
  /** What the process had used when this began; only of a main request. */
  usage: UsageTrace | undefined
  /** What the CPU does meanwhile, when somebody has asked for it. */
  cpu: CpuRecording | undefined
  /** The first uses of the session on behalf of this very request. */
  readonly sessionUses: NotedSessionUse[] = []

  constructor(token: string, request: Request, type: RequestType, parent: Trace | undefined) {
    this.token = token
    this.request = request
    this.type = type
    this.parent = parent
    const actor = { token: this.main.token, start: this.start }
    this.events = new EventTrace(actor, request.attributes, parent?.events.beginSubRequest(token))
    parent?.children.push(this)
  }

  /** The main request that it belongs to. */
  get main(): Trace {
    return this.parent === undefined ? this : this.parent.main
  }

  /** What was thrown last. */
  get error(): unknown {
    return this.thrown.at(-1)
  }

  /** Takes note of something that was thrown, unless it is known. */
  noteThrown(error: unknown): void {
    if (this.thrown.length < thrownLimit && !this.thrown.includes(error)) this.thrown.push(error)
  }

  /** Something was noted of it that is in no record yet, should there be one. */
  touch(): void {
    this.main.onLate?.(this)
  }

  /** Milliseconds since its start. */
  elapsed(): number {
    return performance.now() - this.start
  }
}

/**
 * Where a request carries its trace. A WeakMap of requests would do the same, but its values survive the garbage collector's
 * quick rounds, each with all that is noted on it: that costs as much as all recording together.
 */
const traceKey: unique symbol = Symbol('trace')

interface Recorded {
  [traceKey]?: Trace
}

/** Lets a request be followed from now on. */
export function attachTrace(request: Request, trace: Trace): void {
  const recorded: Request & Recorded = request
  recorded[traceKey] = trace
}

/** Lets a request be followed no more: its events, logs and calls belong to no profile. */
export function detachTrace(request: Request): void {
  const recorded: Request & Recorded = request
  delete recorded[traceKey]
}

/** The trace of a request, when it is recorded. */
export function findTrace(request: Request): Trace | undefined {
  const recorded: Request & Recorded = request
  return recorded[traceKey]
}

/**
 * Removes a trace, wherever it stands. V8's sets leave tables behind that know their successors: one that has got old keeps
 * all the later ones, with every trace in them, from the garbage collector's quick rounds, which doubles what those cost.
 */
export function removeFrom(traces: Trace[], trace: Trace): void {
  const at = traces.indexOf(trace)
  if (at !== -1) traces.splice(at, 1)
}

/** A trace, its parent, and so on up to its main request. */
export function withAncestors(trace: Trace | undefined): Trace[] {
  return trace === undefined ? [] : [trace, ...withAncestors(trace.parent)]
}

/** Children before their parents: whoever reads backwards sees a parent first. */
export function withDescendants(trace: Trace): Trace[] {
  return trace.children.length === 0 ? [trace] : [...trace.children.flatMap(withDescendants), trace]
}

/** What collectors have told of a trace; what some of them are still about to tell is there when `pending` resolves. */
export interface CollectedData {
  readonly summary: ProfileSummary
  readonly data: Record<string, unknown>
  /** The messages of those that failed, by their names. */
  readonly failures: Record<string, string>
  readonly pending: Promise<unknown> | undefined
}
