import { setImmediate as nextTurn } from 'node:timers/promises'
import { RequestType } from '../../../kernel/request-type.ts'
import type { Request } from '../../../lib/http/request.ts'
import { Response } from '../../../lib/http/response.ts'
import type { Logger } from '../../../lib/log/logger.ts'
import type { Redactor } from '../../../lib/redact/redactor.ts'
import type { Signals } from '../../../lib/signals.ts'
import type { CpuRecording } from '../cpu/cpu-recording.ts'
import type { ProfileSummary } from '../profile.ts'
import { replayAttribute } from '../replay/replay-mark.ts'
import type { ProfileStorage } from '../store/profile-storage.ts'
import { AwaitedTokens } from './awaited-tokens.ts'
import type { CollectedData } from './collected-data.ts'
import { createRecord } from './create-record.ts'
import { Pass } from './pass.ts'
import { attachPass, findPass } from './passes.ts'
import type { RecordingPolicy } from './recording-policy.ts'
import { drawSixDigits, drawToken } from './tokens.ts'
import { startUsage } from './usage-trace.ts'

declare module '../../../lib/signals.ts' {
  interface SignalMap {
    'profile.saved': ProfileSummary
  }
}

/** What a profiler works with. */
export interface ProfilerServices {
  readonly storage: ProfileStorage
  readonly policy: RecordingPolicy
  /** Asks the collectors about a pass. */
  readonly collect: (pass: Pass) => CollectedData
  /** Brings what was collected of a pass that is over up to date with what was noted since. */
  readonly collectLate: (pass: Pass) => void
  /** Begins to watch the event loop, as long as requests are in flight. */
  readonly watchLoop: () => void
  /** The facts of the process as JSON: the same text as long as nothing has changed. */
  readonly facts: () => string
  readonly redactor: Redactor
  readonly logger: Logger
  readonly signals: Signals
}

/** Looks at a main request before its pass begins, given its token and how many others are in flight; may sample it. */
export type Inspection = (request: Request, token: string, others: number) => CpuRecording | undefined

/** Milliseconds that somebody waits for a profile in the making, which a collector may hold up. */
const patience = 1000

/** Milliseconds that late news is gathered for, the first time; then twice as long each time. */
const lateDelay = 100

/** Work that goes on for ever would have its record written anew for ever; so often it is for 25 seconds. */
const amendmentLimit = 8

/** Makes a profile of each kernel pass that its policy wants, many at once: what is noted of a request lives on its pass. */
export class Profiler {
  readonly #services: ProfilerServices
  // Lists, where a set would be expected: see `removeFrom`.
  readonly #inFlight: Pass[] = []
  readonly #awaited = new AwaitedTokens()
  /** Main requests that are over, and not kept yet. */
  readonly #ended: Pass[] = []
  #toKeep: Pass[] = []
  #inspection: Inspection | undefined

  constructor(services: ProfilerServices) {
    this.#services = services
  }

