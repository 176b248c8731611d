import type { CollectedRequest } from '../../../kernel/contracts/collectors.ts'
import type { Request } from '../../../lib/http/request.ts'
import type { Body, Response } from '../../../lib/http/response.ts'
import { readClock, readTime } from '../../../lib/own-globals.ts'
import type { NearRoute } from '../../../lib/routing/nearest-routes.ts'
import type { Outcome, ProfileSummary } from '../profile/profile.ts'
import type { UnitType } from '../profile/units.ts'
import { EventTrace } from './event-trace.ts'

/**
 * The most errors of one request that are recorded. If listeners replace an error, each of its
 * replacements is recorded, too.
 */
const thrownLimit = 10

/** Microseconds: a shorter time is that of the system. */
const leastDrain = 1000

const drainLimit = 100

/**
 * The routes of main requests and the controllers of sub-requests that were handled, each with the time by
 * `performance.now()` when that was done first. An edit of files starts a new map.
 */
export type WarmKinds = Map<string, number>

/** The body of a response. */
interface NotedPage {
  readonly body: Body
  readonly encoding: string
  /** Bytes of the whole body, if `body` may be only its beginning. */
  readonly whole?: number
  /** Of another server: whether the body was written in pieces. */
  readonly isStreamed?: boolean
  /** The fields that were sent after it. */
  readonly endFields?: readonly (readonly [name: string, value: string])[]
}

/** The data that is recorded in memory while a request runs. The profile is made of it. */
export class Trace implements CollectedRequest {
  readonly token: string
  readonly request: Request
  readonly parent: Trace | undefined
  readonly type: UnitType
  /** Its sub-requests, in the order in which they began. */
  readonly children: Trace[] = []
  /** When the request began, in milliseconds since 1970. */
  readonly time: number = readTime()
  /** When the request began, by `performance.now()`. All recorded times are relative to this time. */
  readonly start: number = readClock()
  /** Milliseconds from the start of the request; `undefined` while it is handled. */
  duration: number | undefined
  /** Whether code and caches were cold. */
  isCold = false
  /** The kinds of requests that are warm since the last edit of a file; `undefined` when they are not known. */
  warm: WarmKinds | undefined
  /** Milliseconds until the response was sent or the connection was lost; only of a main request. */
  sentAt: number | undefined
  /** Bytes of the response's stream that were sent; `undefined` if the response was no stream. */
  sentBytes: number | undefined
  outcome: Outcome = 'unfinished'
  /** When the response waited for its client to read: starts and durations in microseconds. */
  readonly drains: [number, number][] = []
  response: Response | undefined
  /** The body of the response before the toolbar and the compression; `undefined` when it was not noted. */
  page: NotedPage | undefined
  /** The name of the controller. */
  controller: string | undefined
  /** The values that were thrown, in order and each once. A value may have any type, also `undefined`. */
  readonly thrown: unknown[] = []
  /** Milliseconds until the first of them reached the kernel, the framework or the end of the work. */
  failedAt: number | undefined
  /** How many of them were thrown after the end of the request. */
  lateErrors = 0
  /** The errors of listeners that were skipped: those that failed while another error was answered. */
  readonly skipped: unknown[] = []
  /** Whether its profile was stored; later work updates it. */
  isStored = false
  /**
   * Milliseconds until `kernel.terminate`, or the last function of another framework, was over;
   * later work is late work. Only of a main request.
   */
  endedAt: number | undefined
  /**
   * Milliseconds until the first recorded moment after the client had left, while the request was
   * handled or answered. If the response was sent, it is no fact. Only of a main request.
   */
  leftAt: number | undefined
  /** Called for each recorded piece of late work; only of a main request. */
  onLate: ((trace: Trace) => void) | undefined
  /** How often late work updated its profile. */
  updates = 0
  /** Whether an update is scheduled. */
  hasUpdate = false
  /** The nearest routes when no route matched; the error page and the profile show them. */
  nearest: readonly NearRoute[] | undefined
  /** The data of the collectors; `undefined` before they have run. */
  collected: CollectedData | undefined
  /** The dispatches, and the listeners that they called. */
  readonly events: EventTrace
  /** The number of other main requests in flight at the start; only of a main request. */
  others = 0
  /** The greatest number of others in flight, until the request ended. */
  mostOthers = 0
  /** The parts that subjects fill: see {@link TracePart}. */
  readonly parts: (object | undefined)[] = []

  /** Of work that is no request, `request` only carries the trace: nothing of it is recorded. */
  constructor(token: string, request: Request, parent: Trace | undefined, type: UnitType = 'request') {
    this.token = token
    this.request = request
    this.parent = parent
    this.type = type
    const actor = { token: this.main.token, start: this.start }
    this.events = new EventTrace(actor, request.attributes, parent?.events.beginSubRequest(token))
    parent?.children.push(this)
  }

