import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Logger } from '../../../lib/log/logger.ts'
import type { Redactor } from '../../../lib/redact/redactor.ts'
import type { Signals } from '../../../lib/signals.ts'
import type { ProfileSummary } from '../profile/profile.ts'
import type { ProfileStorage } from '../store/profile-storage.ts'
import { createRecord } from './collect.ts'
import type { RecordingPolicy } from './recording-policy.ts'
import { type CollectedData, removeFrom, type Trace, withDescendants } from './trace.ts'

declare module '../../../lib/signals.ts' {
  interface SignalMap {
    'profile.saved': ProfileSummary
  }
}

/** What records are made and kept with. */
export interface RecordKeeperServices {
  readonly storage: ProfileStorage
  readonly policy: RecordingPolicy
  /** Asks the collectors about a trace. */
  readonly collect: (trace: Trace) => CollectedData
  /** Brings what was collected of a trace that is over up to date with what was noted since. */
  readonly collectLate: (trace: Trace) => void
  /** The facts of the process as JSON: the same text as long as nothing has changed. */
  readonly facts: () => string
  readonly redactor: Redactor
  readonly logger: Logger
  readonly signals: Signals
}

/** Milliseconds that somebody waits for a profile in the making, which a collector may hold up. */
const patience = 1000

/** Milliseconds that late news is gathered for, the first time; then twice as long each time. */
const lateDelay = 100

/** Work that goes on for ever would have its record written anew for ever; so often it is for 25 seconds. */
const amendmentLimit = 8

/** Keeps the records of traces that are over, each after those of its sub-requests, and adds what is learnt later. */
export class RecordKeeper {
  readonly #services: RecordKeeperServices
  readonly #awaited = new AwaitedTokens()
  /** Main requests that are over, and not kept yet. */
  readonly #ended: Trace[] = []
  readonly #toKeep: Trace[] = []

  constructor(services: RecordKeeperServices) {
    this.#services = services
  }

  /** The main requests that are over, and not kept yet. */
  get ended(): readonly Trace[] {
    return this.#ended
  }

  /** Whether the token belongs to a profile: one that is kept, or that somebody may ask for already. */
  knows(token: string): boolean {
    return this.#awaited.has(token) || this.#services.storage.has(token)
  }

  /** A response will name the token before its profile is kept, should it ever be. */
  expect(token: string): void {
    this.#awaited.add(token)
  }

  /** No profile of the token will be kept. */
  forget(token: string): void {
    this.#awaited.settle(token)
  }

  /** Collects what is known of a trace by now, in the place of what was. */
  collect(trace: Trace): CollectedData {
    trace.collected = this.#services.collect(trace)
    return trace.collected
  }

  /** Keeps a main request that is over, with its sub-requests; not at once. */
  keepSoon(main: Trace): void {
    this.#ended.push(main)
    this.#toKeep.push(main)
    if (this.#toKeep.length === 1) void this.#keepEnded()
  }

  /** Keeps a sub-request that nobody waits for, as it has ended when its main request was over. */
  async keepLate(trace: Trace): Promise<void> {
    await this.#save(trace)
    this.#amend(trace.parent)
  }

  /** Keeps a main request as it is, while the process ends. Those of the lineage have caused that. */
  keepCrashed(main: Trace, lineage: readonly Trace[]): void {
    if (!this.#services.policy.keeps(main)) return
    for (const trace of withDescendants(main)) {
      if (trace.outcome === 'unfinished' || lineage.includes(trace)) {
        trace.outcome = 'crashed'
        this.collect(trace)
      }
      this.#append(trace)
    }
  }

  /** What is noted when a request is over is gathered for a while, then added to its record. */
  readonly onLate = (trace: Trace): void => {
    if (trace.isAmending || trace.amendments === amendmentLimit) return
    trace.isAmending = true
    const amend = () => {
      trace.isAmending = false
      this.#services.collectLate(trace)
      this.#amend(trace)
    }
    // Nobody waits for it: a process that is about to end need not.
    setTimeout(amend, lateDelay * 2 ** trace.amendments++).unref()
  }

  /** Resolves when the profile of a token is kept, should it be in the making; after a second in any case. */
  whenKept(token: string): Promise<void> {
    return this.#awaited.wait(token, patience)
  }

  /** Resolves when everything that is over is kept; after a second in any case. */
  async whenIdle(): Promise<void> {
    const limit = performance.now() + patience
    while (this.#ended.length > 0 && performance.now() < limit) await nextTurn()
  }

  /**
   * Two turns of the event loop later: what else came in is answered first, and Node has told by then of the garbage
   * collector's runs.
   */
  async #keepEnded(): Promise<void> {
    await nextTurn()
    await nextTurn()
    for (const main of this.#toKeep.splice(0)) {
      const saving = this.#saveAll(main)
      if (saving === undefined) removeFrom(this.#ended, main)
      else void saving.then(() => removeFrom(this.#ended, main))
    }
  }

  /** Sub-requests are kept before their main request. A promise is only made where a collector is waited for. */
  #saveAll(main: Trace): Promise<void> | undefined {
    let saving: Promise<void> | undefined
    for (const trace of withDescendants(main)) {
      saving = saving === undefined ? this.#save(trace) : saving.then(() => this.#save(trace))
    }
    return saving
  }

  #save(trace: Trace): Promise<void> | undefined {
    const { policy } = this.#services
    const pending = policy.keeps(trace) ? this.#collected(trace).pending : undefined
    if (pending !== undefined) return pending.then(() => this.#keep(trace))
    this.#keep(trace)
    return undefined
  }

  /** What was collected while others were waited for, because the request has ended, counts. */
  #keep(trace: Trace): void {
    if (this.#services.policy.keeps(trace)) this.#append(trace)
    this.#awaited.settle(trace.token)
  }

  /** Keeps a profile anew, when it was kept: more is known of its trace now. */
  #amend(trace: Trace | undefined): void {
    if (trace?.isSaved) this.#append(trace)
  }

  #append(trace: Trace): void {
    const { facts, logger, redactor, signals, storage } = this.#services
    try {
      const record = createRecord(trace, this.#collected(trace), redactor)
      if (trace.isSaved) storage.amend(record, facts())
      else storage.append(record, facts())
      trace.isSaved = true
      signals.emit('profile.saved', record.summary)
    } catch (error) {
      // Nobody would catch it: it would end the process.
      logger.error('A profile could not be kept.', { exception: error })
    }
  }

  /** What is told of a sub-request is told when it ends, and kept together with its main request. */
  #collected(trace: Trace): CollectedData {
    return trace.collected ?? this.collect(trace)
  }
}

/** Tokens that responses name already, while their profiles are still being made. */
export class AwaitedTokens {
  readonly #waiting = new Map<string, (() => void)[]>()

  /** A profile of this token will be kept, or not. */
  add(token: string): void {
    this.#waiting.set(token, [])
  }

  has(token: string): boolean {
    return this.#waiting.has(token)
  }

  /** It was decided. */
  settle(token: string): void {
    const waiting = this.#waiting.get(token) ?? []
    this.#waiting.delete(token)
    for (const tell of waiting) tell()
  }

  /** Resolves when it is decided: at once when nothing is awaited, and after so many milliseconds in any case. */
  wait(token: string, limit: number): Promise<void> {
    return new Promise(resolve => {
      const waiting = this.#waiting.get(token)
      if (waiting === undefined) return resolve()
      const timer = setTimeout(resolve, limit)
      waiting.push(() => {
        clearTimeout(timer)
        resolve()
      })
    })
  }
}
