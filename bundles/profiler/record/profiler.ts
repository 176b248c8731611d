import { randomInt } from 'node:crypto'
import type { ResponseEnd } from '../../../kernel/events.ts'
import { guard } from '../../../lib/guard.ts'
import { isEventStream } from '../../../lib/http/event-stream.ts'
import type { Request } from '../../../lib/http/request.ts'
import { Response } from '../../../lib/http/response.ts'
import type { Logger } from '../../../lib/log/logger.ts'
import { nextTurn, readClock, startTimer, stopTimer } from '../../../lib/own-globals.ts'
import type { Redactor } from '../../../lib/redact/redactor.ts'
import type { Signals } from '../../../lib/signals.ts'
import type { Outcome, Profile } from '../profile/profile.ts'
import type { UnitType } from '../profile/units.ts'
import type { WaitingProfile } from '../store/base-profile-storage.ts'
import type { ProfileStorage } from '../store/profile-storage.ts'
import { type OwnOrigin, serializeProfile } from './collect.ts'
import type { RecordingPolicy } from './recording-policy.ts'
import {
  attachedTrace,
  attachTrace,
  type CollectedData,
  removeFrom,
  Trace,
  type WarmKinds,
  withAncestors,
  withDescendants,
} from './trace.ts'

/*
 * The way of a profile to the disk. Each step has one verb:
 *
 * - begin, finish, terminate: the trace of a request, which subjects fill (`request-recorder.ts` → Profiler)
 * - collect: the collectors make the data of the profile (Profiler → ProfileMaker)
 * - schedule, store: later, when other requests are answered, the profile as text (ProfileMaker)
 * - append: from now on, `find` and `search` know it (ProfileMaker → ProfileStorage)
 * - add: the profiles that wait, and the index in memory (BaseProfileStorage → queue)
 * - write: in groups (queue → segment, or Redis)
 * - settle: the place in the file replaces the text in memory (queue → index)
 *
 * Late work and errors of the page amend a profile: it is found, changed, and appended again.
 */

declare module '../../../lib/http/request.ts' {
  interface KnownAttributes {
    /** Six random hexadecimal digits on each recorded request. */
    _stopwatch_token: string
  }
}

interface ProfilerServices extends ProfileMakerServices {
  /** Called when the trace of a main request has begun. */
  readonly onBegin: (trace: Trace) => void
  /** Whether tokens have 12 digits instead of 6. */
  readonly hasLongTokens?: boolean
  /** Whether a main request is one for the profiler's own pages, which are not recorded. */
  readonly isForProfiler?: ((request: Request) => boolean) | undefined
}

/**
 * Called before a main request is traced, with its token and the number of other requests in
 * flight. If the request is sampled, returns a function that is called with its trace.
 */
export type SampleStart = (request: Request, token: string, others: number) => ((trace: Trace) => void) | undefined

interface ExchangeEnd extends ResponseEnd {
  /** `undefined` if the client has left before the response began. */
  readonly response: Response | undefined
}

/** The first main requests of a process load code that all share. */
const coldRequests = 3

/**
 * Milliseconds from an uncaught exception that the application takes to the exit that it may
 * cause: open requests are answered first.
 */
const exitLimit = 30_000

/**
 * Records requests, many at once: `begin` a trace, `finish` it when the request is handled, `terminate`
 * it when the response was sent. The `ProfileMaker` then stores the profiles of the traces.
 * `request-recorder.ts` makes these calls; listeners and watches add to the trace that `find` gives them.
 */
export class Profiler {
  readonly #services: ProfilerServices
  readonly #maker: ProfileMaker
  // A list instead of a set: see `removeFrom`.
  readonly #inFlight: Trace[] = []
  readonly #draw: () => string
  #startSample: SampleStart | undefined
  #handled = 0
  #warm: WarmKinds = new Map()
  /** The requests whose work has thrown the last uncaught exception, as long as no other request has begun. */
  #culprits: readonly Trace[] = []
  #thrownAt = 0