  /** The main requests that are not kept yet: those that are handled now, and some that have just ended. */
  get open(): Iterable<Pass> {
    return [...this.#inFlight, ...this.#ended]
  }

  /** The pass of a request, when it is recorded. */
  find(request: Request | undefined): Pass | undefined {
    return request === undefined ? undefined : findPass(request)
  }

  /** Whether the pass, as far as is known, becomes a profile. */
  keeps(pass: Pass): boolean {
    const main = pass.main
    if (!main.isRecorded || !this.#services.policy.onlyExceptions) return main.isRecorded
    return main.thrown.length > 0 || main.request.attributes.has(replayAttribute)
  }

  /** Has each main request that is recorded looked at, by nobody else meanwhile; returns what ends that. */
  inspect(inspection: Inspection): () => void {
    this.#inspection = inspection
    return () => {
      this.#inspection = undefined
    }
  }

  /** Begins to record a request; a sub-request is recorded when its parent is. */
  begin(request: Request, type: RequestType): Pass | undefined {
    const { logger, policy, storage } = this.#services
    const parent = this.find(request.parent)
    const isWanted = request.parent === undefined ? policy.wants(request) : parent?.main.isRecorded === true
    if (!isWanted) return undefined
    const token = drawToken(token => this.#awaited.has(token) || storage.has(token))
    if (token === undefined) {
      logger.warning('A request is not profiled: no free token was found.')
      return undefined
    }
    // As Symfony marks each of its passes; nothing depends on it.
    request.attributes.set('_stopwatch_token', drawSixDigits())
    const isMain = type === RequestType.Main
    // Before the pass: its times are those of the request alone.
    const cpu = isMain ? this.#inspection?.(request, token, this.#inFlight.length) : undefined
    const pass = new Pass(token, request, type, parent)
    attachPass(request, pass)
    this.#awaited.add(token)
    if (isMain) {
      pass.cpu = cpu
      pass.usage = startUsage(this.#inFlight)
      this.#inFlight.push(pass)
      this.#services.watchLoop()
    }
    return pass
  }

  /** It leaves no record, and is none of those in flight: a page of the profiler itself may stay open for hours. */
  dismiss(pass: Pass): void {
    pass.isRecorded = false
    removeFrom(this.#inFlight, pass)
  }

  /** The request is handled. Of a sub-request it is collected now what its response is like. */
  finish(pass: Pass): void {
    pass.duration = pass.elapsed()
    if (pass.type === RequestType.Main) return
    pass.outcome = 'complete'
    this.#collectAnew(pass)
    const { main } = pass
    // Nobody waits for a sub-request that was made by detached work, or by whoever has no pass.
    if (main.overAt !== undefined || main === pass) void this.#saveLate(pass)
  }

  /** The response of a main request was sent, or its client has left: it is collected now, and kept a little later. */
  terminate(pass: Pass, response: Response, isSent: boolean): void {
    removeFrom(this.#inFlight, pass)
    pass.response = response
    pass.outcome = isSent ? 'complete' : 'aborted'
    pass.overAt = pass.elapsed()
    // Nobody awaits what goes on when the client has left: that is no news.
    if (isSent) pass.onLate = this.#onLate
    this.#collectAnew(pass)
    // A page that was sent need not wait in memory for its record.
    pass.response = new Response(null, response)
    this.#ended.push(pass)
    this.#toKeep.push(pass)
    if (this.#toKeep.length === 1) void this.#keepEnded()
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
  #saveAll(main: Pass): Promise<void> | undefined {
    let saving: Promise<void> | undefined
    for (const pass of withDescendants(main)) {
      saving = saving === undefined ? this.#save(pass) : saving.then(() => this.#save(pass))
    }
    return saving
  }

  /**
   * The process is about to end, because of work that was done for `culprit`, be its response sent or not. Whatever is in
   * flight is kept as it is, before this returns. Never throws.
   */
  crash(error: unknown, culprit: Request | undefined): void {
    const lineage = withAncestors(this.find(culprit))
    for (const pass of lineage) pass.noteThrown(error)
    const mains = new Set([...lineage.slice(-1), ...this.open])
    for (const main of mains) if (this.keeps(main)) this.#keepCrashed(main, lineage)
    this.#services.storage.flushNow()
  }

  #keepCrashed(main: Pass, lineage: readonly Pass[]): void {
    for (const pass of withDescendants(main)) {
      if (pass.outcome === 'unfinished' || lineage.includes(pass)) {
        pass.outcome = 'crashed'
        this.#collectAnew(pass)
      }
      this.#append(pass)
    }
  }

  /** What is noted when a request is over is gathered for a while, then added to its record. */
  readonly #onLate = (pass: Pass): void => {
    if (pass.isAmending || pass.amendments === amendmentLimit) return
    pass.isAmending = true
    const amend = () => {
      pass.isAmending = false
      this.#services.collectLate(pass)
      this.#amend(pass)
    }
    // Nobody waits for it: a process that is about to end need not.
    setTimeout(amend, lateDelay * 2 ** pass.amendments++).unref()
  }

  /** Keeps a profile anew, when it was kept: more is known of its pass now. */
  #amend(pass: Pass | undefined): void {
    if (pass?.isSaved) this.#append(pass)
  }

  /** Resolves when the profile of a token is kept, should it be in the making; after a second in any case. */
  whenKept(token: string): Promise<void> {
    return this.#awaited.wait(token, patience)
  }

  async #saveLate(pass: Pass): Promise<void> {
    await this.#save(pass)
    this.#amend(pass.parent)
  }

  #save(pass: Pass): Promise<void> | undefined {
    const pending = this.keeps(pass) ? this.#collect(pass).pending : undefined
    if (pending !== undefined) return pending.then(() => this.#keep(pass))
    this.#keep(pass)
    return undefined
  }

  /** What was collected while others were waited for, because the request has ended, counts. */
  #keep(pass: Pass): void {
    if (this.keeps(pass)) this.#append(pass)
    this.#awaited.settle(pass.token)
  }

  #append(pass: Pass): void {
    const { facts, logger, redactor, signals, storage } = this.#services
    try {
      const record = createRecord(pass, this.#collect(pass), redactor)
      if (pass.isSaved) storage.amend(record, facts())
      else storage.append(record, facts())
      pass.isSaved = true
      signals.emit('profile.saved', record.summary)
    } catch (error) {
      // Nobody would catch it: it would end the process.
      logger.error('A profile could not be kept.', { exception: error })
    }
  }

  /** What is told of a sub-request is told when it ends, and kept together with its main request. */
  #collect(pass: Pass): CollectedData {
    return pass.collected ?? this.#collectAnew(pass)
  }

  #collectAnew(pass: Pass): CollectedData {
    pass.collected = this.#services.collect(pass)
    return pass.collected
  }
}

/**
 * Removes a pass, wherever it stands. V8's sets leave tables behind that know their successors: one that has got old keeps
 * all the later ones, with every pass in them, from the garbage collector's quick rounds, which doubles what those cost.
 */
function removeFrom(passes: Pass[], pass: Pass): void {
  const at = passes.indexOf(pass)
  if (at !== -1) passes.splice(at, 1)
}

/** A pass, its parent, and so on up to its main request. */
function withAncestors(pass: Pass | undefined): Pass[] {
  return pass === undefined ? [] : [pass, ...withAncestors(pass.parent)]
}

/** Children before their parents: whoever reads backwards sees a parent first. */
function withDescendants(pass: Pass): Pass[] {
  return pass.children.length === 0 ? [pass] : [...pass.children.flatMap(withDescendants), pass]
}
