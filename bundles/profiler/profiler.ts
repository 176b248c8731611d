import { RequestType } from '../../kernel/request-type.ts'
import type { Request } from '../../lib/http/request.ts'
import type { Response } from '../../lib/http/response.ts'
import type { Logger } from '../../lib/log/logger.ts'
import type { Redactor } from '../../lib/redact/redactor.ts'
import type { Signals } from '../../lib/signals.ts'
import type { CollectedData } from './collect-data.ts'
import { createRecord } from './create-record.ts'
import { Pass } from './pass.ts'
import type { ProfileSummary } from './profile.ts'
import type { RecordingPolicy } from './recording-policy.ts'
import type { ProfileStorage } from './store/profile-storage.ts'
import { drawSixDigits, drawToken } from './tokens.ts'

declare module '../../lib/signals.ts' {
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
  /** The facts of the process as JSON: the same text as long as nothing has changed. */
  readonly facts: () => string
  readonly redactor: Redactor
  readonly logger: Logger
  readonly signals: Signals
}

/** Makes a profile of each kernel pass that its policy wants, many at once: what is noted of a request lives on its pass. */
export class Profiler {
  readonly #services: ProfilerServices
  readonly #passes = new WeakMap<Request, Pass>()
  readonly #inFlight = new Set<Pass>()
  readonly #collected = new WeakMap<Pass, CollectedData>()

  constructor(services: ProfilerServices) {
    this.#services = services
  }

  /** How many main requests are handled now. */
  get inFlight(): number {
    return this.#inFlight.size
  }

  /** The pass of a request, when it is recorded. */
  find(request: Request | undefined): Pass | undefined {
    return request === undefined ? undefined : this.#passes.get(request)
  }

  /** Whether the pass, as far as is known, becomes a profile. */
  keeps(pass: Pass): boolean {
    const main = mainOf(pass)
    return main.isRecorded && (!this.#services.policy.onlyExceptions || main.error !== undefined)
  }

  /** Begins to record a request; a sub-request is recorded when its parent is. */
  begin(request: Request, type: RequestType): Pass | undefined {
    const { logger, policy, storage } = this.#services
    const parent = this.find(request.parent)
    const isWanted =
      request.parent === undefined ? policy.wants(request) : parent !== undefined && mainOf(parent).isRecorded
    if (!isWanted) return undefined
    const token = drawToken(token => storage.has(token))
    if (token === undefined) {
      logger.warning('A request is not profiled: no free token was found.')
      return undefined
    }
    const pass = new Pass(token, request, type, parent)
    this.#passes.set(request, pass)
    request.attributes.set('_stopwatch_token', drawSixDigits())
    if (type === RequestType.Main) this.#inFlight.add(pass)
    return pass
  }

  /** The request is handled. Of a sub-request it is collected now what its response is like. */
  finish(pass: Pass): void {
    pass.duration = pass.elapsed()
    if (pass.type === RequestType.Main) return
    pass.outcome = 'complete'
    this.#collect(pass)
    const main = mainOf(pass)
    // Nobody waits for a sub-request that was made by detached work, or by whoever has no pass.
    if (main.isSaved || main === pass) void this.#save(pass).then(() => this.#amend(pass.parent))
  }

  /** The response of a main request was sent, or its client has left: it is kept, its sub-requests before it. */
  async terminate(pass: Pass, response: Response, isSent: boolean): Promise<void> {
    this.#inFlight.delete(pass)
    pass.response = response
    pass.outcome = isSent ? 'complete' : 'aborted'
    await this.#saveAll(pass)
  }

  /** The process is about to end: what is in flight is kept as it is, before this returns. */
  crash(error: unknown, culprit: Request | undefined): void {
    const { storage } = this.#services
    const pass = this.find(culprit)
    if (pass !== undefined) pass.error = error
    for (const pass of this.#inFlight) {
      pass.outcome = 'crashed'
      for (const each of withDescendants(pass)) this.#append(each, this.#collect(each))
    }
    storage.flushNow()
  }

  async #saveAll(main: Pass): Promise<void> {
    for (const pass of withDescendants(main)) await this.#save(pass)
  }

  async #save(pass: Pass): Promise<void> {
    if (!this.keeps(pass)) return
    const collected = this.#collect(pass)
    if (collected.pending !== undefined) await collected.pending
    this.#append(pass, collected)
  }

  #append(pass: Pass, collected: CollectedData): void {
    const { facts, redactor, signals, storage } = this.#services
    const record = createRecord(pass, collected, redactor)
    if (pass.isSaved) storage.amend(record, facts())
    else storage.append(record, facts())
    pass.isSaved = true
    signals.emit('profile.saved', record.summary)
  }

  #amend(pass: Pass | undefined): void {
    if (pass?.isSaved) this.#append(pass, this.#collect(pass))
  }

  /** Once: what is told of a sub-request is told when it ends, and kept together with its main request. */
  #collect(pass: Pass): CollectedData {
    let collected = this.#collected.get(pass)
    if (collected === undefined) {
      collected = this.#services.collect(pass)
      if (pass.duration !== undefined) this.#collected.set(pass, collected)
    }
    return collected
  }
}

function mainOf(pass: Pass): Pass {
  return pass.parent === undefined ? pass : mainOf(pass.parent)
}

/** Children before their parents: whoever reads backwards sees a parent first. */
function withDescendants(pass: Pass): Pass[] {
  return [...pass.children.flatMap(withDescendants), pass]
}