  constructor(services: ProfilerServices) {
    this.#services = services
    services.signals.on('files.changed', () => {
      this.#warm = new Map()
    })
    services.signals.on('server.draining', () => this.#storeCulprits())
    this.#maker = new ProfileMaker(services)
    this.#draw = services.hasLongTokens ? () => drawSixDigits() + drawSixDigits() : drawSixDigits
  }

  /** The main requests that are not stored yet: those in flight, and some that have just ended. */
  get unstored(): Iterable<Trace> {
    return [...this.#inFlight, ...this.#maker.ended]
  }

  /** Where profiles are recorded. */
  get origin(): OwnOrigin {
    return this.#services.origin
  }

  /** The trace of a request; `undefined` when it is not recorded. */
  find(request: Request | undefined): Trace | undefined {
    return request === undefined ? undefined : attachedTrace(request)
  }

  /** Whether a trace becomes a profile, as far as is known now. */
  keeps(trace: Trace): boolean {
    return this.#services.policy.keeps(trace)
  }

  /**
   * Resolves when the profile of a token is written, at once when none is expected, and after one second in any case.
   */
  whenStored(token: string): Promise<void> {
    return this.#maker.whenStored(token)
  }

  /** Resolves when every ended request is written, and after one second in any case. */
  whenIdle(): Promise<void> {
    return this.#maker.whenIdle()
  }

  /** Sets the function that may sample a main request; the returned function removes it. */
  sampleWith(startSample: SampleStart): () => void {
    this.#startSample = startSample
    return () => {
      this.#startSample = undefined
    }
  }

  /** Begins the trace of a request that is to be recorded; a sub-request is recorded if its parent is. */
  begin(request: Request, type: UnitType = 'request'): Trace | undefined {
    const { isForProfiler, logger, policy } = this.#services
    const parent = this.find(request.parent)
    const isWanted =
      request.parent === undefined ? !isForProfiler?.(request) && policy.wants(request) : parent !== undefined
    if (!isWanted) return undefined
    const token = drawToken(token => this.#maker.knows(token), this.#draw)
    if (token === undefined) {
      logger.warning('A request is not profiled: no free token was found.')
      return undefined
    }
    // Symfony's profiler marks each request in the same way. The request panel shows it; nothing reads it.
    request.attributes.set('_stopwatch_token', drawSixDigits())
    const isMain = request.parent === undefined
    // The sampling starts before the trace is created, so that the times of the trace do not include this start.
    const onTrace = isMain ? this.#startSample?.(request, token, this.#inFlight.length) : undefined
    const trace = new Trace(token, request, parent, type)
    trace.warm = this.#warm
    trace.isCold = this.#handled < coldRequests
    attachTrace(request, trace)
    this.#maker.expect(token)
    if (isMain) {
      trace.others = this.#inFlight.length
      trace.mostOthers = trace.others
      this.#culprits = []
      for (const other of this.#inFlight) other.mostOthers = Math.max(other.mostOthers, trace.others)
      this.#inFlight.push(trace)
      onTrace?.(trace)
      this.#services.onBegin(trace)
    }
    return trace
  }

  /**
   * Called when a request is handled. A sub-request is complete: it is collected now, while its response
   * exists. A stream of events may stay open for hours: its profile is stored now, and again at the end.
   */
  finish(trace: Trace): void {
    trace.duration = trace.elapsed()
    // What a sub-request does for the first time takes time of its main request, too.
    if (!takeWarmth(trace)) trace.isCold = trace.main.isCold = true
    if (trace.request.parent === undefined) {
      this.#handled++
      if (trace.response !== undefined && isEventStream(trace.response.headers)) void this.#maker.storeOpen(trace)
      return
    }
    trace.outcome = 'complete'
    this.#maker.collect(trace)
    const { main } = trace
    // Late work has made the sub-request: its main request is stored already.
    if (main.endedAt !== undefined) void this.#maker.storeLate(trace)
  }

  /**
   * Called when the response of a main request was sent, or cannot be sent. The trace is collected now, and its
   * profile is stored in the background.
   */
  terminate(trace: Trace, { isSent, response, sentBytes, streamError }: ExchangeEnd): void {
    removeFrom(this.#inFlight, trace)
    trace.response = response
    trace.sentBytes = sentBytes
    trace.outcome = isSent ? 'complete' : 'aborted'
    if (streamError !== undefined) {
      trace.outcome = 'stream-failed'
      trace.addThrown(streamError)
    }
    this.#end(trace)
  }

  /** The trace becomes no profile. */
  drop(trace: Trace): void {
    removeFrom(this.#inFlight, trace)
    this.#maker.forget(trace.token)
  }

  /**
   * Called when work that is no request has ended. Its profile is stored in the background, also
   * if a crash has stored it already.
   */
  end(trace: Trace, outcome: 'complete' | 'failed'): void {
    removeFrom(this.#inFlight, trace)
    if (this.#culprits.includes(trace)) this.#culprits = []
    trace.outcome = outcome
    trace.isStored = false
    this.#end(trace)
  }

  /** The profile of work as it is if the process ends now; `undefined` if it has none. The work goes on. */
  describeSoFar(trace: Trace, outcome: 'crashed' | 'failed'): WaitingProfile | undefined {
    return this.keeps(trace) ? this.#maker.describeSoFar(trace, outcome) : undefined
  }

  /** Stores a profile before it returns. */
  storeNow(profile: WaitingProfile): void {
    const { storage } = this.#services
    storage.append(profile, profile.facts)
    storage.flushNow()
  }

  #end(trace: Trace): void {
    trace.endedAt = trace.elapsed()
    trace.onLate = this.#maker.updateSoon
    // The collectors are most of the cost of a profile.
    if (this.keeps(trace)) this.#maker.collect(trace)
    const { response } = trace
    // The body of the response need not stay in memory until the profile is stored. That of a WebSocket has none.
    if (response != null && response.body !== null) trace.response = new Response(null, response)
    trace.page = undefined
    this.#maker.schedule(trace)
  }

  /** The request is not in flight any more, also if it could not be recorded. */
  abandon(trace: Trace): void {
    removeFrom(this.#inFlight, trace)
  }

  /**
   * Called for an uncaught exception or an unhandled rejection in the work of `culprit`, whose
   * response may have been sent. If the application does not take it, the process ends now: stores
   * all requests in flight before it returns. Never throws.
   */
  crash(error: unknown, culprit: Request | undefined, isTaken: boolean): void {
    this.#culprits = withAncestors(this.find(culprit))
    this.#thrownAt = readClock()
    for (const trace of this.#culprits) trace.addThrown(error)
    if (isTaken) return
    const mains = new Set([...this.#culprits.slice(-1), ...this.unstored])
    for (const main of mains) this.#maker.storeCrashed(main, this.#culprits)
    this.#services.storage.flushNow()
  }

  /**
   * Called when the process exits. Stores the requests that are not stored yet, also those in
   * flight, before it returns. Never throws.
   */
  exit(code: number): void {
    if (code !== 0) this.#storeCulprits()
    for (const main of this.unstored) if (!main.isStored) this.#maker.storeCrashed(main, [])
    this.#services.storage.flushNow()
  }

  /** The process ends soon after an uncaught exception: its request has ended it. */
  #storeCulprits(): void {
    const main = this.#culprits.at(-1)
    if (main !== undefined && readClock() - this.#thrownAt < exitLimit) this.#maker.storeCrashed(main, this.#culprits)
    this.#culprits = []
  }
}

/** Whether a handled request began when its kind was warm. Its kind is warm from now on. */
function takeWarmth({ controller, request, start, warm }: Trace): boolean {
  const kind = (request.parent === undefined ? request.attributes.get('_route') : controller) ?? ''
  const since = warm?.get(kind)
  if (since === undefined) warm?.set(kind, readClock())
  return since !== undefined && since <= start
}

const drawLimit = 16

/** Draws a free token, by default of six hexadecimal digits; `undefined` after 16 taken tokens in a row. */
export function drawToken(isTaken: (token: string) => boolean, draw: () => string = drawSixDigits): string | undefined {
  for (let drawn = 0; drawn < drawLimit; drawn++) {
    const token = draw()
    if (!isTaken(token)) return token
  }
  return undefined
}

/** `randomInt` draws its random bytes in bulk: 0.1 µs, where three bytes of `randomBytes` take 2 µs. */
function drawSixDigits(): string {
  return randomInt(0x1000000).toString(16).padStart(6, '0')
}

/** The objects and functions that the maker calls. */
interface ProfileMakerServices {
  readonly storage: ProfileStorage
  readonly policy: RecordingPolicy
  /** Runs all collectors on a trace. */
  readonly collect: (trace: Trace) => CollectedData
  /** Runs the collectors of late work once more, on a trace whose response was sent. */
  readonly collectLate: (trace: Trace) => void
  /** Completes the summary of a trace that is stored for the first time. */
  readonly settle: (trace: Trace) => void
  /** The data of the collectors about the process, as JSON: the same text until templates are edited. */
  readonly facts: () => string
  /** Runs what serializes the profile of a trace. Meanwhile the secrets in its path are masked. */
  readonly serialize: <result>(trace: Trace, run: () => result) => result
  /** The program and the machine of the process. */
  readonly origin: OwnOrigin
  readonly redactor: Redactor
  readonly logger: Logger
  readonly signals: Signals
}

/** Milliseconds that a caller waits at most for a profile. A slow collector delays its profile. */
const waitLimit = 1000

/** Milliseconds between late work and its update of the profile; doubled after each update. */
const updateDelay = 100

/** Work that never ends would update its profile forever. With the growing delay this covers 25 seconds. */
const updateLimit = 8

/**
 * Makes profiles of traces: `collect` runs the collectors on a trace, `schedule` takes an ended request with its
 * sub-requests, and `#store` appends each profile to the store, each sub-request before its parent. `#update` changes a
 * stored profile after late work.
 */
class ProfileMaker {
  readonly #services: ProfileMakerServices
  readonly #pending = new PendingTokens()
  /** Main requests that have ended and are not stored yet. */
  readonly #ended: Trace[] = []
  /** Those of them that are not being stored yet. */
  readonly #scheduled: Trace[] = []

  constructor(services: ProfileMakerServices) {
    this.#services = services
  }

  /** The main requests that have ended and are not stored yet. */
  get ended(): readonly Trace[] {
    return this.#ended
  }

  /** Whether a token is taken: by a profile in the store, or by one that is not stored yet. */
  knows(token: string): boolean {
    return this.#pending.has(token) || this.#services.storage.has(token)
  }

  /** Announces a token: a response names it before its profile is stored. */
  expect(token: string): void {
    this.#pending.add(token)
  }

  /** A token will have no profile. */
  forget(token: string): void {
    this.#pending.settle(token)
  }

  /** Runs the collectors on a trace in its present state, and replaces the data that was collected before. */
  collect(trace: Trace): CollectedData {
    trace.collected = this.#services.collect(trace)
    return trace.collected
  }

  /**
   * Stores an ended main request with its sub-requests two turns of the event loop later, or more: other
   * requests are answered first, and by then Node has reported the runs of the garbage collector.
   */
  schedule(main: Trace): void {
    this.#ended.push(main)
    this.#scheduled.push(main)
    if (this.#scheduled.length === 1) void this.#storeScheduled()
  }

  /** Stores a main request and its sub-requests while the stream of the response is still open. */
  readonly storeOpen = guard('a stream of events', async (main: Trace): Promise<void> => {
    // The response is sent first.
    await nextTurn()
    for (const trace of withDescendants(main)) {
      await this.#collected(trace).pending
      // At its end, it is collected and stored again.
      if (main.outcome === 'unfinished') this.#store(trace)
    }
  })

  /** Stores a sub-request that ended after its main request, and updates the profile of its parent. */
  readonly storeLate = guard('a late sub-request', async (trace: Trace): Promise<void> => {
    await this.#storeCollected(trace)
    void this.#update(trace.parent)
  })

  /** Stores a main request at once, before the process ends. The requests of `lineage` caused the crash. */
  readonly storeCrashed = guard('an unfinished request', (main: Trace, lineage: readonly Trace[]): void => {
    if (!this.#services.policy.keeps(main)) return
    for (const trace of withDescendants(main)) {
      if (trace.outcome === 'unfinished' || lineage.includes(trace)) {
        trace.outcome = 'crashed'
        this.collect(trace)
      }
      this.#store(trace)
    }
  })

  /** Makes the profile of a trace that goes on, with an outcome that it may have soon. */
  describeSoFar(trace: Trace, outcome: Outcome): WaitingProfile {
    const { facts, origin, redactor, serialize } = this.#services
    trace.outcome = outcome
    const collected = this.collect(trace)
    this.#services.settle(trace)
    const serialized = serialize(trace, () => serializeProfile(trace, collected, redactor, origin))
    trace.outcome = 'unfinished'
    trace.collected = undefined
    return { ...serialized, facts: facts() }
  }

  /** Schedules an update of a profile after late work. Updates are gathered for a while. */
  readonly updateSoon = guard('late work', (trace: Trace): void => {
    if (trace.hasUpdate || trace.updates === updateLimit) return
    trace.hasUpdate = true
    // The timer is unref'd: a process that ends does not wait for it.
    startTimer(this.#updateLate, updateDelay * 2 ** trace.updates++, trace).unref()
  })

  readonly #updateLate = guard('late work', (trace: Trace): void => {
    trace.hasUpdate = false
    this.#services.collectLate(trace)
    void this.#update(trace)
  })

  /**
   * Resolves when the profile of a token is stored, at once when none is expected, and after one second in any case.
   */
  whenStored(token: string): Promise<void> {
    return this.#pending.wait(token, waitLimit)
  }

  /** Resolves when every ended request is stored, and after one second in any case. */
  async whenIdle(): Promise<void> {
    const limit = readClock() + waitLimit
    while (this.#ended.length > 0 && readClock() < limit) await nextTurn()
  }

  readonly #storeScheduled = guard('ended requests', async (): Promise<void> => {
    await nextTurn()
    // Those that end from now on get turns of their own.
    const ended = this.#scheduled.splice(0)
    await nextTurn()
    await nextTurn()
    for (const main of ended) void this.#storeEnded(main)
  })

  readonly #storeEnded = guard('an ended request', (main: Trace): Promise<void> | undefined => {
    let storing: Promise<void> | undefined
    for (const trace of withDescendants(main)) {
      storing = storing === undefined ? this.#storeCollected(trace) : storing.then(() => this.#storeCollected(trace))
    }
    if (storing !== undefined) return storing.then(() => removeFrom(this.#ended, main))
    removeFrom(this.#ended, main)
    return undefined
  })

  /** Stores a trace when its collectors are done. Returns a promise only if one of them is still at work. */
  #storeCollected(trace: Trace): Promise<void> | undefined {
    const pending = this.#services.policy.keeps(trace) ? this.#collected(trace).pending : undefined
    if (pending !== undefined) return pending.then(() => this.#store(trace))
    this.#store(trace)
    return undefined
  }

  /** Asks the policy again: the request may have failed while a collector was at work. */
  #store(trace: Trace): void {
    this.#append(trace)
    this.#pending.settle(trace.token)
  }

  readonly #append = guard('a profile', (trace: Trace): void => {
    const { policy, facts, origin, redactor, serialize, signals, storage } = this.#services
    if (!policy.keeps(trace)) return
    const collected = this.#collected(trace)
    this.#services.settle(trace)
    const serialized = serialize(trace, () => serializeProfile(trace, collected, redactor, origin))
    storage.append(serialized, facts())
    trace.isStored = true
    signals.emit('profile.saved', serialized.summary)
  })

  /** Stores a newer version of a stored profile. The errors that its page has reported since stay in it. */
  readonly #update = guard('a changed profile', async (trace: Trace | undefined): Promise<void> => {
    if (!trace?.isStored) return
    const { origin, redactor, serialize, signals, storage } = this.#services
    const change = (stored: Profile) => {
      const collected = this.#collected(trace)
      const serialized = serialize(trace, () => serializeProfile(trace, collected, redactor, origin, stored))
      signals.emit('profile.saved', serialized.summary)
      return serialized
    }
    await storage.amend(trace.token, change)
  })

  /** A sub-request is collected when it ends, and stored together with its main request. */
  #collected(trace: Trace): CollectedData {
    return trace.collected ?? this.collect(trace)
  }
}

/** Tokens of profiles that are not stored yet. Responses may name them already. */
export class PendingTokens {
  readonly #waiting = new Map<string, (() => void)[]>()

  add(token: string): void {
    this.#waiting.set(token, [])
  }

  has(token: string): boolean {
    return this.#waiting.has(token)
  }

  /** Resolves the waiting callers: the profile of the token is stored, or never will be. */
  settle(token: string): void {
    const waiting = this.#waiting.get(token) ?? []
    this.#waiting.delete(token)
    for (const resolve of waiting) resolve()
  }

  /** Resolves when the token is settled, at once when it is not pending, and after `limit` milliseconds in any case. */
  wait(token: string, limit: number): Promise<void> {
    return new Promise(resolve => {
      const waiting = this.#waiting.get(token)
      if (waiting === undefined) return resolve()
      const timer = startTimer(resolve, limit)
      waiting.push(() => {
        stopTimer(timer)
        resolve()
      })
    })
  }
}