  /** The trace of the main request. */
  get main(): Trace {
    return this.parent === undefined ? this : this.parent.main
  }

  /** The value that was thrown last. */
  get error(): unknown {
    return this.thrown.at(-1)
  }

  /**
   * Records a thrown value, once. After the end of the request it is late work: but what ends
   * because its client has left mostly fails.
   */
  addThrown(error: unknown, isLate = this.main.endedAt !== undefined && this.main.outcome !== 'aborted'): void {
    if (this.thrown.length === thrownLimit || this.thrown.includes(error)) return
    this.thrown.push(error)
    this.failedAt ??= this.elapsed()
    if (!isLate) return
    this.lateErrors++
    this.touch()
  }

  /** What was late work belongs to the request. */
  extend(): void {
    if (this.endedAt === undefined) return
    this.endedAt = this.elapsed()
    if (this.updates > 0) this.touch()
  }

  /** Since a time, by `performance.now()`, the response has waited for its client to read. */
  noteDrain(since: number): void {
    const start = Math.round((since - this.start) * 1000)
    const end = Math.round(this.elapsed() * 1000)
    const last = this.drains.at(-1)
    if (end - start < leastDrain) return
    if (last !== undefined && start - last[0] - last[1] < leastDrain) last[1] = end - last[0]
    else if (this.drains.length < drainLimit) this.drains.push([start, end - start])
  }

  /** Reports a recorded piece of work. After the end of the request it is late work, which updates the profile. */
  touch(): void {
    this.main.onLate?.(this)
  }

  /**
   * Milliseconds since its start. Only the request's own work calls it: the call is recorded as
   * activity of the request.
   */
  elapsed(): number {
    const now = readClock()
    this.events.note(now)
    const { main } = this
    if (main.leftAt === undefined && this.request.hasClientLeft) main.leftAt = now - main.start
    return now - this.start
  }
}

/** The part of a trace that a subject fills while the request runs. It is created when there is something to record. */
export class TracePart<Part extends object> {
  static #count = 0
  /** Its place in the list of the parts of a trace. */
  readonly #index = TracePart.#count++
  readonly #create: (trace: Trace) => Part

  constructor(create: (trace: Trace) => Part) {
    this.#create = create
  }

  /** The part of a trace; `undefined` if nothing was recorded. */
  find({ parts }: Trace): Part | undefined {
    // Only this object writes the entry.
    return parts[this.#index] as Part | undefined
  }

  /** The part of a trace, which is created if nothing was recorded before. */
  of(trace: Trace): Part {
    const known = this.find(trace)
    if (known !== undefined) return known
    const part = this.#create(trace)
    trace.parts[this.#index] = part
    return part
  }
}

/** Finds the trace of a request, by default of the current one; `undefined` when it is not recorded. */
export type FindTrace = (request?: Request) => Trace | undefined

/** The trace that a piece of work belongs to. */
export type WorkOwner = Pick<Trace, 'elapsed' | 'touch'>

/**
 * A request holds its trace under this key. The values of a WeakMap would survive minor garbage collections, each with
 * all of its recorded data: that costs as much as all recording together.
 */
const traceKey: unique symbol = Symbol('trace')

interface Recorded {
  [traceKey]?: Trace
}

/** Starts the recording of a request. */
export function attachTrace(request: Request, trace: Trace): void {
  const recorded: Request & Recorded = request
  recorded[traceKey] = trace
}

/** The trace of a request; `undefined` when it is not recorded. */
export function attachedTrace(request: Request): Trace | undefined {
  const recorded: Request & Recorded = request
  return recorded[traceKey]
}

/**
 * Removes a trace from a list. The lists are not sets: V8 replaces the table of a set as the set changes, and each old
 * table refers to the next one. An old table thus keeps all later traces alive, which doubles the cost of minor garbage
 * collections.
 */
export function removeFrom(traces: Trace[], trace: Trace): void {
  const at = traces.indexOf(trace)
  if (at !== -1) traces.splice(at, 1)
}

/** A trace, its parent, and so on up to its main request. */
export function withAncestors(trace: Trace | undefined): Trace[] {
  return trace === undefined ? [] : [trace, ...withAncestors(trace.parent)]
}

/** A trace and its sub-requests, each child before its parent. */
export function withDescendants(trace: Trace): Trace[] {
  return trace.children.length === 0 ? [trace] : [...trace.children.flatMap(withDescendants), trace]
}

/** The data that collectors returned for a trace. It is complete when `pending` resolves. */
export interface CollectedData {
  readonly summary: ProfileSummary
  readonly data: Record<string, unknown>
  /** The messages of the collectors that failed, by their names. */
  readonly failures: Record<string, string>
  readonly pending: Promise<unknown> | undefined
}
